package zarr

import (
	"context"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/strided"
)

// ReadStrided is [Read] into memory of another layout than C order: the element at index
// i of the selected block goes to dst[Σ i[k]*strides[k]]. There is a stride for every
// axis of the block, in elements and not negative (to turn an axis round, select it with
// a negative step). The rest of dst stays as it is. So a plane of a larger block, or a
// column of a table, is filled in place:
//
//	zarr.ReadStrided(ctx, a, sel, table[column:], []int64{columns})
//
// Text, byte strings, times and durations come in C order only. Strides that put several
// elements to one place wrap [ErrInvalidArgument]. After an error dst may hold anything
// at its places.
func ReadStrided[T dtype.Element](ctx context.Context, from Elements, sel selection.Selection, dst []T, strides []int64) error {
	a, sel, err := from.of(sel)
	if err != nil {
		return a.fail("read", err)
	}
	return a.fail("read", a.read(ctx, sel, asTheyStand[T], false, func(r *snapshot.Selected) (strided.View, error) {
		if len(strides) == len(r.Shape()) && !snapshot.Apart(r.Shape(), strides) {
			return strided.View{}, fault.Argument("strides %d put several elements of shape %v to one place", strides, r.Shape())
		}
		return r.Strided(element.Buffer{Type: r.Type, Data: element.Bytes(dst)}, strides)
	}))
}

// WriteStrided is [Write] of memory of another layout than C order, as [ReadStrided]
// describes it. A stride may be 0: the same elements are written all along that axis, as
// NumPy broadcasts them.
func WriteStrided[T dtype.Element](ctx context.Context, to Elements, sel selection.Selection, src []T, strides []int64) error {
	a, sel, err := to.of(sel)
	if err != nil {
		return a.fail("write", err)
	}
	return a.fail("write", a.writeView(ctx, sel, element.Check[T], func(r *snapshot.Selected) (strided.View, error) {
		e, err := element.From(r.Type, r.Heap, src)
		if err == nil {
			err = element.CheckValues(e)
		}
		if err != nil {
			return strided.View{}, err
		}
		return r.Strided(e, strides)
	}))
}

// asTheyStand refuses values that are something else in memory than the elements.
func asTheyStand[T dtype.Element](t dtype.Type) error {
	if element.Native[T](t) || !element.Converted[T](t) {
		return element.Check[T](t)
	}
	var zero T
	return fault.Argument("elements of %s come as %T in C order only (Read, ReadInto)", t, zero)
}
