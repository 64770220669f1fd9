// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"time"

	"varve.dev/zarr/internal/quantity"
)

// dayNanos is the number of nanoseconds in a day.
const dayNanos = int64(24 * time.Hour)

// Instant is a moment in a calendar, exact to the nanosecond.
type Instant struct {
	Day  int64 // day number, see [Calendar.Number]
	Nano int64 // nanoseconds since the beginning of the day, below 24 hours
}

// Compare returns -1 if t is before o, 0 if they are equal, and 1 if t is after o.
func (t Instant) Compare(o Instant) int {
	if t.Day != o.Day {
		return cmp.Compare(t.Day, o.Day)
	}
	return cmp.Compare(t.Nano, o.Nano)
}

// Round returns the nearest instant that is a multiple of to since the beginning of the
// day, with ties rounded up. If to does not divide a day, Round returns t.
func (t Instant) Round(to time.Duration) Instant {
	// Multiples of other durations would not continue across midnight.
	if to <= 0 || dayNanos%int64(to) != 0 {
		return t
	}
	t.Nano += int64(to) / 2
	t.Nano -= t.Nano % int64(to)
	if t.Nano >= dayNanos {
		t = Instant{t.Day + 1, t.Nano - dayNanos}
	}
	return t
}

// Text returns an instant in ISO 8601, 2006-01-02T15:04:05, with as many digits of a
// fraction as it needs.
func (c Calendar) Text(t Instant) string {
	day := fmt.Sprintf("day %d", t.Day)
	if d, err := c.Date(t.Day); err == nil {
		day = d.String()
	}
	seconds, nanos := t.Nano/1e9, t.Nano%1e9
	text := fmt.Sprintf("%sT%02d:%02d:%02d", day, seconds/3600, seconds/60%60, seconds%60)
	if nanos != 0 {
		text += strings.TrimRight(fmt.Sprintf(".%09d", nanos), "0")
	}
	return text
}

// check returns an error if the instant is invalid.
func (t Instant) check() error {
	if t.Nano < 0 || t.Nano >= dayNanos {
		return invalid("instant with %s: a day has %d", quantity.Count(t.Nano, "nanoseconds"), dayNanos)
	}
	if t.Day < -maxDay || t.Day > maxDay {
		return fmt.Errorf("%w: day %d", ErrOverflow, t.Day)
	}
	return nil
}

// plus returns the instant count times length later. length is positive, in nanoseconds.
// plus returns false if the instant is out of range.
func (t Instant) plus(count, length int64) (Instant, bool) {
	size := uint64(count)
	if count < 0 {
		size = -size
	}
	hi, lo := bits.Mul64(size, uint64(length))
	// The quotient below must fit into 64 bits.
	if hi >= uint64(dayNanos) {
		return Instant{}, false
	}
	days, nanos := bits.Div64(hi, lo, uint64(dayNanos))
	// The sum with t.Day must not overflow.
	if days > 3*maxDay {
		return Instant{}, false
	}
	if count < 0 {
		return t.shift(-int64(days), -int64(nanos))
	}
	return t.shift(int64(days), int64(nanos))
}

// shift adds days and less than a day of nanoseconds, of either sign. It returns false if
// the instant is out of range.
func (t Instant) shift(days, nanos int64) (Instant, bool) {
	t.Day, t.Nano = t.Day+days, t.Nano+nanos
	// Carry between days and nanoseconds.
	if t.Nano < 0 {
		t = Instant{t.Day - 1, t.Nano + dayNanos}
	}
	if t.Nano >= dayNanos {
		t = Instant{t.Day + 1, t.Nano - dayNanos}
	}
	return t, t.Day >= -maxDay && t.Day <= maxDay
}

// since returns the nanoseconds from o to t as a 128-bit number. t must not be before o.
func (t Instant) since(o Instant) (hi, lo uint64) {
	days, nanos := t.Day-o.Day, t.Nano-o.Nano
	if nanos < 0 {
		days, nanos = days-1, nanos+dayNanos
	}
	hi, lo = bits.Mul64(uint64(days), uint64(dayNanos))
	lo, carry := bits.Add64(lo, uint64(nanos), 0)
	return hi + carry, lo
}

// distance returns the distance between t and o in nanoseconds. It is exact below 2^53.
func (t Instant) distance(o Instant) float64 {
	return math.Abs(float64(t.Day-o.Day)*float64(dayNanos) + float64(t.Nano-o.Nano))
}

// snap returns the roundest instant within tolerance nanoseconds of t: a whole second,
// millisecond or microsecond.
func (t Instant) snap(tolerance float64) Instant {
	for _, to := range [...]time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if r := t.Round(to); r.distance(t) <= tolerance {
			return r
		}
	}
	return t
}

// ParseInstant parses a moment in a calendar, such as 1950-01-01, 1900-1-1 00:00:0.0,
// 2024-01-31T18:00Z or 2000-01-01 06:00 +02:00. Month and day are 1 if they are omitted.
// A time zone is subtracted. Years have up to six digits and may be negative. Errors wrap
// [ErrInvalid].
func ParseInstant(text string, c Calendar) (Instant, error) {
	s := &scanner{rest: strings.TrimSpace(text)}
	t, err := s.moment(c)
	if err == nil && s.rest != "" {
		err = invalid("unexpected %q", clip(s.rest))
	}
	if err != nil {
		return Instant{}, fmt.Errorf("%w, in the moment %q", err, clip(text))
	}
	return t, nil
}

