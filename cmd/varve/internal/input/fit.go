// SPDX-License-Identifier: Apache-2.0

package input

import (
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
)

// Fits returns an error if values do not fit a place of the given shape, in number or in
// arrangement. A single axis fits any shape, and axes of length 1 are ignored.
func (v *Values) Fits(shape []int64) error {
	want, ok := checked.Product(shape...)
	if ok {
		want, ok = checked.Mul(want, element.Width(v.Type))
	}
	if !ok {
		return zarr.ErrOverflow
	}
	if size := element.Width(v.Type); v.Total >= 0 && v.Total != want {
		err := failure.BadArgument("%s has %s (%d bytes), shape %v of type %s takes %s (%d bytes)%s",
			v.Name, phrase.Plural(v.Total/size, "value"), v.Total, shape, v.Type, phrase.Count(want/size), want, v.RawNPY())
		if v.Type.Variable() {
			err = failure.BadArgument("%s has %s, shape %v takes %s", v.Name, phrase.Plural(v.Total/size, "value"), shape, phrase.Count(want/size))
		}
		return v.onFirstOf(shape, err)
	}
	have, place := squeezed(v.Shape), squeezed(shape)
	// A flat list fits any shape with as many elements, as raw data does.
	if len(have) < 2 || slices.Equal(have, place) {
		return nil
	}
	return v.onFirstOf(shape, failure.BadArgument("%s has shape %v, the place has %v", v.Name, v.Shape, shape))
}

// onFirstOf returns err as an error of the first axis that does not fit a place of the
// given shape.
func (v *Values) onFirstOf(shape []int64, err error) error {
	if len(v.Shape) != len(shape) {
		return err // the axes do not correspond
	}
	if i := Unequal(v.Shape, shape, -1); i >= 0 {
		err = &grid.AxisError{Axis: i, Err: err}
	}
	return err
}

// Unequal returns the first axis other than except along which two shapes of one rank
// differ, or -1.
func Unequal(a, b []int64, except int) int {
	for i := range a {
		if i != except && a[i] != b[i] {
			return i
		}
	}
	return -1
}

// squeezed returns a shape without axes of length 1.
func squeezed(shape []int64) []int64 {
	var s []int64
	for _, n := range shape {
		if n != 1 {
			s = append(s, n)
		}
	}
	return s
}
