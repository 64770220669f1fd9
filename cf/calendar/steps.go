// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"fmt"
	"math"
	"math/bits"

	"varve.dev/zarr/internal/checked"
)

// Steps are evenly spaced times of an axis: a start, which is the time of element 0, and
// one [Step] from each element to the next. Steps of months keep the day of the month, or
// use the last day in months that are too short. The zero value is invalid and has no
// times.
type Steps struct {
	calendar Calendar
	start    Instant
	step     Step
}

// NewSteps returns the times from start on. Errors wrap [ErrInvalid] or [ErrOverflow].
func NewSteps(start Instant, step Step, c Calendar) (Steps, error) {
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
	return NewSteps(t, by, c)
}

// Calendar returns the calendar of the times.
func (s Steps) Calendar() Calendar { return s.calendar }

// Start returns the time of element 0.
func (s Steps) Start() Instant { return s.start }

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
		return NewSteps(at, s.step, s.calendar)
	}
	if err := s.step.check(); err != nil {
		return Steps{}, err
	}
	if s.step.Months == 0 {
		at, ok := s.start.plus(i, int64(s.step.Length))
		if !ok {
			return Steps{}, s.overflow(i)
		}
		return NewSteps(at, s.step, s.calendar)
	}
	first := s.calendar.month(s.start.Day)
	// The last condition keeps day numbers in range.
	if i < -maxMonths/s.step.Months || first+i*s.step.Months <= -maxDay/31 {
		return Steps{}, s.overflow(i)
	}
	day := s.calendar.dayOf(first+i*s.step.Months, s.calendar.date(s.start.Day).Day)
	return NewSteps(Instant{day, s.start.Nano}, s.step, s.calendar)
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
	// A year begins with the first of its months.
	if unit == Year {
		month = floorDiv(month, 12) * 12
	}
	if err != nil || month <= s.calendar.month(s.start.Day) {
		return 0, err
	}
	return s.reach(month)
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
	count := last - first
	if unit == Year {
		count = floorDiv(last, 12) - floorDiv(first, 12)
	}
	if min(count+1, n) > MaxBuckets {
		return fmt.Errorf("%w: %d elements, %v", ErrLimit, n, s)
	}
	return nil
}

func (s Steps) overflow(i int64) error {
	return fmt.Errorf("%w: element %d of %v", ErrOverflow, i, s)
}

// Buckets returns the buckets of an axis with these times.
func (s Steps) Buckets(unit Unit) Buckets { return Buckets{unit: unit, steps: &s} }
