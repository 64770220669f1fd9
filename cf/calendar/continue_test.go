// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestContinue(t *testing.T) {
	for _, c := range []struct {
		units    string
		calendar Calendar
		values   []float64
		want     string
	}{
		{"days since 2024-01-01", Standard, []float64{0, 1, 2, 3}, "2024-01-01T00:00:00 by 1d"},
		{"days since 2024-01-31", Standard, []float64{0, 1}, "2024-01-31T00:00:00 by 1d"},
		{"hours since 1900-01-01 00:00:00.0", Standard, []float64{5, 11, 17}, "1900-01-01T05:00:00 by 6h"},
		{"days since 1900-01-01 01:00", Standard, []float64{36523 + 23.0/24, 36524, 36524 + 1.0/24}, "2000-01-01T00:00:00 by 1h"},
		{"days since 2000-01-01", Standard, []float64{0, 1.0 / 3, 2.0 / 3, 1}, "2000-01-01T00:00:00 by 8h"},
		{"days since 2000-01-01", Standard, []float64{0, 7, 14}, "2000-01-01T00:00:00 by 7d"},
		// The first of the month, of the year, of the season.
		{"days since 2023-01-01", Standard, []float64{0, 31, 59, 90}, "2023-01-01T00:00:00 by 1mo"},
		{"days since 2023-01-01", Standard, []float64{0, 31}, "2023-01-01T00:00:00 by 1mo"},
		{"days since 2023-01-01", Standard, []float64{0, 59, 120}, "2023-01-01T00:00:00 by 2mo"},
		{"days since 2023-01-01", Standard, []float64{0, 365, 731}, "2023-01-01T00:00:00 by 1y"},
		{"days since 2023-01-01", NoLeap, []float64{0, 365, 730}, "2023-01-01T00:00:00 by 1y"},
		{"days since 2023-01-01", Days360, []float64{0, 30, 60}, "2023-01-01T00:00:00 by 1mo"},
		// The middle of the month, of the year.
		{"days since 2023-01-01", NoLeap, []float64{15.5, 45, 74.5, 105}, "2023-01-16T12:00:00 by 1mo"},
		{"days since 2023-01-01", NoLeap, []float64{15.5, 45, 74.5}, "2023-01-16T12:00:00 by 1mo"},
		{"days since 2023-01-01", NoLeap, []float64{15.5, 45}, "2023-01-16T12:00:00 by 1mo"},
		{"days since 2023-01-01", Standard, []float64{14, 45, 73, 104}, "2023-01-15T00:00:00 by 1mo"},
		{"days since 2023-01-01", Standard, []float64{15, 45, 74}, "2023-01-16T00:00:00 by 1mo"},
		{"days since 2023-01-01", Standard, []float64{14, 44}, "2023-01-15T00:00:00 by 1mo"},
		{"days since 2023-01-01", Standard, []float64{182.5, 548, 913.5}, "2023-07-02T12:00:00 by 1y"},
		// The last day.
		{"days since 2023-01-01", Standard, []float64{30, 58, 89, 119}, "2023-01-31T00:00:00 by 1mo"},
		// Thirty days are not months.
		{"days since 2023-01-01", Standard, []float64{0, 30, 60, 90}, "2023-01-01T00:00:00 by 30d"},
		{"days since 2023-01-01", Standard, []float64{14, 44, 74, 104}, "2023-01-15T00:00:00 by 30d"},
		{"s since 2023-01-01", Standard, []float64{0, 0.1, 0.2, 0.30000000000000004}, "2023-01-01T00:00:00 by 100ms"},
	} {
		want := c.want + " (" + c.calendar.String() + ")"
		s, err := Continue(c.values, units(t, c.units, c.calendar))
		if err != nil || s.String() != want {
			t.Errorf("%s %v: got %v, %v, want %s", c.units, c.values, s, err, want)
		}
	}
}

func TestNotContinued(t *testing.T) {
	for _, c := range []struct {
		values []float64
		kind   error
		says   string
	}{
		{nil, ErrIrregular, "two are needed"}, {[]float64{1}, ErrIrregular, "two are needed"},
		{[]float64{0, 1, 3}, ErrIrregular, "element 1"}, {[]float64{0, 1, 2, 2.9}, ErrIrregular, "element"},
		{[]float64{0, 31, 59, 92}, ErrIrregular, "element"}, {[]float64{0, 31, 90}, ErrIrregular, "element"},
		{[]float64{1, 1}, ErrInvalid, "increase"}, {[]float64{2, 1}, ErrInvalid, "increase"}, {[]float64{0, math.Inf(1)}, ErrInvalid, "element 1"},
		{[]float64{0, 200001}, ErrOverflow, "292 years"},
	} {
		if _, err := Continue(c.values, units(t, "days since 2023-01-01", Standard)); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: got %v, want %v with %q", c.values, err, c.kind, c.says)
		}
	}
	if _, err := Continue([]int64{1, 2}, Units{}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

// TestContinueFindsTheStep makes coordinates from steps and finds the steps again, from
// integers and from fractions.
func TestContinueFindsTheStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(allCalendars).Draw(t, "calendar")
		name := rapid.SampledFrom([]string{"days", "hours", "minutes", "seconds"}).Draw(t, "units")
		u, err := ParseUnits(name+" since "+rapid.SampledFrom([]string{"1850-01-01", "1900-01-01 00:30", "2000-2-28"}).Draw(t, "from"), c)
		if err != nil {
			t.Fatal(err)
		}
		start := Instant{rapid.Int64Range(-40000, 40000).Draw(t, "day"), rapid.Int64Range(0, 24*60-1).Draw(t, "minute") * 60e9}
		step, err := ParseStep(rapid.SampledFrom([]string{"1h", "3h", "1d", "30min", "20min", "7min", "5d", "1mo", "3mo", "1y"}).Draw(t, "step"))
		if err != nil {
			t.Fatal(err)
		}
		if step.Months > 0 {
			start.Day = c.monthStart(c.month(start.Day))
		}
		want, err := NewSteps(start, step, c)
		if err != nil {
			t.Fatal(err)
		}
		var values []float64
		var exact []Instant
		for i := range rapid.Int64Range(3, 300).Draw(t, "values") {
			at, err := want.At(i)
			if err != nil {
				t.Fatal(err)
			}
			values, exact = append(values, u.CountFloat(at)), append(exact, at)
		}
		got, err := Continue(values, u)
		if err != nil || got != want {
			t.Fatalf("%v: got %v, %v, want %v", values, got, err, want)
		}
		if got, err = Continue(micros(t, exact, c), Units{c, 1e3, Instant{}}); err != nil || got != want {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
	})
}

// micros returns instants as microseconds since 1970.
func micros(t require, at []Instant, c Calendar) []int64 {
	values := make([]int64, len(at))
	for i, at := range at {
		v, err := (Units{c, 1e3, Instant{}}).Count(at)
		if err != nil {
			t.Fatal(err)
		}
		values[i] = v
	}
	return values
}
