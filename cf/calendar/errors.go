// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"errors"
	"fmt"

	"varve.dev/zarr/internal/sentinel"
)

var (
	// ErrInvalid means that a text, a date or a coordinate value is malformed. Correct
	// it.
	ErrInvalid = errors.New("invalid time or calendar")
	// ErrUnsupported means that a calendar or a unit of time is known but not supported,
	// because its lengths are not fixed.
	ErrUnsupported = sentinel.New("not supported", sentinel.ErrUnsupported)
	// ErrOverflow means that a time is more than 2^40 years away or that a number
	// overflows int64.
	ErrOverflow = errors.New("time out of range")
	// ErrOutOfRange means that the coordinate is too short to define the time of an
	// element. Extend the coordinate first.
	ErrOutOfRange = errors.New("coordinate too short")
	// ErrIrregular means that the values of a coordinate are not evenly spaced, so that
	// the next one is unknown. Supply the values of new elements as well.
	ErrIrregular = errors.New("coordinate cannot be continued")
	// ErrUnaligned means that an index lies within a bucket instead of at its beginning.
	ErrUnaligned = errors.New("not where a month or a year begins")
	// ErrLimit means that a result would have more than 1,048,576 entries.
	ErrLimit = errors.New("too many months or years")
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// onElement adds the index of the element to err.
func onElement(i int64, err error) error { return fmt.Errorf("%w, at element %d", err, i) }
