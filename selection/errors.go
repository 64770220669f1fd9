// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/quantity"
)

// ErrInvalid means that a selection is malformed or does not fit the array. If an axis is
// at fault, the error names it and its extent.
var ErrInvalid = errors.New("invalid selection")

// IndexError reports an index outside its axis. It wraps [ErrInvalid] and is itself
// wrapped in a [varve.dev/zarr/grid.AxisError] that names the axis.
type IndexError struct{ Index, Extent int64 }

// Error implements error.
func (e *IndexError) Error() string {
	return fmt.Sprintf("%v: index %d of an axis with extent %d", ErrInvalid, e.Index, e.Extent)
}

// Unwrap returns [ErrInvalid].
func (e *IndexError) Unwrap() error { return ErrInvalid }

// NameError reports a name that no dimension has. It wraps [ErrInvalid].
type NameError struct {
	Name  string
	Names []string // of the dimensions
}

// Error implements error.
func (e *NameError) Error() string {
	known := slices.DeleteFunc(slices.Clone(e.Names), func(n string) bool { return n == "" })
	return fmt.Sprintf("%v: no dimension is named %q (there are %s)", ErrInvalid, e.Name, strings.Join(known, ", "))
}

// Unwrap returns [ErrInvalid].
func (e *NameError) Unwrap() error { return ErrInvalid }

func rankError(got, want int) error {
	return fmt.Errorf("%w: %s selected, the array has %d", ErrInvalid, quantity.Count(got, "axes"), want)
}

func rangeError(i int, extent int64, what string) error {
	return &grid.AxisError{Axis: i, Err: fmt.Errorf("%w: %s of an axis with extent %d", ErrInvalid, what, extent)}
}

var errTooMany = fmt.Errorf("%w: more than 2^63 elements", ErrInvalid)