// scanner reads a text from left to right.
type scanner struct{ rest string }

// moment reads date, time of day and time zone.
func (s *scanner) moment(c Calendar) (Instant, error) {
	d, err := s.date()
	if err != nil {
		return Instant{}, err
	}
	t := Instant{}
	if t.Day, err = c.Number(d); err != nil {
		return t, err
	}
	// After a T there must be a time. After spaces there may be one.
	clock := s.take("T") || s.take("t")
	s.spaces()
	if clock || s.digit() {
		if t.Nano, err = s.clock(); err != nil {
			return t, err
		}
	}
	zone, err := s.zone()
	t, _ = t.shift(0, -zone) // cannot fail: a year has at most six digits
	return t, err
}

// date reads year, month and day.
func (s *scanner) date() (Date, error) {
	negative := s.take("-")
	if !negative {
		s.take("+")
	}
	year, err := s.number("a year", 6)
	// A date without separators, such as 20240131, is ambiguous.
	if err == nil && s.digit() {
		err = invalid("a year has too many digits; write dates as 1950-01-31")
	}
	if negative {
		year = -year
	}
	d := Date{year, 1, 1}
	for _, part := range []struct {
		what string
		to   *int
	}{{"a month", &d.Month}, {"a day", &d.Day}} {
		if err != nil || !s.take("-") {
			break
		}
		var n int64
		n, err = s.number(part.what, 2)
		*part.to = int(n)
	}
	return d, err
}

// clock reads the time of day, in nanoseconds.
func (s *scanner) clock() (int64, error) {
	var nanos int64
	for i, part := range []struct {
		what  string
		limit int64
		unit  int64
	}{{"an hour", 24, 3600e9}, {"minutes", 60, 60e9}, {"seconds", 60, 1e9}} {
		if i > 0 && !s.take(":") {
			return nanos, nil
		}
		n, err := s.number(part.what, 2)
		if err != nil {
			return 0, err
		}
		if n >= part.limit {
			return 0, invalid("%s of %d: must be less than %d", strings.TrimPrefix(part.what, "an "), n, part.limit)
		}
		nanos += n * part.unit
	}
	fraction, err := s.fraction()
	return nanos + fraction, err
}

// fraction reads the digits after the point of a second, in nanoseconds.
func (s *scanner) fraction() (int64, error) {
	if !s.take(".") {
		return 0, nil
	}
	var nanos int64
	for unit := int64(1e8); s.digit(); unit /= 10 {
		// Zeros beyond nanoseconds change nothing.
		if unit == 0 && s.rest[0] != '0' {
			return 0, invalid("seconds are finer than nanoseconds")
		}
		nanos += unit * int64(s.rest[0]-'0')
		s.rest = s.rest[1:]
	}
	return nanos, nil
}

// zone reads the offset of a time zone from UTC, in nanoseconds.
func (s *scanner) zone() (int64, error) {
	s.spaces()
	for _, name := range []string{"Z", "UTC", "GMT"} {
		if len(s.rest) >= len(name) && strings.EqualFold(s.rest[:len(name)], name) {
			s.rest = s.rest[len(name):]
			return 0, nil
		}
	}
	sign := int64(1)
	if s.take("-") {
		sign = -1
	} else if !s.take("+") {
		return 0, nil
	}
	hours, err := s.number("the hours of a time zone", 2)
	if err != nil {
		return 0, err
	}
	minutes := int64(0)
	// Both +02:00 and +0200 are common.
	if s.take(":") || s.digit() {
		minutes, err = s.number("the minutes of a time zone", 2)
	}
	if err == nil && (hours > 23 || minutes > 59) {
		err = invalid("a time zone of %s and %s", quantity.Count(hours, "hours"), quantity.Count(minutes, "minutes"))
	}
	return sign * (hours*3600e9 + minutes*60e9), err
}

// number reads a number of at most the given number of digits. what names it in errors.
func (s *scanner) number(what string, digits int) (int64, error) {
	if !s.digit() {
		return 0, invalid("expected %s before %q", what, clip(s.rest))
	}
	var n int64
	for ; s.digit() && digits > 0; digits-- {
		n = 10*n + int64(s.rest[0]-'0')
		s.rest = s.rest[1:]
	}
	return n, nil
}

// take skips text and reports whether it was there.
func (s *scanner) take(text string) bool {
	rest, ok := strings.CutPrefix(s.rest, text)
	s.rest = rest
	return ok
}

// digit reports whether a digit comes next.
func (s *scanner) digit() bool { return s.rest != "" && s.rest[0] >= '0' && s.rest[0] <= '9' }

// spaces skips white space.
func (s *scanner) spaces() { s.rest = strings.TrimLeft(s.rest, " \t") }

// clip shortens a text that an error quotes.
func clip(text string) string {
	if len(text) > 60 {
		return text[:60] + "…"
	}
	return text
}
