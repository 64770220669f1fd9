package zarr

import (
	"context"
	"fmt"
	"slices"
	"unsafe"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/number"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/strided"
)

// Real is the constraint of Go types of real numbers, which numbers of other types can be
// converted to and from when that is asked for.
type Real interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// ReadAs is [Read] with the numbers converted to T: integers of any width to integers,
// where every value fits; integers and floats of any width to float32 and float64,
// rounded to the nearest, ties to even. So small floats are read as float32, exactly. A
// value that T cannot hold, such as 300 for a uint8, or 1e300 for a float32, wraps
// [ErrInvalidArgument], and the message names the first. Floats are not read as integers,
// and nothing that is no real number is converted.
//
// What is large is read in parts of some 32 MiB, one after the other: they may be of
// different moments where somebody writes meanwhile.
func ReadAs[T Real](ctx context.Context, from Elements, sel selection.Selection) (Block[T], error) {
	if element.Native[T](typeOf(from, sel)) {
		return Read[T](ctx, from, sel)
	}
	var b Block[T]
	a, sel, err := from.of(sel)
	if err == nil {
		b, err = readAs[T](ctx, a, sel)
	}
	if err != nil {
		return Block[T]{}, a.fail("read", err)
	}
	return b, nil
}

// typeOf returns the data type of what is selected, the zero Type where that is not
// known.
func typeOf(from Elements, sel selection.Selection) dtype.Type {
	a, sel, err := from.of(sel)
	if err != nil {
		return dtype.Type{}
	}
	r, err := a.state.Load().Resolve(sel, nil)
	if err != nil {
		return dtype.Type{}
	}
	return r.Type
}

// convertedBytes is how much is converted at a time.
const convertedBytes = 32 << 20

func readAs[T Real](ctx context.Context, a *Array, sel selection.Selection) (Block[T], error) {
	r, err := a.state.Load().Resolve(sel, nil)
	if err != nil {
		return Block[T]{}, err
	}
	convert, err := element.Conversion(r.Type, dtype.Of[T]())
	if err != nil {
		return Block[T]{}, err
	}
	var zero T
	if r.Len() > a.options.Limits.block()/int64(unsafe.Sizeof(zero)) {
		return Block[T]{}, fmt.Errorf("%w: a block of shape %v (Limits.Block); read a part of it", ErrLimit, r.Shape())
	}
	b := newBlock[T](r)
	rest := b.Data
	var room []byte
	for slab := range r.Slabs(a.Grid(), r.Size(), convertedBytes) {
		n, _ := slab.Len() // a part of what was counted
		size := int(n * r.Size())
		room = slices.Grow(room[:0], size)[:size]
		same := func(part *snapshot.Selected) (strided.View, error) {
			if part.Type != r.Type {
				return strided.View{}, ErrConflict
			}
			return part.View(element.Buffer{Type: r.Type, Data: room})
		}
		if err := a.read(ctx, r.Part(slab), nil, false, same); err != nil {
			return Block[T]{}, err
		}
		if at := convert(element.Bytes(rest[:n]), room); at >= 0 {
			place := len(b.Data) - len(rest) + at
			return Block[T]{}, misfit(r, place, room[at*int(r.Size()):][:r.Size()], dtype.Of[T]())
		}
		rest = rest[n:]
	}
	return b, nil
}

// misfit says which value of a selection has no counterpart in another type.
func misfit(r *snapshot.Selected, place int, elem []byte, to dtype.Type) error {
	return fault.Argument("element %d of the selection, %s, does not fit %s", number.Index(r.Shape(), place), r.Type.AppendText(nil, elem), to)
}

// WriteAs is [Write] of numbers that are converted from T to the type of the array, by
// the rules of [ReadAs]. Every value is looked at before one is stored.
func WriteAs[T Real](ctx context.Context, to Elements, sel selection.Selection, src []T) error {
	if element.Native[T](typeOf(to, sel)) {
		return Write(ctx, to, sel, src)
	}
	a, sel, err := to.of(sel)
	if err == nil {
		err = writeAs(ctx, a, sel, src)
	}
	return a.fail("write", err)
}

func writeAs[T Real](ctx context.Context, a *Array, sel selection.Selection, src []T) error {
	r, err := a.state.Load().Resolve(sel, nil)
	if err != nil {
		return err
	}
	convert, err := element.Conversion(dtype.Of[T](), r.Type)
	if err != nil {
		return err
	}
	if int64(len(src)) != r.Len() {
		return fault.Argument("%d values for a selection of shape %v, which has %d", len(src), r.Shape(), r.Len())
	}
	// A part at a time, twice: what does not fit must not be found when half of it is
	// stored.
	room := make([]byte, min(r.Len()*r.Size(), convertedBytes+r.Size()))
	step := len(room) / int(r.Size())
	for from := 0; from < len(src); from += step {
		part := src[from:min(from+step, len(src))]
		if at := convert(room[:len(part)*int(r.Size())], element.Bytes(part)); at >= 0 {
			one := dtype.Of[T]().AppendText(nil, element.Bytes(part[at:at+1]))
			return fault.Argument("value %d, %s, does not fit %s", number.Index(r.Shape(), from+at), one, r.Type)
		}
	}
	for slab := range r.Slabs(a.Grid(), r.Size(), convertedBytes) {
		n, _ := slab.Len()
		data := slices.Grow(room[:0], int(n*r.Size()))[:n*r.Size()]
		convert(data, element.Bytes(src[:n]))
		err := a.writeView(ctx, r.Part(slab), snapshot.Exactly(r.Type), func(part *snapshot.Selected) (strided.View, error) {
			return part.CheckedView(element.Buffer{Type: r.Type, Data: data})
		})
		if err != nil {
			return err
		}
		src = src[n:]
	}
	return nil
}
