// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/selection"
)

// ReadStrided is [Read] into memory with another layout than C order. The element at
// index i of the selected block goes to dst[Σ i[k]*strides[k]]. strides has one stride
// for each axis of the block, in elements. Strides must not be negative; a selection with
// a negative step reverses an axis. Other elements of dst do not change. For example,
// this fills a column of a table:
//
//	zarr.ReadStrided(ctx, a, sel, table[column:], []int64{columns})
//
// Text, byte strings, times and durations support C order only. If two elements would
// have the same place, the error wraps [ErrInvalidArgument]. After an error the content
// of these places is undefined.
func ReadStrided[T dtype.Element](ctx context.Context, from Elements, sel selection.Selection, dst []T, strides []int64) error {
	t, err := from.of(sel)
	if err != nil {
		return t.fail("read", err)
	}
	return t.fail("read", t.read(ctx, unconverted[T], false, func(r *snapshot.Selected) (strided.View, error) {
		// Chunks are decoded concurrently, so two elements in one place would be a data
		// race.
		if len(strides) == len(r.Shape()) && !snapshot.Apart(r.Shape(), strides) {
			return strided.View{}, fault.Argument("strides %d give several elements of shape %v the same place", strides, r.Shape())
		}
		return r.Strided(element.Buffer{Type: r.Type, Data: element.Bytes(dst)}, strides)
	}))
}

// WriteStrided is [Write] from memory with another layout than C order, as [ReadStrided]
// describes it. A stride of 0 repeats the elements along that axis, like broadcasting in
// NumPy.
func WriteStrided[T dtype.Element](ctx context.Context, to Elements, sel selection.Selection, src []T, strides []int64) error {
	t, err := to.of(sel)
	if err != nil {
		return t.fail("write", err)
	}
	return t.fail("write", t.writeView(ctx, element.Check[T], func(r *snapshot.Selected) (strided.View, error) {
		e, err := element.From(r.Type, r.Heap, src)
		if err == nil {
			// Check the whole slice: elements between the strides are checked, too.
			err = element.CheckValues(e)
		}
		if err != nil {
			return strided.View{}, err
		}
		return r.Strided(e, strides)
	}))
}

// unconverted returns an error if values of type T must be converted to become elements.
func unconverted[T dtype.Element](t dtype.Type) error {
	if element.Native[T](t) || !element.Converted[T](t) {
		return element.Check[T](t)
	}
	var zero T
	return fault.Argument("elements of %s can be read as %T in C order only (Read, ReadInto)", t, zero)
}
