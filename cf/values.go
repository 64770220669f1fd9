// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"context"
	"time"

	"varve.dev/zarr"
	inner "varve.dev/zarr/internal/cf"
	"varve.dev/zarr/selection"
)

// ReadFloats reads the selected elements and unpacks them. Missing elements are NaN. If
// elements are not numbers, or an attribute is malformed, the error wraps
// [zarr.ErrInvalidArgument]. ReadFloats allocates memory for both the stored elements
// and the result.
func ReadFloats(ctx context.Context, from zarr.Elements, sel selection.Selection) (zarr.Block[float64], error) {
	return inner.ReadFloats(ctx, from, sel)
}

// ReadTimes reads the selected elements of an array of times: numbers whose units count
// from an epoch, or datetime64. Missing elements are the zero Time. The error wraps
// [zarr.ErrInvalidArgument] if the elements are not times, or if [time.Time] lacks the
// days of their calendar or the year of an element.
func ReadTimes(ctx context.Context, from zarr.Elements, sel selection.Selection) (zarr.Block[time.Time], error) {
	return inner.ReadTimes(ctx, from, sel)
}

// WriteFloats packs numbers as the attributes of an array describe, and stores them. A
// stored number is (value - add_offset) / scale_factor, rounded to the nearest integer
// if elements are integers. NaN becomes the missing value. src holds the selected
// elements in C order.
//
// WriteFloats stores nothing if a number does not fit the type of the elements, if a
// number would be stored as the missing value, or if an integer array has no missing
// value for a NaN. Then the error wraps [zarr.ErrInvalidArgument].
func WriteFloats(ctx context.Context, to zarr.Elements, sel selection.Selection, src []float64) error {
	return inner.WriteFloats(ctx, to, sel, src)
}
