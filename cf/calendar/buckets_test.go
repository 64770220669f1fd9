// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// plainEdges computes edges by converting every value.
func plainEdges[T Number](t require, values []T, u Units, unit Unit) []int64 {
	var edges []int64
	last := int64(math.MinInt64)
	for _, v := range values {
		at, _, err := instantOf(u, v)
		if err != nil {
			t.Fatal(err)
		}
		if b := bucketOf(t, u.Calendar(), at, unit); b != last {
			edges, last = append(edges, 0), b
		}
		edges[len(edges)-1]++
	}
	return edges
}

// require is the common part of *testing.T and *rapid.T.
type require interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// bucketOf numbers buckets by the date alone.
func bucketOf(t require, c Calendar, at Instant, unit Unit) int64 {
	d, err := c.Date(at.Day)
	if err != nil {
		t.Fatal(err)
	}
	if unit == Year {
		return d.Year
	}
	return d.Year*12 + int64(d.Month)
}

// TestEdgesEqualPlain compares Edges with plainEdges.
func TestEdgesEqualPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(allCalendars).Draw(t, "calendar")
		name := rapid.SampledFrom([]string{"days", "hours", "minutes", "weeks"}).Draw(t, "units")
		from := rapid.SampledFrom([]string{"1582-09-20", "1950-01-01 01:00", "2000-02-28T23:59:59.5", "-4-1-1"}).Draw(t, "from")
		u, err := ParseUnits(name+" since "+from, c)
		if err != nil {
			t.Fatal(err)
		}
		gap := rapid.SampledFrom([]int64{1, 3, 40, 1000, 100000}).Draw(t, "gap")
		v := rapid.Int64Range(-1e6, 1e6).Draw(t, "first")
		whole := make([]int64, rapid.IntRange(0, 500).Draw(t, "values"))
		parts := make([]float64, len(whole))
		for i := range whole {
			whole[i], parts[i] = v, float64(v)/24
			v += 1 + rapid.Int64Range(0, gap-1).Draw(t, "step")
		}
		for _, unit := range []Unit{Month, Year} {
			if got, err := Edges(whole, u, unit); err != nil || !slices.Equal(got, plainEdges(t, whole, u, unit)) {
				t.Fatalf("%v of %v: got %v, %v, want %v", unit, whole, got, err, plainEdges(t, whole, u, unit))
			}
			if got, err := Edges(parts, u, unit); err != nil || !slices.Equal(got, plainEdges(t, parts, u, unit)) {
				t.Fatalf("%v of %v: got %v, %v, want %v", unit, parts, got, err, plainEdges(t, parts, u, unit))
			}
		}
	})
}

// count returns the numbers from first on.
func count(first int64, n int) []int64 {
	values := make([]int64, n)
	for i := range values {
		values[i] = first + int64(i)
	}
	return values
}

func TestEdges(t *testing.T) {
	for _, c := range []struct {
		units    string
		calendar Calendar
		values   []int64
		unit     Unit
		want     []int64
	}{
		{"days since 2023-01-01", Standard, count(0, 365+366), Year, []int64{365, 366}},
		{"days since 2024-01-01", Standard, count(0, 91), Month, []int64{31, 29, 31}},
		{"days since 2024-01-01", NoLeap, count(0, 91), Month, []int64{31, 28, 31, 1}},
		{"days since 2024-01-01", Days360, count(0, 91), Month, []int64{30, 30, 30, 1}},
		{"days since 1582-09-01", Standard, count(0, 82), Month, []int64{30, 21, 30, 1}},
		{"days since 1582-01-01", Standard, count(0, 356), Year, []int64{355, 1}},
		{"hours since 2024-01-31T18:00:00", Standard, count(0, 6+29*24+1), Month, []int64{6, 29 * 24, 1}},
		{"months since 2000-01-01", Days360, count(-1, 14), Year, []int64{1, 12, 1}},
		{"days since 2000-01-01", Standard, []int64{0, 40, 400, 401, 4000}, Month, []int64{1, 1, 2, 1}},
		{"days since 2000-01-01", Standard, []int64{-1, 0}, Month, []int64{1, 1}},
		{"days since 2000-01-01", Standard, []int64{7}, Month, []int64{1}},
		{"days since 2000-01-01", Standard, nil, Month, nil},
	} {
		got, err := Edges(c.values, units(t, c.units, c.calendar), c.unit)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s %v by %v: got %v, %v, want %v", c.units, c.calendar, c.unit, got, err, c.want)
		}
	}
}

