// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var allCalendars = []Calendar{Standard, ProlepticGregorian, NoLeap, AllLeap, Days360, Julian}

func TestParse(t *testing.T) {
	for name, want := range map[string]Calendar{
		"": Standard, "standard": Standard, "Gregorian": Standard, "proleptic_gregorian": ProlepticGregorian,
		"noleap": NoLeap, "365_DAY": NoLeap, "all_leap": AllLeap, "366_day": AllLeap, "360_day": Days360, " julian ": Julian,
	} {
		if got, err := Parse(name); err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", name, got, err, want)
		}
	}
	for name, want := range map[string]error{"mayan": ErrInvalid, "365": ErrInvalid, "utc": ErrUnsupported, "none": ErrUnsupported} {
		if _, err := Parse(name); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", name, err, want)
		}
	}
	for _, c := range allCalendars {
		if got, err := Parse(c.String()); err != nil || got != c {
			t.Errorf("%v is read as %v, %v", c, got, err)
		}
	}
	if got := Calendar(99).String(); got != "Calendar(99)" {
		t.Error(got)
	}
}

// TestDaysIn checks the months of years that differ.
func TestDaysIn(t *testing.T) {
	ordinary := [12]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	withLeapDay, thirties, reformed := ordinary, [12]int{}, ordinary
	withLeapDay[1], reformed[9] = 29, 21
	for i := range thirties {
		thirties[i] = 30
	}
	for _, c := range []struct {
		calendar Calendar
		year     int64
		want     [12]int
	}{
		{Standard, 1582, reformed}, {ProlepticGregorian, 1582, ordinary}, {Julian, 1582, ordinary},
		{Standard, 1500, withLeapDay}, {ProlepticGregorian, 1500, ordinary}, {Julian, 1500, withLeapDay},
		{Standard, 1900, ordinary}, {Standard, 2000, withLeapDay}, {Standard, 2100, ordinary}, {Standard, 2024, withLeapDay},
		{ProlepticGregorian, 1900, ordinary}, {ProlepticGregorian, 2000, withLeapDay}, {ProlepticGregorian, 2100, ordinary},
		{Julian, 1900, withLeapDay}, {Julian, 2000, withLeapDay}, {Julian, 2100, withLeapDay}, {Julian, 2023, ordinary},
		{NoLeap, 1900, ordinary}, {NoLeap, 2000, ordinary}, {NoLeap, 2024, ordinary},
		{AllLeap, 1900, withLeapDay}, {AllLeap, 2001, withLeapDay},
		{Days360, 1900, thirties}, {Days360, 2000, thirties},
		{ProlepticGregorian, 0, withLeapDay}, {ProlepticGregorian, -100, ordinary}, {ProlepticGregorian, -4, withLeapDay},
		{Standard, -100, withLeapDay}, {ProlepticGregorian, -9999, ordinary},
	} {
		for month := 1; month <= 12; month++ {
			days := 0 // count valid days one by one
			for day := -1; day <= 33; day++ {
				if _, err := c.calendar.Number(Date{c.year, month, day}); err == nil {
					days++
				} else if !errors.Is(err, ErrInvalid) {
					t.Fatal(err)
				}
			}
			start := c.year*12 + int64(month) - 1
			length := c.calendar.monthStart(start+1) - c.calendar.monthStart(start)
			if want := c.want[month-1]; c.calendar.DaysIn(c.year, month) != want || days != want || length != int64(want) {
				t.Errorf("%v %d-%d: %d days, %d one by one, %d between months, want %d",
					c.calendar, c.year, month, c.calendar.DaysIn(c.year, month), days, length, want)
			}
		}
	}
	if NoLeap.DaysIn(2000, 0) != 0 || NoLeap.DaysIn(2000, 13) != 0 || NoLeap.DaysIn(math.MaxInt64, 1) != 0 {
		t.Error("months that are none have days")
	}
}

// TestEveryDay compares consecutive days, from year -2 to 2402.
func TestEveryDay(t *testing.T) {
	for _, c := range allCalendars {
		n, err := c.Number(Date{-2, 1, 1})
		if err != nil {
			t.Fatal(err)
		}
		for d := (Date{-2, 1, 1}); d.Year < 2403; n++ {
			number, err := c.Number(d)
			if err != nil || number != n {
				t.Fatalf("%v %v: got %d, %v, want %d", c, d, number, err, n)
			}
			if back, err := c.Date(n); err != nil || back != d {
				t.Fatalf("%v %d: got %v, %v, want %v", c, n, back, err, d)
			}
			d = dayAfter(c, d)
		}
	}
}

