// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseUnits(t *testing.T) {
	for _, c := range []struct {
		text     string
		calendar Calendar
		value    int64
		want     string
	}{
		{"days since 1950-01-01", Standard, 27059, "2024-02-01T00:00:00"},
		{"day since 1950-1-1", Standard, 1, "1950-01-02T00:00:00"},
		{"d since 1950-01-01T00:00:00Z", Standard, -1, "1949-12-31T00:00:00"},
		{"hours since 1900-01-01 00:00:0.0", Standard, 1087848, "2024-02-07T00:00:00"},
		{"Hours SINCE 1900-01-01 00:00:00.0 UTC", Standard, 25, "1900-01-02T01:00:00"},
		{"hr since 1900-01-01 00", Standard, 25, "1900-01-02T01:00:00"},
		{"h since 2000-01-01 06:30 +02:00", Standard, 0, "2000-01-01T04:30:00"},
		{"h since 2000-01-01 06:30:00 -0530", Standard, 0, "2000-01-01T12:00:00"},
		{"h since 2000-01-01T23:30-1", Standard, 0, "2000-01-02T00:30:00"},
		{"min since 1999-12-31 23:59", Standard, 1, "2000-01-01T00:00:00"},
		{"minutes  since\t2000-01-01", Standard, -1, "1999-12-31T23:59:00"},
		{"seconds since 1970-01-01", ProlepticGregorian, 1700000000, "2023-11-14T22:13:20"},
		{"sec since 1970-01-01 00:00:00.25", Standard, 1, "1970-01-01T00:00:01.25"},
		{"ms since 1970-01-01", Standard, -1, "1969-12-31T23:59:59.999"},
		{"microseconds since 1970-01-01", Standard, 1, "1970-01-01T00:00:00.000001"},
		{"nanoseconds since 1970-01-01", Standard, math.MaxInt64, "2262-04-11T23:47:16.854775807"},
		{"nanoseconds since 1970-01-01", Standard, math.MinInt64, "1677-09-21T00:12:43.145224192"},
		{"weeks since 2000-01-01", Standard, 2, "2000-01-15T00:00:00"},
		{"days since 1582-10-04", Standard, 1, "1582-10-15T00:00:00"},
		{"days since 1582-10-04", ProlepticGregorian, 1, "1582-10-05T00:00:00"},
		{"days since 0000-01-01", NoLeap, 365 * 1850, "1850-01-01T00:00:00"},
		{"days since 0001-01-01 00:00:00", Days360, 360*1999 + 59, "2000-02-30T00:00:00"},
		{"days since -4712-01-01 12:00", Standard, 2440588, "1970-01-01T12:00:00"},
		{"days since 1-1-1", Standard, -1, "0000-12-31T00:00:00"},
		{"days since 2000", Standard, 31, "2000-02-01T00:00:00"},
		{"months since 1990-01-01", Days360, 25, "1992-02-01T00:00:00"},
		{"years since 1990-01-01", Days360, -1, "1989-01-01T00:00:00"},
	} {
		u, err := ParseUnits(c.text, c.calendar)
		if err != nil {
			t.Error(err)
			continue
		}
		got, err := u.At(c.value)
		if text := u.Calendar().Text(got); err != nil || text != c.want {
			t.Errorf("%q %v: %d is %s, %v, want %s", c.text, c.calendar, c.value, text, err, c.want)
		}
		if back, err := u.Count(got); err != nil || back != c.value {
			t.Errorf("%q %v: %s is %d, %v, want %d", c.text, c.calendar, c.want, back, err, c.value)
		}
	}
}

