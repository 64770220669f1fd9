// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"errors"
	"fmt"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/sentinel"
)

var (
	// ErrInvalid means that edges, shapes or metadata break a rule of the specification.
	ErrInvalid = errors.New("invalid chunk grid")
	// ErrUnsupported means that this package does not know a chunk grid or a form of one,
	// or that a list would be too long.
	ErrUnsupported = sentinel.New("not supported", sentinel.ErrUnsupported)
	// ErrOverflow means that a sum or a product of lengths overflows int64.
	ErrOverflow = errors.New("number exceeds 64 bits")
	// ErrOutOfRange means that an index lies outside the array or the grid.
	ErrOutOfRange = errors.New("out of range")
)

// AxisError adds the number of an axis to an error.
type AxisError struct {
	Axis int
	Err  error
}

// Error returns the number of the axis and the text of Err.
func (e *AxisError) Error() string { return fmt.Sprintf("axis %d: %v", e.Axis, e.Err) }

// Unwrap returns Err.
func (e *AxisError) Unwrap() error { return e.Err }

// onAxis adds the number of the axis to err. It returns nil if err is nil.
func onAxis(axis int, err error) error {
	if err == nil {
		return nil
	}
	return &AxisError{axis, err}
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// tooManyRuns returns the error for a list of more than mostRuns runs.
func tooManyRuns() error {
	return fmt.Errorf("%w: inner chunks in more than %s be listed", ErrUnsupported, quantity.Count(mostRuns, "runs cannot"))
}

// mostRuns bounds the runs that one operation makes from a few numbers. That many runs
// take 64 MiB, and a metadata document holds about as many.
const mostRuns = 1 << 22

// errNoEdges means that a list of edges is empty.
var errNoEdges = invalid("an axis needs at least one edge, as in [100]; on an axis of length 0 it waits for growth")
