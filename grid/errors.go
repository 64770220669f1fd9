package grid

import (
	"errors"
	"fmt"
)

var (
	// ErrInvalid says that edges, shapes or their description break a rule of the specification.
	ErrInvalid = errors.New("grid: invalid chunk grid")
	// ErrUnsupported says that a chunk grid, or a form of one, is not known here.
	ErrUnsupported = errors.New("grid: not supported")
	// ErrOverflow says that a sum or a product of lengths does not fit into 64 bits.
	ErrOverflow = errors.New("grid: number exceeds 64 bits")
	// ErrOutOfRange says that an index lies outside the array or the grid.
	ErrOutOfRange = errors.New("grid: out of range")
)

// AxisError says on which axis something is wrong.
type AxisError struct {
	Axis int
	Err  error
}

// Error returns the number of the axis, and what is wrong.
func (e *AxisError) Error() string { return fmt.Sprintf("axis %d: %v", e.Axis, e.Err) }

// Unwrap returns what is wrong.
func (e *AxisError) Unwrap() error { return e.Err }

// onAxis adds the number of the axis to err.
func onAxis(axis int, err error) error {
	if err == nil {
		return nil
	}
	return &AxisError{axis, err}
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// tooManyRuns is the error of what would list more runs than a few numbers should make.
func tooManyRuns() error {
	return fmt.Errorf("%w: inner chunks in more than %d runs cannot be listed", ErrUnsupported, mostRuns)
}
