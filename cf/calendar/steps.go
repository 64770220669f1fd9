// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
)

// Step is the time between neighbouring elements of an axis: a number of months or a
// length of time. One of them is positive and the other is 0.
type Step struct {
	Months int64         // 12 make a year
	Length time.Duration // less than 292 years
}

// ParseStep parses a step: a positive integer and a unit, such as "1d", "6h", "30min",
// "1mo" or "10 years". The units are those of [ParseUnits], months and years. Errors wrap
// [ErrInvalid], or [ErrOverflow] if the step is too long.
func ParseStep(text string) (Step, error) {
	trimmed := strings.TrimSpace(text)
	name := strings.TrimLeft(trimmed, "0123456789")
	digits := trimmed[:len(trimmed)-len(name)]
	name = strings.TrimSpace(name)
	// A bare number or a bare unit is more likely a mistake than a step of 1.
	if digits == "" || name == "" {
		return Step{}, invalid("step %q: give a whole number and a unit, like 1d, 6h, 30min, 1mo or 1y", clip(text))
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return Step{}, fmt.Errorf("%w: step %q", ErrOverflow, clip(text))
	}
	if n == 0 {
		return Step{}, invalid("step %q: it must be positive", clip(text))
	}
	unit, isMonths := fixed(name), false
	if unit == 0 {
		unit, isMonths = months(name), true
	}
	switch {
	// m stands for minutes in some programs and for months in others.
	case strings.EqualFold(name, "m"):
		return Step{}, invalid("step %q: m is ambiguous; write min for minutes or mo for months", clip(text))
	case unit == 0:
		return Step{}, invalid("step %q: unknown unit; use d, h, min, s, w, mo or y", clip(text))
	}
	product, ok := checked.Mul(n, unit)
	if !ok || isMonths && product > maxMonths {
		return Step{}, fmt.Errorf("%w: step %q; long steps are given in years", ErrOverflow, clip(text))
	}
	if isMonths {
		return Step{Months: product}, nil
	}
	return Step{Length: time.Duration(product)}, nil
}

// maxMonths bounds numbers of months, so that the sum of two does not overflow int64.
const maxMonths = 12 * maxYear

// String returns the step in the largest unit that divides it: "1y", "3mo", "6h".
func (s Step) String() string {
	if s.Months != 0 {
		if s.Months%12 == 0 {
			return fmt.Sprintf("%dy", s.Months/12)
		}
		return fmt.Sprintf("%dmo", s.Months)
	}
	n, unit := int64(s.Length), lengths[len(lengths)-1]
	for _, l := range lengths[1:] { // days rather than weeks
		if n%l.nanos == 0 {
			unit = l
			break
		}
	}
	return fmt.Sprintf("%d%s", n/unit.nanos, unit.short)
}

// check returns an error unless the step moves forward.
func (s Step) check() error {
	if s.Months < 0 || s.Length < 0 || (s.Months == 0) == (s.Length == 0) {
		return invalid("step of %s and %v: one of them must be positive and the other 0", quantity.Count(s.Months, "months"), s.Length)
	}
	if s.Months > maxMonths {
		return fmt.Errorf("%w: step of %s", ErrOverflow, quantity.Count(s.Months, "months"))
	}
	return nil
}

// Steps are evenly spaced times of an axis: a start, which is the time of element 0, and
// one [Step] from each element to the next. Steps of months keep the day of the month, or
// use the last day in months that are too short. The zero value is invalid and has no
// times.
type Steps struct {
	calendar Calendar
	start    Instant
	step     Step
}

// newSteps returns the times from start on. Errors wrap [ErrInvalid] or [ErrOverflow].
func newSteps(start Instant, step Step, c Calendar) (Steps, error) {
	if err := start.check(); err != nil {
		return Steps{}, err
	}
	return Steps{c, start, step}, step.check()
}

// ParseSteps parses a start as [ParseInstant], a step as [ParseStep], and the name of a
// calendar as [Parse]. Errors are those of these functions.
func ParseSteps(start, step, calendarName string) (Steps, error) {
	c, err := Parse(calendarName)
	if err != nil {
		return Steps{}, err
	}
	t, err := ParseInstant(start, c)
	if err != nil {
		return Steps{}, err
	}
	by, err := ParseStep(step)
	if err != nil {
		return Steps{}, err
	}
	return newSteps(t, by, c)
}

// Calendar returns the calendar of the times.
func (s Steps) Calendar() Calendar { return s.calendar }

// Step returns the time from each element to the next.
func (s Steps) Step() Step { return s.step }

// String returns start, step and calendar as text: "2024-01-31T18:00:00 by 1h
// (standard)".
func (s Steps) String() string {
	return fmt.Sprintf("%s by %v (%v)", s.calendar.Text(s.start), s.step, s.calendar)
}