// TestHoursInDays uses hours as fractions of days from an odd origin, so that no
// float64 is exactly midnight.
func TestHoursInDays(t *testing.T) {
	u := units(t, "days since 1900-01-01 01:00", Standard)
	values := make([]float64, 24*366)
	for i := range values {
		values[i] = 36523 + float64(i+23)/24 // from 2000-01-01T00:00 on
	}
	got, err := Edges(values, u, Month)
	want := []int64{744, 696, 744, 720, 744, 720, 744, 744, 720, 744, 720, 744}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestValuesThatDoNotFit(t *testing.T) {
	u := units(t, "days since 2000-01-01", Standard)
	nan := math.NaN()
	for _, c := range []struct {
		values []float64
		kind   error
		says   string
	}{
		{[]float64{0, 1, 1}, ErrInvalid, "element 2"}, {[]float64{0, 1, 0.5}, ErrInvalid, "element 2"}, {[]float64{3, 2, 1}, ErrInvalid, "increase"},
		{[]float64{nan}, ErrInvalid, "element 0"}, {[]float64{0, nan, 1}, ErrInvalid, "element 1"}, {[]float64{0, 1, nan}, ErrInvalid, "element 2"},
		{[]float64{math.Inf(-1), 0}, ErrInvalid, "element 0"}, {[]float64{0, math.Inf(1)}, ErrInvalid, "element 1"},
		{[]float64{0, 1e30}, ErrOverflow, "element 1"}, {[]float64{-1e17, 0}, ErrOverflow, "element 0"},
	} {
		_, err := Edges(c.values, u, Month)
		_, other := Boundaries(c.values, u, Month)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) || other == nil || other.Error() != err.Error() {
			t.Errorf("%v: got %v and %v, want %v with %q", c.values, err, other, c.kind, c.says)
		}
	}
	if _, err := Edges([]int64{1, 2}, u, 0); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if _, err := Edges([]int64{1, 2}, Units{}, Month); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

func TestParseUnit(t *testing.T) {
	for text, want := range map[string]Unit{"month": Month, "Year": Year, "years": Year} {
		if got, err := ParseUnit(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "week", "m", strings.Repeat("x", 1000)} {
		if _, err := ParseUnit(text); !errors.Is(err, ErrInvalid) || len(err.Error()) > 200 {
			t.Errorf("%q: got %v", text, err)
		}
	}
	if Month.String() != "month" || Year.String() != "year" || Unit(7).String() != "Unit(7)" {
		t.Error(Month, Year, Unit(7))
	}
}

// TestPredict predicts the end of the last month from days with gaps.
func TestPredict(t *testing.T) {
	days, err := ParseUnits("days since 2021-01-01", Standard)
	if err != nil {
		t.Fatal(err)
	}
	from := func(first, last int64, without ...int64) (list []int64) {
		for d := first; d <= last; d++ {
			if !slices.Contains(without, d) {
				list = append(list, d)
			}
		}
		return list
	}
	for _, c := range []struct {
		name   string
		values []int64
		unit   Unit
		want   []int64
	}{
		{"no gap", from(0, 4), Month, []int64{31}},
		{"a gap", from(0, 9, 8), Month, []int64{30}},
		{"a gap and February", from(0, 35, 8), Month, []int64{30, 28}},
		{"ends with its month", from(0, 30, 8), Month, []int64{30}},
		{"a gap at the end of a month", from(0, 33, 29, 30, 31), Month, []int64{29, 27}},
		{"a year", from(0, 40, 8), Year, []int64{364}},
		{"one value", from(7, 7), Month, []int64{1}},
		{"long steps", []int64{0, 100, 200, 500}, Year, []int64{3, 3}},
		{"none", nil, Month, nil},
	} {
		b, err := Predict(c.values, days, c.unit)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		n, _ := b.Len()
		if got, err := b.Covering(n); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
	if _, err := Predict([]int64{3, 2}, days, Month); err == nil {
		t.Error("times that fall: no error")
	}
}
