// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseStep(t *testing.T) {
	for _, c := range []struct {
		text, short string
		want        Step
	}{
		{"1d", "1d", Step{Length: 24 * time.Hour}}, {"6h", "6h", Step{Length: 6 * time.Hour}}, {"30min", "30min", Step{Length: 30 * time.Minute}},
		{" 3 hours ", "3h", Step{Length: 3 * time.Hour}}, {"1mo", "1mo", Step{Months: 1}}, {"3 months", "3mo", Step{Months: 3}},
		{"1y", "1y", Step{Months: 12}}, {"10 years", "10y", Step{Months: 120}}, {"24mo", "2y", Step{Months: 24}}, {"2w", "14d", Step{Length: 14 * 24 * time.Hour}},
		{"90s", "90s", Step{Length: 90 * time.Second}}, {"250ms", "250ms", Step{Length: 250 * time.Millisecond}}, {"5us", "5us", Step{Length: 5 * time.Microsecond}},
		{"7ns", "7ns", Step{Length: 7}}, {"1D", "1d", Step{Length: 24 * time.Hour}}, {"86400s", "1d", Step{Length: 24 * time.Hour}},
	} {
		got, err := ParseStep(c.text)
		if err != nil || got != c.want || got.String() != c.short {
			t.Errorf("%q: got %v, %v, want %s", c.text, got, err, c.short)
		}
	}
	for _, c := range []struct {
		text string
		kind error
		says string
	}{
		{"", ErrInvalid, "like 1d"}, {"d", ErrInvalid, "like 1d"}, {"1", ErrInvalid, "like 1d"}, {"0h", ErrInvalid, "positive"}, {"-1h", ErrInvalid, "like 1d"},
		{"1.5h", ErrInvalid, `"1.5h"`}, {"5m", ErrInvalid, "write min for minutes or mo for months"}, {"1fortnight", ErrInvalid, "unknown unit"},
		{"99999999999999999999d", ErrOverflow, "9999"}, {"9999999d", ErrOverflow, "years"}, {"9999999999999y", ErrOverflow, "y"}, {"1d6h", ErrInvalid, "unknown unit"},
	} {
		if _, err := ParseStep(c.text); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: got %v, want %v with %q", c.text, err, c.kind, c.says)
		}
	}
}

func FuzzParseSteps(f *testing.F) {
	for _, step := range []string{"1d", "6h", "30min", "1mo", "1y", "5 weeks", "7ns", "0d", "1000000y"} {
		f.Add("2024-01-31T18:00", step, "standard", int64(100))
		f.Add("-9999-12-31 23:59:59.9", step, "360_day", int64(math.MaxInt64))
	}
	f.Fuzz(func(t *testing.T, start, step, name string, i int64) {
		s, err := ParseSteps(start, step, name)
		if err != nil {
			return
		}
		if again, err := ParseStep(s.Step().String()); err != nil || again != s.Step() {
			t.Fatalf("%q is %v, which is read as %v, %v", step, s.Step(), again, err)
		}
		for _, unit := range []Unit{Month, Year} {
			b := s.Buckets(unit)
			next, err := b.Next(i)
			if err != nil {
				if !errors.Is(err, ErrOverflow) && !errors.Is(err, ErrOutOfRange) {
					t.Fatal(err)
				}
				continue
			}
			if next <= i {
				t.Fatalf("%v: %v after %d begins at %d", s, unit, i, next)
			}
			if err := b.Fits(next); err != nil && !errors.Is(err, ErrOverflow) {
				t.Fatal(err)
			}
			if edges, err := b.Edges(min(next, 1000)); err != nil || sum(edges) != min(next, 1000) {
				t.Fatalf("%v: edges %v, %v", s, edges, err)
			}
		}
	})
}

func sum(edges []int64) (n int64) {
	for _, e := range edges {
		n += e
	}
	return n
}

// model lists where buckets begin among the first n elements, from the time of every
// element.
func model(t require, s Steps, unit Unit, n int64) []int64 {
	var starts []int64
	last := int64(math.MinInt64)
	for i := range n {
		at, err := s.At(i)
		if err != nil {
			t.Fatal(err)
		}
		if b := bucketOf(t, s.Calendar(), at, unit); b != last {
			starts, last = append(starts, i), b
		}
	}
	return starts
}

