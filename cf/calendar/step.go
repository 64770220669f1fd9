// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr/internal/checked"
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
		return invalid("step of %d months and %v: one of them must be positive and the other 0", s.Months, s.Length)
	}
	if s.Months > maxMonths {
		return fmt.Errorf("%w: step of %d months", ErrOverflow, s.Months)
	}
	return nil
}
