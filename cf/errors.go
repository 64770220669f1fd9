// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"fmt"

	"varve.dev/zarr"
)

// argumentError is a [zarr.ErrInvalidArgument] with a message of its own.
type argumentError struct{ error }

func (e argumentError) Unwrap() []error { return []error{zarr.ErrInvalidArgument, e.error} }

func invalid(format string, args ...any) error { return argumentError{fmt.Errorf(format, args...)} }

// LabelError is the error of a coordinate of text that lacks a label.
type LabelError struct {
	Label  string
	Labels []string // those of the coordinate
}

// Error returns the message.
func (e *LabelError) Error() string { return fmt.Sprintf("no element is %q", e.Label) }

// Unwrap returns [zarr.ErrInvalidArgument].
func (e *LabelError) Unwrap() error { return zarr.ErrInvalidArgument }