// At returns the time of element i. The error wraps [ErrOutOfRange] if i is negative,
// [ErrInvalid] if s is zero, or [ErrOverflow].
func (s Steps) At(i int64) (Instant, error) {
	if err := s.step.check(); err != nil {
		return Instant{}, err
	}
	if i < 0 {
		return Instant{}, fmt.Errorf("%w: element %d is negative", ErrOutOfRange, i)
	}
	if s.step.Months == 0 {
		t, ok := s.start.plus(i, int64(s.step.Length))
		if !ok {
			return t, s.overflow(i)
		}
		return t, nil
	}
	month, err := s.month(i)
	return Instant{s.calendar.dayOf(month, s.calendar.date(s.start.Day).Day), s.start.Nano}, err
}

// From returns the times of the elements from element i on, which becomes element 0. It
// also takes a negative i, for elements before the first one. If a step has months, and
// the month of element i is too short for the day of the start, the new start is its last
// day. The error wraps [ErrInvalid] if s is zero, or [ErrOverflow].
func (s Steps) From(i int64) (Steps, error) {
	if i >= 0 {
		at, err := s.At(i)
		if err != nil {
			return Steps{}, err
		}
		return newSteps(at, s.step, s.calendar)
	}
	if err := s.step.check(); err != nil {
		return Steps{}, err
	}
	if s.step.Months == 0 {
		at, ok := s.start.plus(i, int64(s.step.Length))
		if !ok {
			return Steps{}, s.overflow(i)
		}
		return newSteps(at, s.step, s.calendar)
	}
	first := s.calendar.month(s.start.Day)
	// The last condition keeps day numbers in range.
	if i < -maxMonths/s.step.Months || first+i*s.step.Months <= -maxDay/31 {
		return Steps{}, s.overflow(i)
	}
	day := s.calendar.dayOf(first+i*s.step.Months, s.calendar.date(s.start.Day).Day)
	return newSteps(Instant{day, s.start.Nano}, s.step, s.calendar)
}

// next returns the smallest index above i whose element begins a new bucket.
func (s Steps) next(i int64, unit Unit) (int64, error) {
	month, err := s.month(i)
	if err != nil {
		return 0, err
	}
	return s.reach(unit.after(month))
}

// first returns the first element of the bucket that holds element i.
func (s Steps) first(i int64, unit Unit) (int64, error) {
	month, err := s.month(i)
	if err != nil {
		return 0, err
	}
	begin := unit.begin(unit.number(month))
	if begin <= s.calendar.month(s.start.Day) {
		return 0, nil
	}
	return s.reach(begin)
}

// reach returns the first element that is not before the beginning of a month. The month
// must be after the start.
func (s Steps) reach(month int64) (int64, error) {
	// Element i lies i*k months after the start, whatever its day.
	if k := s.step.Months; k > 0 {
		return checked.CeilDiv(month-s.calendar.month(s.start.Day), k), nil
	}
	hi, lo := Instant{Day: s.calendar.monthStart(month)}.since(s.start)
	length := uint64(s.step.Length)
	// The quotient below must fit into 64 bits.
	if hi >= length {
		return 0, s.overflow(math.MaxInt64)
	}
	i, rest := bits.Div64(hi, lo, length)
	if rest > 0 {
		i++
	}
	if i > math.MaxInt64 {
		return 0, s.overflow(math.MaxInt64)
	}
	return int64(i), nil
}

// month returns the month of element i. Months count from January of year 0.
func (s Steps) month(i int64) (int64, error) {
	if s.step.Months == 0 {
		t, err := s.At(i)
		if err != nil {
			return 0, err
		}
		return s.calendar.month(t.Day), nil
	}
	first := s.calendar.month(s.start.Day)
	months, ok := checked.Mul(i, s.step.Months)
	// The last condition keeps day numbers in range.
	if !ok || months > maxMonths || first+months >= maxDay/31 {
		return 0, s.overflow(i)
	}
	return first + months, nil
}

// limit returns an error if the first n elements have too many buckets to list.
func (s Steps) limit(n int64, unit Unit) error {
	first, err := s.month(0)
	if err != nil {
		return err
	}
	last, err := s.month(n - 1)
	if err != nil {
		return err
	}
	if count := unit.number(last) - unit.number(first) + 1; min(count, n) > maxBuckets {
		return fmt.Errorf("%w: %s, %v", ErrLimit, quantity.Count(n, "elements"), s)
	}
	return nil
}

func (s Steps) overflow(i int64) error {
	return fmt.Errorf("%w: element %d of %v", ErrOverflow, i, s)
}

// Buckets returns the buckets of an axis with these times.
func (s Steps) Buckets(unit Unit) Buckets { return Buckets{unit: unit, steps: &s} }

// Continue returns the steps between the values of a coordinate, which predict the
// times of future elements. values are the first ones of an axis, at least two.
//
// The steps are months if the values are a constant number of months apart and all lie on
// the same day of the month at the same time, all in the middle of their months (or
// years), or all on the last day. Otherwise they are steps of equal length, as exactly as
// float64 values permit. If there is no such length, or if there are only two values,
// days 14 to 17 count as the middle of a month. For values in the middle or at the end of
// months the times may differ from the values by days, but never by a month.
//
// The error wraps [ErrIrregular] if there is no such step. Other errors are those of
// [Edges].
func Continue[T Number](values []T, u Units) (Steps, error) {
	if len(values) < 2 {
		return Steps{}, fmt.Errorf("%w: %s not define a step; two are needed", ErrIrregular, quantity.Count(len(values), "values do"))
	}
	if err := increasing(values, u); err != nil {
		return Steps{}, err
	}
	if s, ok := byMonths(values, u, sameDay|middle|lastDay); ok {
		return s, nil
	}
	// Any two values are steps of some length, and means of months are often not evenly
	// spaced. In both cases accept days near the middle of their months.
	s, err := byLength(values, u)
	if err != nil || len(values) == 2 {
		if months, ok := byMonths(values, u, nearMiddle); ok {
			return months, nil
		}
	}
	return s, err
}

