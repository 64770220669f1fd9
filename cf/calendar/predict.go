// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"math"
	"slices"
	"time"
)

// recent is the number of last values that define the usual step of a coordinate.
const recent = 1 << 10

// Predict returns the buckets of a coordinate that is not evenly spaced, such as one of
// observations with gaps. It is like [Boundaries], but extends the last bucket: the
// values are assumed to continue at their usual step, which is the median of the last
// 1,024. Errors are those of [Edges].
func Predict[T Number](values []T, u Units, unit Unit) (Buckets, error) {
	b, err := Boundaries(values, u, unit)
	if err != nil || len(values) < 2 {
		return b, err
	}
	last, step, err := usual(values[max(0, len(values)-recent):], u)
	if err != nil || step == 0 {
		return b, err
	}
	// Element 0 of these steps is the last value.
	more, err := Steps{u.calendar, last, Step{Length: step}}.next(0, unit)
	if err != nil {
		return b, err
	}
	end := &b.stops[len(b.stops)-1]
	// The last value counts in both terms, so subtract it once.
	*end = max(*end, *end-1+more)
	return b, nil
}

// usual returns the time of the last value and the median of the steps between values.
// The step is 0 if it overflows 64 bits of nanoseconds.
func usual[T Number](values []T, u Units) (last Instant, step time.Duration, err error) {
	steps := make([]int64, 0, len(values)-1)
	for i, v := range values {
		t, _, err := at(u, v)
		if err != nil {
			return t, 0, onElement(int64(i), err)
		}
		if i > 0 {
			hi, lo := t.since(last)
			if hi > 0 || lo > math.MaxInt64 {
				// The difference does not fit 64 bits. A step of 0 means that nothing is
				// predicted.
				lo = 0
			}
			steps = append(steps, int64(lo))
		}
		last = t
	}
	slices.Sort(steps)
	return last, time.Duration(steps[len(steps)/2]), nil
}
