package zarr

import (
	"context"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
)

// ReadStrided is [Read] into memory of another layout than C order: the element at index i of the selected block goes to
// dst[Σ i[k]*strides[k]]. There is a stride for every axis of the block, in elements and not negative (to turn an axis round, select
// it with a negative step). The rest of dst stays as it is. So a plane of a larger block, or a column of a table, is filled in
// place:
//
//	zarr.ReadStrided(ctx, a, sel, table[column:], []int64{columns})
//
// T is the very type of the elements: text and times, which are converted, go by [Read]. Strides that put several elements to one
// place wrap [ErrInvalidArgument]. After an error dst may hold anything at its places.
func ReadStrided[T dtype.Element](ctx context.Context, from Elements, sel selection.Selection, dst []T, strides []int64) error {
	a, sel, err := from.of(sel)
	if err == nil {
		err = readStrided(ctx, a, sel, dst, strides)
	}
	return a.fail("read", err)
}

func readStrided[T dtype.Element](ctx context.Context, a *Array, sel selection.Selection, dst []T, strides []int64) error {
	_, typ, err := forElements[T](a, sel)
	if err != nil {
		return err
	}
	if !native[T](typ) {
		return errStrided(typ)
	}
	return a.read(ctx, sel, typ, false, func(r *selected) (grid.View, error) {
		if len(strides) == len(r.Shape()) && !apart(r.Shape(), strides) {
			return grid.View{}, badArgument("strides %d put several elements of shape %v to one place", strides, r.Shape())
		}
		return r.strided(elements{typ: typ, data: bytesOf(dst)}, strides)
	})
}

// errStrided says that strides are for elements that are not converted.
func errStrided(t dtype.Type) error {
	return badArgument("elements of %s are converted, which is done in C order only: use Read and Write", t)
}

// WriteStrided is [Write] of memory of another layout than C order, as [ReadStrided] describes it. A stride may be 0: the same
// elements are written all along that axis, as NumPy broadcasts them.
func WriteStrided[T dtype.Element](ctx context.Context, to Elements, sel selection.Selection, src []T, strides []int64) error {
	a, sel, err := to.of(sel)
	if err == nil {
		err = writeStrided(ctx, a, sel, src, strides)
	}
	return a.fail("write", err)
}

func writeStrided[T dtype.Element](ctx context.Context, a *Array, sel selection.Selection, src []T, strides []int64) error {
	_, typ, err := forElements[T](a, sel)
	if err != nil {
		return err
	}
	if !native[T](typ) {
		return errStrided(typ)
	}
	return a.writeView(ctx, sel, typ, func(r *selected) (grid.View, error) {
		e := elements{typ: typ, data: bytesOf(src)}
		if err := checkValues(typ, e); err != nil {
			return grid.View{}, err
		}
		return r.strided(e, strides)
	})
}
