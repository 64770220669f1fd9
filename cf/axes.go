// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"context"

	"varve.dev/zarr"
	inner "varve.dev/zarr/internal/cf"
)

// AxisPair is an axis of elements, and the axis of the array or view that gets them.
type AxisPair struct {
	From, To int
	// Grows means that the elements extend the axis, so their labels differ from those of
	// the array.
	Grows bool
}

// CheckAxes returns an error if storing the elements would change their axes: if the name
// of an axis differs, or one of these:
//
//   - the coordinates of the axes that do not grow
//   - the coordinates in the attribute coordinates of either array, unless they have an
//     axis that grows, or that only one side has
//   - the grid mappings
//   - the place, according to the arrays or the groups above: the primary header of a
//     FITS file says it, and so does a GeoZarr group of bands
//
// Coordinates are compared by their decoded values, and by the attributes that describe
// elements. Coordinates in different units or calendars agree if they encode the same
// times. If a coordinate has several axes, only its first 4,194,304 elements are
// compared.
//
// CheckAxes ignores information that only one side has: a name, a coordinate, an
// attribute, or an element of a coordinate that is missing or was never written.
//
// The error wraps [zarr.ErrInvalidArgument], and is a [grid.AxisError] if it is about an
// axis, with its number in to.
func CheckAxes(ctx context.Context, from, to zarr.Elements, pairs ...AxisPair) error {
	axes := make([]inner.AxisPair, len(pairs))
	for i, p := range pairs {
		axes[i] = inner.AxisPair(p)
	}
	return inner.CheckAxes(ctx, from, to, axes...)
}
