// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"context"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	inner "varve.dev/zarr/internal/cf"
	"varve.dev/zarr/selection"
)

// ErrEmptyRange means that no element of a coordinate is in the range of values that
// [Lookup] was given. It wraps [zarr.ErrInvalidArgument].
var ErrEmptyRange = inner.ErrEmptyRange

// Select returns the elements of an array that a text selects, as [selection.Parser]
// describes: by index as "0:10, ..., 3" or "time=0:10", and by coordinate values as
// "time=2024-12-25..2025-01-01, latitude=52.5". [Lookup] describes how values match
// elements. If the text is malformed or does not fit the array, the error wraps
// [zarr.ErrInvalidArgument] or [selection.ErrInvalid].
func Select(ctx context.Context, a *zarr.Array, text string) (*zarr.View, error) {
	return inner.Select(ctx, a, text)
}

// Lookup selects elements along a dimension by the values of its [Coordinate].
// [selection.Parser] calls such a function to parse time=2024-01-15.
//
// A single value selects the nearest element, as in pandas and xarray. A value beyond
// the ends of the coordinate is an error if it is farther from the nearest element than
// that is from its neighbour. A month or a year selects all elements in it. A range
// includes both bounds, and the coordinate must rise or fall. Text selects the equal
// element. Times are dates in the calendar of the coordinate. Durations are written as
// 6h or 1d12h.
//
// If no element matches or a value is malformed, the error wraps
// [zarr.ErrInvalidArgument]. If no element is in a range, a month or a year, it wraps
// [ErrEmptyRange].
func Lookup(ctx context.Context, a *zarr.Array, dimension string, v selection.Values) (selection.Item, error) {
	return inner.Lookup(ctx, a, dimension, v)
}

// Coordinate opens the coordinate of a dimension of an array: the array with one axis
// that has the name of the dimension, in the same group or in the nearest group above.
// The caller closes it. If there is no coordinate, or if it does not fit the dimension,
// the error wraps [zarr.ErrInvalidArgument]. If the coordinate has more than 16,777,216
// elements, the hours of 1,900 years, the error wraps [zarr.ErrLimit].
func Coordinate(ctx context.Context, a *zarr.Array, dimension string) (*zarr.Array, error) {
	return inner.Coordinate(ctx, a, dimension)
}

// Instants reads the times of a coordinate and returns them with their calendar. ok is
// false if the elements are not times, or if one of them has no value.
func Instants(ctx context.Context, c *zarr.Array) (at []calendar.Instant, in calendar.Calendar, ok bool, err error) {
	return inner.Instants(ctx, c)
}

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