func TestUnitsThatAreNone(t *testing.T) {
	for _, c := range []struct {
		text     string
		calendar Calendar
		kind     error
		says     string
	}{
		{"", Standard, ErrInvalid, "days since"}, {"K", Standard, ErrInvalid, `"K"`}, {"days", Standard, ErrInvalid, "days since"},
		{"days since", Standard, ErrInvalid, "days since"}, {"days after 2000-01-01", Standard, ErrInvalid, "days since"},
		{"eons since 2000-01-01", Standard, ErrInvalid, `"eons"`},
		{"months since 2000-01-01", Standard, ErrUnsupported, "no fixed length"},
		{"years since 2000-01-01", NoLeap, ErrUnsupported, "no fixed length"},
		{"days since yesterday", Standard, ErrInvalid, "expected a year"}, {"days since 2000-", Standard, ErrInvalid, "expected a month"},
		{"days since 2000-13-01", Standard, ErrInvalid, "no month 13"}, {"days since 2001-02-29", Standard, ErrInvalid, "2001-02-29"},
		{"days since 1582-10-10", Standard, ErrInvalid, "1582-10-10"}, {"days since 19500101", Standard, ErrInvalid, "1950-01-31"},
		{"days since 2000-01-01 24:00", Standard, ErrInvalid, "hour of 24"}, {"days since 2000-01-01 10:60", Standard, ErrInvalid, "minutes of 60"},
		{"days since 2000-01-01 10:10:60", Standard, ErrInvalid, "seconds of 60"},
		{"days since 2000-01-01T", Standard, ErrInvalid, "expected an hour"}, {"days since 2000-01-01 10:", Standard, ErrInvalid, "expected minutes"},
		{"days since 2000-01-01 10:10 CET", Standard, ErrInvalid, `unexpected "CET"`}, {"days since 2000-01-01 10 +24", Standard, ErrInvalid, "time zone"},
		{"days since 2000-01-01 10 +", Standard, ErrInvalid, "time zone"}, {"days since 2000-01-01 00:00:00.0000000001", Standard, ErrInvalid, "nanoseconds"},
		{"days since 2000-01-01 00:00:00.0 0:00", Standard, ErrInvalid, "unexpected"},
		{"days since " + strings.Repeat("9", 1000), Standard, ErrInvalid, "too many digits"},
	} {
		_, err := ParseUnits(c.text, c.calendar)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 300 {
			t.Errorf("%q: got %v, want %v with %q", c.text, err, c.kind, c.says)
		}
	}
	if _, err := (Units{}).At(1); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if _, err := (Units{}).Count(Instant{}); !errors.Is(err, ErrInvalid) || !math.IsNaN((Units{}).CountFloat(Instant{})) {
		t.Error(err)
	}
}

func units(t testing.TB, text string, c Calendar) Units {
	t.Helper()
	u, err := ParseUnits(text, c)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestFractions checks that fractions are converted to the time that they were made from.
func TestFractions(t *testing.T) {
	for _, c := range []struct {
		units string
		value float64
		want  string
	}{
		{"days since 1900-01-01", 36524 + 1.0/24, "2000-01-01T01:00:00"},
		{"days since 1900-01-01", 36524 + 23.0/24, "2000-01-01T23:00:00"},
		{"days since 1900-01-01 01:00", 36523 + 23.0/24, "2000-01-01T00:00:00"},
		{"days since 1900-01-01", -1.0 / 3, "1899-12-31T16:00:00"},
		{"days since 2000-01-01", 0.1, "2000-01-01T02:24:00"},
		{"hours since 2000-01-01", 0.1, "2000-01-01T00:06:00"},
		{"seconds since 2000-01-01", 0.001, "2000-01-01T00:00:00.001"},
		{"seconds since 2000-01-01", 1e-9, "2000-01-01T00:00:00.000000001"},
		{"seconds since 1970-01-01", 1.7e9 + 0.3, "2023-11-14T22:13:20.3"},
		{"weeks since 2000-01-01", -0.5, "1999-12-28T12:00:00"},
		{"days since 2000-01-01", 1.25, "2000-01-02T06:00:00"},
	} {
		u := units(t, c.units, Standard)
		got, err := u.AtFloat(c.value)
		if text := u.Calendar().Text(got); err != nil || text != c.want {
			t.Errorf("%s: %v is %s, %v, want %s", c.units, c.value, text, err, c.want)
		}
		if back := u.CountFloat(got); math.Abs(back-c.value) > 1e-15*max(1, math.Abs(c.value)) {
			t.Errorf("%s: %s is %v, want %v", c.units, c.want, back, c.value)
		}
	}
}

// TestEveryHourOfDays checks hours that are stored as fractions of days, over 250 years.
func TestEveryHourOfDays(t *testing.T) {
	u := units(t, "days since 1850-01-01", Standard)
	for h := int64(0); h < 250*366*24; h++ {
		got, err := u.AtFloat(float64(h) / 24)
		if err != nil || got.Day != u.Origin().Day+h/24 || got.Nano != h%24*3600e9 {
			t.Fatalf("hour %d is %s, %v", h, Standard.Text(got), err)
		}
	}
}

func TestValuesOutOfRange(t *testing.T) {
	u := units(t, "weeks since 2000-01-01", Standard)
	for _, v := range []int64{math.MaxInt64, math.MinInt64, maxDay, -maxDay} {
		if _, err := u.At(v); !errors.Is(err, ErrOverflow) {
			t.Errorf("%d: got %v", v, err)
		}
	}
	for v, want := range map[float64]error{
		math.Inf(1): ErrInvalid, math.Inf(-1): ErrInvalid, 1e300: ErrOverflow, -1e300: ErrOverflow, 1 << 63: ErrOverflow, 1e18: ErrOverflow,
	} {
		if _, err := u.AtFloat(v); !errors.Is(err, want) {
			t.Errorf("%v: got %v, want %v", v, err, want)
		}
	}
	if _, err := u.AtFloat(math.NaN()); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	nanos := units(t, "ns since 2000-01-01", Standard)
	for _, at := range []Instant{{Day: 1 << 40}, {Day: -1 << 40}, {Day: 200000}} {
		if _, err := nanos.Count(at); !errors.Is(err, ErrOverflow) {
			t.Errorf("%v: got %v", at, err)
		}
	}
	if v := nanos.CountFloat(Instant{Day: math.MinInt64}); !math.IsNaN(v) {
		t.Error(v)
	}
	for _, at := range []Instant{{Nano: 1}, {Nano: -1}, {Nano: dayNanos}} {
		if _, err := u.Count(at); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v: got %v", at, err)
		}
	}
}

