// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"fmt"
	"strings"
)

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
		err = invalid("a time zone of %d hours and %d minutes", hours, minutes)
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