// anySteps draws steps of every kind.
func anySteps(t *rapid.T) Steps {
	c := rapid.SampledFrom(allCalendars).Draw(t, "calendar")
	day, err := c.Number(Date{rapid.Int64Range(-10000, 10000).Draw(t, "year"), 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	if rapid.Bool().Draw(t, "reform") {
		day = reform - 300
	}
	start := Instant{day + rapid.Int64Range(0, 400).Draw(t, "day"), rapid.Int64Range(0, dayNanos-1).Draw(t, "nano")}
	if rapid.Bool().Draw(t, "midnight") {
		start.Nano = 0
	}
	n := rapid.Int64Range(1, 50).Draw(t, "n")
	length := rapid.SampledFrom([]time.Duration{0, time.Hour, 24 * time.Hour, 29 * 24 * time.Hour, 100*time.Minute + 1, 1<<62 - 1}).Draw(t, "length")
	step := Step{Length: length * time.Duration(n)}
	switch {
	case length == 0:
		step.Months = n
	case length > 1<<60:
		step.Length = length
	}
	s, err := newSteps(start, step, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestBucketsEqualModel compares the arithmetic with a model that checks every element.
func TestBucketsEqualModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, unit := anySteps(t), rapid.SampledFrom([]Unit{Month, Year}).Draw(t, "unit")
		const n = 2000
		starts := model(t, s, unit, n)
		checkBuckets(t, s.Buckets(unit), starts, n)
	})
}

// TestBoundariesEqualModel does the same for coordinates with the same times.
func TestBoundariesEqualModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, unit := anySteps(t), rapid.SampledFrom([]Unit{Month, Year}).Draw(t, "unit")
		u := Units{s.Calendar(), 1, s.start}
		var values []int64
		for i := range int64(500) {
			at, err := s.At(i)
			if err != nil {
				t.Fatal(err)
			}
			v, err := u.Count(at)
			if errors.Is(err, ErrOverflow) {
				break
			}
			values = append(values, v)
		}
		n := int64(len(values))
		b, err := Boundaries(values, u, unit)
		if err != nil {
			t.Fatal(err)
		}
		checkBuckets(t, b, model(t, s, unit, n), n)
		if next, err := b.Next(n - 1); err != nil || next != n {
			t.Fatalf("the last bucket ends at %d, %v, want %d", next, err, n)
		}
		if _, err := b.Next(n); !errors.Is(err, ErrOutOfRange) {
			t.Fatal(err)
		}
		if _, err := b.Covering(n + 1); !errors.Is(err, ErrOutOfRange) {
			t.Fatal(err)
		}
		if err := b.Fits(n + 1); !errors.Is(err, ErrOutOfRange) {
			t.Fatal(err)
		}
		if err := b.Fits(n); err != nil {
			t.Fatal(err)
		}
	})
}

func checkBuckets(t *rapid.T, b Buckets, starts []int64, n int64) {
	for i := range n {
		k, begins := slices.BinarySearch(starts, i)
		if err := b.Fits(i); (err == nil) != begins || err != nil && !errors.Is(err, ErrUnaligned) {
			t.Fatalf("element %d begins a bucket: %v, %v", i, begins, err)
		}
		if begins {
			k++
		}
		if k == len(starts) {
			break // the end of this bucket is unknown
		}
		if next, err := b.Next(i); err != nil || next != starts[k] {
			t.Fatalf("after %d comes %d, %v, want %d", i, next, err, starts[k])
		}
	}
	m := rapid.Int64Range(1, n).Draw(t, "m")
	k, _ := slices.BinarySearch(starts, m)
	edges, err := b.Edges(m)
	if err != nil || int64(len(edges)) != int64(k) || sum(edges) != m {
		t.Fatalf("%d elements: %v, %v", m, edges, err)
	}
	whole, err := b.Covering(m)
	if err != nil || len(whole) != k || !slices.Equal(whole[:k-1], edges[:k-1]) || k < len(starts) && sum(whole) != starts[k] {
		t.Fatalf("%d elements: %v, %v", m, whole, err)
	}
}