// phase is a set of positions within a month.
type phase uint8

const (
	sameDay    phase = 1 << iota // all on the day and at the time of the first value
	lastDay                      // on the last day, at the time of the first value
	middle                       // exactly in the middle of the month, or of the year
	nearMiddle                   // on a day near the middle
)

// byMonths returns steps of months if all values share one of the wanted phases.
func byMonths[T Number](values []T, u Units, wanted phase) (Steps, bool) {
	start, _, err := instantOf(u, values[0])
	if err != nil {
		return Steps{}, false
	}
	c := u.calendar
	first, k := c.month(start.Day), int64(0)
	for i, v := range values {
		t, precision, err := instantOf(u, v)
		if err != nil {
			return Steps{}, false
		}
		month := c.month(t.Day)
		// The first two values give the number of months.
		if i == 1 {
			k = month - first
		}
		if i > 0 && (k < 1 || k > maxMonths || month != first+int64(i)*k) {
			return Steps{}, false
		}
		// Keep the phases that all values so far have in common.
		if wanted &= c.phaseOf(t, start, precision); wanted == 0 {
			return Steps{}, false
		}
	}
	return Steps{c, start, Step{Months: k}}, true
}

// phaseOf returns the positions of a time within its month. first is the time of the
// first value.
func (c Calendar) phaseOf(t, first Instant, precision float64) (p phase) {
	day := c.date(t.Day)
	// Values at different times of the day are not monthly.
	if t.Nano == first.Nano {
		if day.Day == c.date(first.Day).Day {
			p |= sameDay
		}
		if day.Day == c.lastDay(day.Year, day.Month) {
			p |= lastDay
		}
	}
	if day.Day >= 14 && day.Day <= 17 {
		p |= nearMiddle
	}
	month := c.month(t.Day)
	year := floorDiv(month, 12) * 12
	if c.isMiddle(t, month, month+1, precision) || c.isMiddle(t, year, year+12, precision) {
		p |= middle
	}
	return p
}

// isMiddle reports whether a time is half way between the beginnings of two months.
func (c Calendar) isMiddle(t Instant, from, to int64, precision float64) bool {
	start, stop := c.monthStart(from), c.monthStart(to)
	half := Instant{Day: start + (stop-start)/2, Nano: (stop - start) % 2 * (dayNanos / 2)}
	return t.distance(half) <= precision
}

// byLength returns steps of equal length.
func byLength[T Number](values []T, u Units) (Steps, error) {
	n := len(values) - 1
	start, before, err := instantOf(u, values[0])
	if err != nil {
		return Steps{}, err
	}
	last, after, err := instantOf(u, values[n])
	if err != nil {
		return Steps{}, err
	}
	length, ok := mean(start, last, n)
	if !ok {
		return Steps{}, fmt.Errorf("%w: steps of 292 years or more", ErrOverflow)
	}
	// Floating-point values are rounded: prefer a round length within their precision.
	length = roundest(length, (before+after)/float64(n))
	for i, v := range values {
		t, precision, err := instantOf(u, v)
		if err != nil {
			return Steps{}, err
		}
		want, ok := start.plus(int64(i), length)
		// Allow for the error of the first value and for that of this one.
		if !ok || t.distance(want) > before+precision {
			return Steps{}, fmt.Errorf("%w: element %d is at %s, %v steps of %v after element 0 would be %s", ErrIrregular,
				i, u.calendar.Text(t), i, time.Duration(length), u.calendar.Text(want))
		}
	}
	return Steps{u.calendar, start, Step{Length: time.Duration(length)}}, nil
}

// mean returns the n-th part of the time between two instants in nanoseconds, rounded and
// at least 1. It returns false if that overflows.
func mean(from, to Instant, n int) (int64, bool) {
	// The difference in nanoseconds may exceed 64 bits.
	hi, lo := to.since(from)
	lo, carry := bits.Add64(lo, uint64(n)/2, 0)
	if hi += carry; hi >= uint64(n) {
		return 0, false
	}
	q, _ := bits.Div64(hi, lo, uint64(n))
	return int64(max(q, 1)), q <= math.MaxInt64
}

// roundest returns the roundest length within tolerance nanoseconds of length: a whole
// number of seconds, milliseconds or microseconds.
func roundest(length int64, tolerance float64) int64 {
	for _, to := range [...]int64{1e9, 1e6, 1e3} {
		if r := (length/to + length%to*2/to) * to; r > 0 && math.Abs(float64(r-length)) <= tolerance {
			return r
		}
	}
	return length
}
