// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/mistake"
	"varve.dev/zarr/internal/quantity"
)

// ErrInvalid means that a selection is malformed or does not fit the array. If an axis is
// at fault, the error names it and its extent.
var ErrInvalid = errors.New("invalid selection")

// indexError reports an index outside its axis.
func indexError(index, extent int64) error {
	return &mistake.Index{Index: index, Err: fmt.Errorf("%w: index %d of an axis with extent %d", ErrInvalid, index, extent)}
}

// nameError reports a name that none of the dimensions has.
func nameError(name string, dimensions []string) error {
	known := slices.DeleteFunc(slices.Clone(dimensions), func(n string) bool { return n == "" })
	return &mistake.Name{Name: name, Names: dimensions, Err: fmt.Errorf("%w: no dimension is named %q (there are %s)", ErrInvalid, name, strings.Join(known, ", "))}
}

func rankError(got, want int) error {
	return fmt.Errorf("%w: %s selected, the array has %d", ErrInvalid, quantity.Count(got, "axes"), want)
}

func rangeError(i int, extent int64, what string) error {
	return &grid.AxisError{Axis: i, Err: fmt.Errorf("%w: %s of an axis with extent %d", ErrInvalid, what, extent)}
}

var errTooMany = fmt.Errorf("%w: more than 2^63 elements", ErrInvalid)