func TestSteps(t *testing.T) {
	for _, c := range []struct {
		start, step, calendar string
		unit                  Unit
		n                     int64
		edges                 []int64
		covered               int64
	}{
		{"2024-01-31T18:00", "1h", "", Month, 6 + 24, []int64{6, 24}, 6 + 29*24},
		{"2024-01-31T18:00", "1d", "", Month, 31, []int64{1, 29, 1}, 61},
		{"2023-01-01", "1d", "noleap", Year, 800, []int64{365, 365, 70}, 3 * 365},
		{"2023-01-01", "1d", "standard", Year, 800, []int64{365, 366, 69}, 365 + 366 + 365},
		{"1582-10-01", "1d", "standard", Month, 22, []int64{21, 1}, 51},
		{"2000-01-01", "6h", "360_day", Month, 240, []int64{120, 120}, 240},
		{"2000-01-15", "1mo", "", Month, 3, []int64{1, 1, 1}, 3},
		{"2000-11-15", "1mo", "", Year, 15, []int64{2, 12, 1}, 26},
		{"2000-11-15", "5mo", "", Year, 5, []int64{1, 2, 2}, 6},
		{"2000-01-01", "1y", "", Month, 3, []int64{1, 1, 1}, 3},
		{"2000-01-01", "45d", "", Month, 3, []int64{1, 1, 1}, 3},
		{"2000-01-01", "30d", "", Month, 3, []int64{2, 1}, 4},
		{"2000-01-31", "1mo", "", Month, 3, []int64{1, 1, 1}, 3},
		{"2000-01-01", "30min", "", Month, 0, nil, 0},
	} {
		s, err := ParseSteps(c.start, c.step, c.calendar)
		if err != nil {
			t.Error(err)
			continue
		}
		edges, err := s.Buckets(c.unit).Edges(c.n)
		if err != nil || !slices.Equal(edges, c.edges) {
			t.Errorf("%v, %d elements by %v: got %v, %v, want %v", s, c.n, c.unit, edges, err, c.edges)
		}
		whole, err := s.Buckets(c.unit).Covering(c.n)
		if err != nil || sum(whole) != c.covered || len(whole) != len(edges) {
			t.Errorf("%v, %d elements by %v: covered by %v, %v, want %d", s, c.n, c.unit, whole, err, c.covered)
		}
	}
}

func TestStepsOfMonthsKeepTheDay(t *testing.T) {
	for _, c := range []struct {
		start, step string
		i           int64
		want        string
	}{
		{"2000-01-31T12:00", "1mo", 1, "2000-02-29T12:00:00"}, {"2000-01-31", "1mo", 2, "2000-03-31T00:00:00"},
		{"2000-02-29", "1y", 1, "2001-02-28T00:00:00"}, {"2000-01-15", "1mo", 13, "2001-02-15T00:00:00"},
		{"1582-09-10", "1mo", 1, "1582-10-04T00:00:00"}, {"1582-09-15", "1mo", 1, "1582-10-15T00:00:00"}, {"1582-08-31", "1mo", 2, "1582-10-31T00:00:00"},
		{"-1-12-31", "1mo", 1, "0000-01-31T00:00:00"},
	} {
		s, err := ParseSteps(c.start, c.step, "")
		if err != nil {
			t.Fatal(err)
		}
		at, err := s.At(c.i)
		if got := Standard.Text(at); err != nil || got != c.want {
			t.Errorf("%v: element %d is at %s, %v, want %s", s, c.i, got, err, c.want)
		}
	}
}