// TestUnitsRoundTrip compares with package time for the proleptic Gregorian calendar, and
// converts back.
func TestUnitsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.SampledFrom(lengths).Draw(t, "length")
		origin := time.Unix(rapid.Int64Range(-5e10, 5e10).Draw(t, "origin"), 0).UTC()
		u, err := ParseUnits(length.names[0]+" since "+origin.Format(time.DateTime), ProlepticGregorian)
		if err != nil || int64(u.Length()) != length.nanos {
			t.Fatal(u, err)
		}
		most := 9e18 / length.nanos // 285 years, which is what a time.Duration holds
		v := rapid.Int64Range(-most, most).Draw(t, "value")
		want := origin.Add(time.Duration(v * length.nanos))
		at, err := u.At(v)
		if got := u.Calendar().Text(at); err != nil || got != want.Format("2006-01-02T15:04:05.999999999") {
			t.Fatalf("%d is %s, %v, want %v", v, got, err, want)
		}
		if back, err := u.Count(at); err != nil || back != v {
			t.Fatalf("%v is %d, %v, want %d", at, back, err, v)
		}
		if float, err := u.AtFloat(float64(v)); err != nil || int64(float64(v)) == v && float != at {
			t.Fatalf("%v is %v, %v, want %v", float64(v), float, err, at)
		}
		if u.CountFloat(at) != float64(v) {
			t.Fatalf("%v is %v, want %d", at, u.CountFloat(at), v)
		}
	})
}

func TestRound(t *testing.T) {
	for _, c := range []struct {
		at   Instant
		to   time.Duration
		want Instant
	}{
		{Instant{5, dayNanos - 1}, time.Second, Instant{6, 0}}, {Instant{5, 1499}, time.Microsecond, Instant{5, 1000}},
		{Instant{5, 1500}, time.Microsecond, Instant{5, 2000}}, {Instant{5, 7}, 0, Instant{5, 7}}, {Instant{5, 7}, -1, Instant{5, 7}},
		{Instant{5, 7}, 7 * time.Hour, Instant{5, 7}}, {Instant{5, dayNanos / 2}, 24 * time.Hour, Instant{6, 0}},
	} {
		if got := c.at.Round(c.to); got != c.want {
			t.Errorf("%v to %v: got %v, want %v", c.at, c.to, got, c.want)
		}
	}
	if got := Standard.Text(Instant{Day: math.MaxInt64, Nano: 1e6}); got != "day 9223372036854775807T00:00:00.001" {
		t.Error(got)
	}
}

func FuzzParseUnits(f *testing.F) {
	for _, text := range []string{
		"days since 1950-01-01", "hours since 1900-01-01 00:00:0.0", "s since -4712-1-1T12:00:00.123456789+05:30", "months since 2000-01",
		"ms since 999999-12-31 23:59:59 -23:59", "d since 1582-10-10", "h since 2000 Z",
	} {
		for c := range allCalendars {
			f.Add(text, uint8(c), int64(1))
		}
	}
	f.Fuzz(func(t *testing.T, text string, name uint8, value int64) {
		c := allCalendars[int(name)%len(allCalendars)]
		u, err := ParseUnits(text, c)
		if err != nil {
			if !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		if again, err := ParseInstant(c.Text(u.Origin()), c); err != nil && u.Origin().Day < 365*997000 || err == nil && again != u.Origin() {
			t.Fatalf("%q begins %s, which is read as %v, %v", text, c.Text(u.Origin()), again, err)
		}
		at, err := u.At(value)
		if err != nil {
			if !errors.Is(err, ErrOverflow) {
				t.Fatal(err)
			}
			return
		}
		if back, err := u.Count(at); err != nil || back != value {
			t.Fatalf("%q: %d is %s, which is %d, %v", text, value, c.Text(at), back, err)
		}
	})
}
