// SPDX-License-Identifier: Apache-2.0

package calendar_test

import (
	"errors"
	"fmt"
	"log"

	"varve.dev/zarr/cf/calendar"
)

// Four years of daily data, with one chunk per month.
func ExampleEdges() {
	u, err := calendar.ParseUnits("days since 1950-01-01", calendar.Standard)
	if err != nil {
		log.Fatal(err)
	}
	values := make([]int64, 1461)
	for i := range values {
		values[i] = 26298 + int64(i) // from 2022-01-01 on
	}
	months, err := calendar.Edges(values, u, calendar.Month)
	if err != nil {
		log.Fatal(err)
	}
	for ; len(months) > 0; months = months[12:] {
		fmt.Println(months[:12])
	}
	years, err := calendar.Edges(values, u, calendar.Year)
	fmt.Println(years, err)
	// Output:
	// [31 28 31 30 31 30 31 31 30 31 30 31]
	// [31 28 31 30 31 30 31 31 30 31 30 31]
	// [31 29 31 30 31 30 31 31 30 31 30 31]
	// [31 28 31 30 31 30 31 31 30 31 30 31]
	// [365 365 366 365] <nil>
}

// Hourly data that begins at an odd hour.
func ExampleBuckets() {
	s, err := calendar.ParseSteps("2024-01-31T18:00", "1h", "standard")
	if err != nil {
		log.Fatal(err)
	}
	b := s.Buckets(calendar.Month)
	fmt.Println(b.Edges(1000))    // the elements so far
	fmt.Println(b.Covering(1000)) // with the rest of the last month
	fmt.Println(b.Next(1000))     // where April begins
	fmt.Println(b.Fits(1000))
	// Output:
	// [6 696 298] <nil>
	// [6 696 744] <nil>
	// 1446 <nil>
	// not where a month or a year begins: element 1000 lies within a month that has elements 702 to 1445
}

// Monthly means of a climate model as CMIP stores them, in the middle of each month of a
// calendar without leap years.
func ExampleContinue() {
	u, err := calendar.ParseUnits("days since 1850-01-01", calendar.NoLeap)
	if err != nil {
		log.Fatal(err)
	}
	s, err := calendar.Continue([]float64{15.5, 45, 74.5, 105, 135.5}, u)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s)
	fmt.Println(s.Buckets(calendar.Year).Covering(30))
	// Output:
	// 1850-01-16T12:00:00 by 1mo (noleap)
	// [12 12 12] <nil>
}

// Daily data of one year in the archive, and of a second year that is appended.
func ExampleBoundaries() {
	u, err := calendar.ParseUnits("days since 2023-01-01", calendar.Standard)
	if err != nil {
		log.Fatal(err)
	}
	values := make([]int64, 365+366)
	for i := range values {
		values[i] = int64(i)
	}
	b, err := calendar.Boundaries(values, u, calendar.Year)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.Fits(365), errors.Is(b.Fits(400), calendar.ErrUnaligned))
	fmt.Println(b.Next(365))
	_, err = b.Next(731)
	fmt.Println(err)
	// Output:
	// <nil> true
	// 731 <nil>
	// coordinate too short: it has 731 values, but none for element 731; extend the coordinate first
}

func ExampleUnits() {
	u, err := calendar.ParseUnits("hours since 1900-01-01 00:00:0.0", calendar.Standard)
	if err != nil {
		log.Fatal(err)
	}
	t, err := u.At(1087854)
	fmt.Println(u.Calendar().Text(t), err)
	fmt.Println(u.Count(t))

	_, err = calendar.ParseUnits("months since 1900-01-01", calendar.Standard)
	fmt.Println(err)
	// Output:
	// 2024-02-07T06:00:00 <nil>
	// 1087854 <nil>
	// not supported: "months" have no fixed length in the calendar standard; count days or hours
}

func ExampleCalendar() {
	c, err := calendar.Parse("360_day")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.DaysIn(2000, 2), calendar.Standard.DaysIn(1582, 10))
	n, err := c.Number(calendar.Date{Year: 2000, Month: 2, Day: 30})
	fmt.Println(n, err)
	fmt.Println(c.Date(n + 1))
	// Output:
	// 30 21
	// 10859 <nil>
	// 2000-03-01 <nil>
}

func ExampleParseSteps() {
	s, err := calendar.ParseSteps("2000-01-31", "1mo", "noleap")
	if err != nil {
		log.Fatal(err)
	}
	for i := range int64(3) {
		t, err := s.At(i)
		fmt.Println(s.Calendar().Text(t), err)
	}
	// Output:
	// 2000-01-31T00:00:00 <nil>
	// 2000-02-28T00:00:00 <nil>
	// 2000-03-31T00:00:00 <nil>
}