// dayAfter computes the next date from the lengths of months alone.
func dayAfter(c Calendar, d Date) Date {
	last := c.DaysIn(d.Year, d.Month)
	if c == Standard && d.Year == 1582 && d.Month == 10 {
		if last = 31; d.Day == 4 {
			d.Day = 14
		}
	}
	if d.Day++; d.Day > last {
		d.Day, d.Month = 1, d.Month+1
	}
	if d.Month > 12 {
		d.Month, d.Year = 1, d.Year+1
	}
	return d
}

func TestGregorianIsThatOfTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(-719162, 2932896).Draw(t, "day") // 0001-01-01 to 9999-12-31
		at := time.Unix(n*86400, 0).UTC()
		want := Date{int64(at.Year()), int(at.Month()), at.Day()}
		got, err := ProlepticGregorian.Date(n)
		if err != nil || got != want || got.String() != at.Format(time.DateOnly) {
			t.Fatalf("%d: got %v, %v, want %v", n, got, err, want)
		}
		if back, err := ProlepticGregorian.Number(got); err != nil || back != n {
			t.Fatalf("%v: got %d, %v, want %d", got, back, err, n)
		}
		if standard, err := Standard.Date(n); n >= reform && (err != nil || standard != want) {
			t.Fatalf("%d: the standard calendar has %v, %v", n, standard, err)
		}
	})
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(allCalendars).Draw(t, "calendar")
		n := rapid.Int64Range(-maxDay, maxDay).Draw(t, "day")
		d, err := c.Date(n)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := c.Number(d); err != nil || back != n {
			t.Fatalf("%v %v: got %d, %v, want %d", c, d, back, err, n)
		}
	})
}

func TestKnownDays(t *testing.T) {
	for _, c := range []struct {
		calendar Calendar
		date     Date
		want     int64
	}{
		{Standard, Date{1970, 1, 1}, 0}, {Julian, Date{1970, 1, 1}, 0}, {Days360, Date{1970, 1, 1}, 0},
		{Standard, Date{1582, 10, 15}, -141427}, {Standard, Date{1582, 10, 4}, -141428},
		{Standard, Date{-4712, 1, 1}, -2440588}, // day 0 of the Julian period began at noon
		{Julian, Date{-4712, 1, 1}, -2440601},
		{ProlepticGregorian, Date{-4713, 11, 24}, -2440588},
		{ProlepticGregorian, Date{1, 1, 1}, -719162}, {Standard, Date{1, 1, 1}, -719164},
		{NoLeap, Date{2000, 3, 1}, 30*365 + 59}, {Days360, Date{2000, 2, 30}, 30*360 + 59}, {AllLeap, Date{1971, 3, 1}, 366 + 60},
	} {
		if got, err := c.calendar.Number(c.date); err != nil || got != c.want {
			t.Errorf("%v %v: got %d, %v, want %d", c.calendar, c.date, got, err, c.want)
		}
	}
}

func TestDatesThatAreNone(t *testing.T) {
	for _, c := range []struct {
		calendar Calendar
		date     Date
		want     error
	}{
		{Standard, Date{1582, 10, 5}, ErrInvalid}, {Standard, Date{1582, 10, 14}, ErrInvalid}, {NoLeap, Date{2000, 2, 29}, ErrInvalid},
		{Days360, Date{2000, 1, 31}, ErrInvalid}, {Standard, Date{2000, 13, 1}, ErrInvalid}, {Standard, Date{2000, 0, 1}, ErrInvalid},
		{Standard, Date{2000, 1, 0}, ErrInvalid}, {Standard, Date{math.MinInt64, 1, 1}, ErrOverflow}, {Standard, Date{maxYear, 1, 1}, ErrOverflow},
	} {
		if _, err := c.calendar.Number(c.date); !errors.Is(err, c.want) {
			t.Errorf("%v %v: got %v, want %v", c.calendar, c.date, err, c.want)
		}
	}
	for _, n := range []int64{math.MinInt64, math.MaxInt64, maxDay + 1, -maxDay - 1} {
		if _, err := Standard.Date(n); !errors.Is(err, ErrOverflow) {
			t.Errorf("day %d: got %v", n, err)
		}
	}
	if got := (Date{-44, 3, 15}).String(); got != "-0044-03-15" {
		t.Error(got)
	}
}
