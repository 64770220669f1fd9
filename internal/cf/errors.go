// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"fmt"

	"varve.dev/zarr"
)

// argumentError wraps [zarr.ErrInvalidArgument] without adding its text to the message.
type argumentError struct{ error }

func (e argumentError) Unwrap() []error { return []error{zarr.ErrInvalidArgument, e.error} }

func invalid(format string, args ...any) error { return argumentError{fmt.Errorf(format, args...)} }

// UnfitError reports that an array with the name of a dimension is not its coordinate: it
// has another number of axes, another dimension, or another length. It wraps
// [zarr.ErrInvalidArgument].
type UnfitError struct {
	Reason string // in one line, with the path of the array
}

// Error returns the reason, and how to do without the coordinate.
func (e *UnfitError) Error() string { return e.Reason + "; select by index" }

// Unwrap returns [zarr.ErrInvalidArgument].
func (e *UnfitError) Unwrap() error { return zarr.ErrInvalidArgument }

func unfit(format string, args ...any) error { return &UnfitError{fmt.Sprintf(format, args...)} }

// LabelError reports that a text coordinate has no element with the given label.
type LabelError struct {
	Label  string
	Labels []string // the labels of the coordinate
}

// Error returns the message.
func (e *LabelError) Error() string { return fmt.Sprintf("no element is %q", e.Label) }

// Unwrap returns [zarr.ErrInvalidArgument].
func (e *LabelError) Unwrap() error { return zarr.ErrInvalidArgument }

// ErrEmptyRange means that no element of a coordinate is in the range of values that
// [Lookup] was given. It wraps [zarr.ErrInvalidArgument].
var ErrEmptyRange = fmt.Errorf("%w: no element is in the range", zarr.ErrInvalidArgument)

// emptyRange is an [ErrEmptyRange] with another text.
type emptyRange string

// Error returns the text.
func (e emptyRange) Error() string { return string(e) }

// Unwrap returns [ErrEmptyRange].
func (e emptyRange) Unwrap() error { return ErrEmptyRange }
