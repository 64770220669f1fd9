package calendar

import (
	"errors"
	"fmt"
)

var (
	// ErrInvalid says that a text, a date or a coordinate value is none. Correct it.
	ErrInvalid = errors.New("calendar: invalid")
	// ErrUnsupported says that a calendar or a unit of time is known, but has no fixed lengths here.
	ErrUnsupported = errors.New("calendar: not supported")
	// ErrOverflow says that a time lies more than 2^40 years away, or that a number does not fit into 64 bits.
	ErrOverflow = errors.New("calendar: time out of range")
	// ErrOutOfRange says that an element has no time, since the coordinate is shorter. Extend the coordinate first.
	ErrOutOfRange = errors.New("calendar: coordinate too short")
	// ErrIrregular says that the values of a coordinate do not follow each other at one step, so that nobody knows the next.
	// Give the values of new elements, too.
	ErrIrregular = errors.New("calendar: coordinate cannot be continued")
	// ErrUnaligned says that an index lies within a bucket, where its beginning is wanted.
	ErrUnaligned = errors.New("calendar: not where a month or a year begins")
	// ErrLimit says that an answer would have more than [MaxBuckets] numbers.
	ErrLimit = errors.New("calendar: too many months or years")
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// onElement adds the index of the element to err.
func onElement(i int64, err error) error { return fmt.Errorf("%w, at element %d", err, i) }
