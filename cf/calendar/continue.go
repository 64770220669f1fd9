// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

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
		return Steps{}, fmt.Errorf("%w: %d values do not define a step; two are needed", ErrIrregular, len(values))
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
		if months, ok := byMonths(values, u, about); ok {
			return months, nil
		}
	}
	return s, err
}

// phase is a set of positions within a month.
type phase uint8

const (
	sameDay phase = 1 << iota // all on the day and at the time of the first value
	lastDay                   // on the last day, at the time of the first value
	middle                    // exactly in the middle of the month, or of the year
	about                     // on a day near the middle
)

// byMonths returns steps of months if all values share one of the wanted phases.
func byMonths[T Number](values []T, u Units, wanted phase) (Steps, bool) {
	start, _, err := at(u, values[0])
	if err != nil {
		return Steps{}, false
	}
	c := u.calendar
	first, k := c.month(start.Day), int64(0)
	for i, v := range values {
		t, precision, err := at(u, v)
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
		p |= about
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
	return t.from(half) <= precision
}

// byLength returns steps of equal length.
func byLength[T Number](values []T, u Units) (Steps, error) {
	n := len(values) - 1
	start, before, err := at(u, values[0])
	if err != nil {
		return Steps{}, err
	}
	last, after, err := at(u, values[n])
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
		t, precision, err := at(u, v)
		if err != nil {
			return Steps{}, err
		}
		want, ok := start.plus(int64(i), length)
		// Allow for the error of the first value and for that of this one.
		if !ok || t.from(want) > before+precision {
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