// TestFarAway checks that large numbers take no more time than small ones.
func TestFarAway(t *testing.T) {
	for _, c := range []struct {
		step string
		n    int64
		want error
	}{
		{"1ns", math.MaxInt64, ErrOverflow}, {"1h", math.MaxInt64, ErrOverflow}, {"1mo", math.MaxInt64, ErrOverflow}, {"1y", math.MaxInt64, ErrOverflow},
		{"1h", 1e11, ErrLimit}, {"1mo", 1e9, ErrLimit}, {"100000d", 1e7, ErrLimit}, {"1h", -1, ErrInvalid},
	} {
		s, err := ParseSteps("2000-01-01", c.step, "standard")
		if err != nil {
			t.Fatal(err)
		}
		b := s.Buckets(Month)
		if _, err := b.Edges(c.n); !errors.Is(err, c.want) {
			t.Errorf("%d edges by %s: got %v, want %v", c.n, c.step, err, c.want)
		}
		if _, err := b.Covering(c.n); !errors.Is(err, c.want) {
			t.Errorf("%d edges by %s: got %v, want %v", c.n, c.step, err, c.want)
		}
		if _, err := b.Next(-1); !errors.Is(err, ErrOutOfRange) {
			t.Error(err)
		}
		if _, err := b.Next(math.MaxInt64); !errors.Is(err, ErrOverflow) {
			t.Error(err)
		}
		if b.Fits(math.MaxInt64) == nil || b.Fits(-1) == nil {
			t.Errorf("%s: a bucket begins beyond the ends", c.step)
		}
	}
	s, err := ParseSteps("2000-01-01", "1ns", "")
	if err != nil {
		t.Fatal(err)
	}
	if edges, err := s.Buckets(Year).Edges(9e18); err != nil || len(edges) != 286 || sum(edges) != 9e18 {
		t.Errorf("got %d edges, %v", len(edges), err)
	}
}

func TestZeroValues(t *testing.T) {
	if _, err := (Steps{}).At(0); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if _, err := (Steps{}).Buckets(Month).Next(0); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if _, err := (Steps{}).Buckets(Month).Edges(5); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if _, err := (Buckets{}).Next(0); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	s, err := ParseSteps("2000-01-01", "1d", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Buckets(0).Edges(5); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if b, err := Boundaries([]int64{}, Units{}, Month); err != nil || b.Fits(0) != nil || b.Fits(1) == nil {
		t.Error(err)
	}
	for _, step := range []Step{{}, {1, 1}, {-1, 0}, {0, -1}, {maxMonths + 1, 0}} {
		if _, err := newSteps(Instant{}, step, Standard); err == nil {
			t.Errorf("%v is taken for a step", step)
		}
	}
	for _, at := range []Instant{{0, -1}, {0, dayNanos}, {math.MaxInt64, 0}} {
		if _, err := newSteps(at, Step{Months: 1}, Standard); err == nil {
			t.Errorf("%v is taken for an instant", at)
		}
	}
	for _, texts := range [][3]string{{"x", "1d", ""}, {"2000", "x", ""}, {"2000", "1d", "x"}} {
		if _, err := ParseSteps(texts[0], texts[1], texts[2]); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), `"x"`) {
			t.Errorf("%q: got %v", texts, err)
		}
	}
}

func TestUnaligned(t *testing.T) {
	s, err := ParseSteps("2024-01-01", "1d", "")
	if err != nil {
		t.Fatal(err)
	}
	err = s.Buckets(Month).Fits(40)
	if want := "not where a month or a year begins: element 40 lies within a month that has elements 31 to 59"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestStepsFrom moves the start of drawn times forwards and backwards. Elements keep
// their times. Each month has the day of the start, so steps of months are exact, too.
func TestStepsFrom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"1d", "6h", "1mo", "7mo", "90s"}).Draw(t, "step")
		name := rapid.SampledFrom([]string{"standard", "noleap", "360_day"}).Draw(t, "calendar")
		s, err := ParseSteps(rapid.SampledFrom([]string{"2020-01-28", "1582-10-01T06:00", "0001-01-01"}).Draw(t, "start"), text, name)
		if err != nil {
			t.Fatal(err)
		}
		by, i := rapid.Int64Range(-4000, 4000).Draw(t, "by"), rapid.Int64Range(0, 4000).Draw(t, "element")
		moved, err := s.From(by)
		if err != nil {
			t.Fatal(err)
		}
		got, err := moved.At(i + 4000)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := s.At(by + i + 4000); err != nil || got != want {
			t.Errorf("element %d of %v is at %v, want %v (%v)", i, moved, got, want, err)
		}
		if back, err := moved.From(-by); err != nil || back != s {
			t.Errorf("back to %v (%v), want %v", back, err, s)
		}
	})
	if s, err := ParseSteps("2020-01-01", "1d", ""); err != nil {
		t.Error(err)
	} else if _, err := s.From(math.MinInt64); !errors.Is(err, ErrOverflow) {
		t.Error(err)
	}
	if _, err := (Steps{}).From(-1); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

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
		want, err := newSteps(start, step, c)
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
