// SPDX-License-Identifier: Apache-2.0

package input

import (
	"context"
	"errors"

	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/grid"
)

// CheckAxes returns an error if the values are those of another array whose axes have
// other names, another order or other coordinates than the place of the values. Axis
// grown of the place gets new labels; -1 stands for none.
func (v *Values) CheckAxes(ctx context.Context, to zarr.Elements, grown int) error {
	if v.array == nil {
		return nil
	}
	err := cf.CheckAxes(ctx, v.array, to, pairsOf(v.array.Shape(), to.Shape(), grown)...)
	if !errors.Is(err, zarr.ErrInvalidArgument) {
		return err
	}
	const text = "%s has other axes than the place of its values: %w; store it in the order and with the labels of that place first, " +
		"or take bare numbers by way of a file: varve export %s -o FILE.npy"
	var axis *grid.AxisError
	if errors.As(err, &axis) {
		return failure.OnAxis(axis.Axis, text, v.Name, axis.Err, phrase.Word(v.Name))
	}
	return failure.BadArgument(text, v.Name, err, phrase.Word(v.Name))
}

// CheckSegment is [Values.CheckEncoding] and [Values.CheckAxes] for all elements of an
// array that continue another one.
func CheckSegment(ctx context.Context, name string, from, to *zarr.Array, grown int) error {
	v := &Values{array: from, Name: name, Type: from.Type()}
	if err := v.CheckEncoding(ctx, to); err != nil {
		return err
	}
	return v.CheckAxes(ctx, to, grown)
}

// pairsOf returns which axes of a shape go to which axes of a place. A single plane may
// lack the axis that grows; otherwise axes of length 1 may be missing on either side. It
// returns nil if the values are a list, whose axes are not known.
func pairsOf(have, place []int64, grown int) (pairs []cf.AxisPair) {
	from, to := axesOf(have, -1, false), axesOf(place, -1, false)
	switch {
	case len(from) == len(to):
	case grown >= 0 && len(from) == len(to)-1:
		to = axesOf(place, grown, false)
	default:
		from, to = axesOf(have, -1, true), axesOf(place, -1, true)
	}
	if len(from) != len(to) {
		return nil
	}
	for i := range from {
		pairs = append(pairs, cf.AxisPair{From: from[i], To: to[i], Grows: to[i] == grown})
	}
	return pairs
}

// axesOf returns the numbers of the axes of a shape, without one of them, and perhaps
// without those of length 1.
func axesOf(shape []int64, without int, long bool) (axes []int) {
	for i, n := range shape {
		if i != without && (n != 1 || !long) {
			axes = append(axes, i)
		}
	}
	return axes
}
