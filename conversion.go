// SPDX-License-Identifier: Apache-2.0

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
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/selection"
)

// Real is the constraint for Go types that [ReadAs] and [WriteAs] convert to and from.
type Real interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// ReadAs is [Read] with a conversion of numbers to T. Integers convert to integers of any
// size, if every value fits. Integers and floats convert to float32 and float64, rounded
// to nearest, ties to even; so small floats convert to float32 exactly. Floats do not
// convert to integers, and types that are not real numbers do not convert.
//
// If T cannot hold a value, such as 300 in a uint8 or 1e300 in a float32, the error wraps
// [ErrInvalidArgument] and names the first such value.
//
// A large selection is read in parts of about 32 MiB, one after the other. If another
// writer changes the array meanwhile, the parts may be of different versions.
func ReadAs[T Real](ctx context.Context, from Elements, sel selection.Selection) (Block[T], error) {
	// No conversion is needed, so read directly into the block.
	if element.Native[T](typeOf(from, sel)) {
		return Read[T](ctx, from, sel)
	}
	var b Block[T]
	t, err := from.of(sel)
	if err == nil {
		b, err = readAs[T](ctx, t)
	}
	if err != nil {
		return Block[T]{}, t.fail("read", err)
	}
	return b, nil
}

// typeOf returns the data type of the selected elements, or the zero Type if the
// selection cannot be resolved.
func typeOf(from Elements, sel selection.Selection) dtype.Type {
	t, err := from.of(sel)
	if err != nil {
		return dtype.Type{}
	}
	r, err := t.at.Resolve(t.sel, nil)
	if err != nil {
		return dtype.Type{}
	}
	return r.Type
}

// convertedBytes is the size of the parts in which elements are converted.
const convertedBytes = 32 << 20

func readAs[T Real](ctx context.Context, t target) (Block[T], error) {
	r, err := t.at.Resolve(t.sel, nil)
	if err != nil {
		return Block[T]{}, err
	}
	convert, err := element.Conversion(r.Type, dtype.Of[T]())
	if err != nil {
		return Block[T]{}, err
	}
	var zero T
	if r.Len() > t.options.Limits.block()/int64(unsafe.Sizeof(zero)) {
		return Block[T]{}, fmt.Errorf("%w: a block of shape %v ("+remedy.LimitsBlock+"); read a part of it", ErrLimit, r.Shape())
	}
	b := newBlock[T](r)
	rest := b.Data
	var room []byte
	for slab := range r.Slabs(t.at.Grid, r.Size(), convertedBytes) {
		n, _ := slab.Len() // a part of what was counted
		size := int(n * r.Size())
		room = slices.Grow(room[:0], size)[:size]
		same := func(part *snapshot.Selected) (strided.View, error) {
			if part.Type != r.Type {
				// Another process replaced the array by one of another data type between
				// two parts.
				return strided.View{}, ErrConflict
			}
			return part.View(element.Buffer{Type: r.Type, Data: room})
		}
		// A part is bound to the indices of the whole selection, so it does not move if
		// the array grows between two parts.
		if err := t.part(r.Part(slab)).read(ctx, nil, false, same); err != nil {
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

// misfit returns the error for an element that another type cannot hold.
func misfit(r *snapshot.Selected, place int, elem []byte, to dtype.Type) error {
	return fault.Argument("element %d of the selection, %s, does not fit %s", number.Index(r.Shape(), place), r.Type.AppendText(nil, elem), to)
}

// WriteAs is [Write] with a conversion of numbers from T to the data type of the array,
// by the rules of [ReadAs]. All values are checked before one is stored.
func WriteAs[T Real](ctx context.Context, to Elements, sel selection.Selection, src []T) error {
	if element.Native[T](typeOf(to, sel)) {
		return Write(ctx, to, sel, src)
	}
	t, err := to.of(sel)
	if err == nil {
		err = writeAs(ctx, t, src)
	}
	return t.fail("write", err)
}

func writeAs[T Real](ctx context.Context, t target, src []T) error {
	r, err := t.at.Resolve(t.sel, nil)
	if err != nil {
		return err
	}
	convert, err := element.Conversion(dtype.Of[T](), r.Type)
	if err != nil {
		return err
	}
	if int64(len(src)) != r.Len() {
		return fault.Argument("%s for a selection of shape %v, which has %d", quantity.Count(len(src), "values"), r.Shape(), r.Len())
	}
	// Convert everything once without storing it, so that a value that does not fit is
	// found before anything is stored.
	room := make([]byte, min(r.Len()*r.Size(), convertedBytes+r.Size()))
	step := len(room) / int(r.Size())
	for from := 0; from < len(src); from += step {
		part := src[from:min(from+step, len(src))]
		if at := convert(room[:len(part)*int(r.Size())], element.Bytes(part)); at >= 0 {
			one := dtype.Of[T]().AppendText(nil, element.Bytes(part[at:at+1]))
			return fault.Argument("value %d, %s, does not fit %s", number.Index(r.Shape(), from+at), one, r.Type)
		}
	}
	for slab := range r.Slabs(t.at.Grid, r.Size(), convertedBytes) {
		n, _ := slab.Len()
		data := slices.Grow(room[:0], int(n*r.Size()))[:n*r.Size()]
		convert(data, element.Bytes(src[:n]))
		// Exactly refuses the data if another process has replaced the array by one of
		// another type of the same size.
		err := t.part(r.Part(slab)).writeView(ctx, snapshot.Exactly(r.Type), func(part *snapshot.Selected) (strided.View, error) {
			return part.CheckedView(element.Buffer{Type: r.Type, Data: data})
		})
		if err != nil {
			return err
		}
		src = src[n:]
	}
	return nil
}

// ReadStructs returns selected structs as a block of Go structs. A tag of a field of T
// names the field of the elements that it belongs to:
//
//	type Station struct {
//		ID   int32      `zarr:"id"`
//		Name string     `zarr:"name"` // fixed_length_utf32 or null_terminated_bytes
//		Seen time.Time  `zarr:"seen"` // numpy.datetime64; NaT is the zero Time
//		At   struct {
//			X, Y float64 // without a tag: not changed
//			Lon  float32 `zarr:"lon"`
//		} `zarr:"at"`
//	}
//
// Every field of the elements needs a field of T; to read only some, select them
// ([selection.Fields]). A single selected field is no struct: use [Read]. The order of
// fields in T does not matter. A field of T has the Go type of the element's field, or
// a type that is defined as it. In addition, float32 takes shorter floats, time.Time
// and time.Duration take times and durations, string takes text of fixed size, and
// []byte or an array of the same size takes raw bytes. An array also takes a struct
// with fields "0", "1" and so on. Array fields of format 2 are read as such structs.
//
// If T does not fit, the error wraps [ErrInvalidArgument] and names the field. So does an
// element that no time.Time or time.Duration can hold. A large selection is read in
// parts, like [ReadAs] does.
func ReadStructs[T any](ctx context.Context, from Elements, sel selection.Selection) (Block[T], error) {
	t, err := from.of(sel)
	var b Block[T]
	if err == nil {
		b, err = readStructs[T](ctx, t)
	}
	if err != nil {
		return Block[T]{}, t.fail("read", err)
	}
	return b, nil
}

func readStructs[T any](ctx context.Context, t target) (b Block[T], err error) {
	r, err := t.at.Resolve(t.sel, nil)
	if err != nil {
		return b, err
	}
	l, err := element.LayoutOf[T](r.Type)
	if err != nil {
		return b, err
	}
	if r.Len() > t.options.Limits.block()/int64(max(1, l.Size)) {
		return b, fmt.Errorf("%w: a block of shape %v ("+remedy.LimitsBlock+"); read a part of it", ErrLimit, r.Shape())
	}
	b = newBlock[T](r)
	var room []byte
	done := int64(0)
	for slab := range r.Slabs(t.at.Grid, r.Size(), convertedBytes) {
		n, _ := slab.Len() // a part of what was counted
		room = slices.Grow(room[:0], int(n*r.Size()))[:n*r.Size()]
		// The layout is valid for this type only. Another process may replace the array
		// between two parts.
		err := t.part(r.Part(slab)).read(ctx, snapshot.Exactly(r.Type), false, func(part *snapshot.Selected) (strided.View, error) {
			return part.View(element.Buffer{Type: r.Type, Data: room})
		})
		if err != nil {
			return b, err
		}
		if at, err := l.Load(element.MemoryOf(b.Data[done:done+n]), room); err != nil {
			return b, fault.Argument("element %d of the selection: %v", number.Index(r.Shape(), int(done)+at), err)
		}
		done += n
	}
	return b, nil
}

// WriteStructs stores Go structs as the selected elements, in C order. Fields are matched
// as in [ReadStructs]. All values are checked before one is stored: if a text is too long
// or a time does not fit, the error wraps [ErrInvalidArgument] and names the value.
func WriteStructs[T any](ctx context.Context, to Elements, sel selection.Selection, src []T) error {
	t, err := to.of(sel)
	if err == nil {
		err = t.writeView(ctx, nil, func(r *snapshot.Selected) (strided.View, error) {
			if int64(len(src)) != r.Len() {
				return strided.View{}, fault.Argument("%s for a selection of shape %v, which has %d", quantity.Count(len(src), "values"), r.Shape(), r.Len())
			}
			e, err := structsOf(r.Type, src, r.Shape())
			if err != nil {
				return strided.View{}, err
			}
			return r.CheckedView(e)
		})
	}
	return t.fail("write", err)
}

// AppendStructs is [Append] for Go structs. Fields are matched as in [ReadStructs], and
// all values are checked before one is stored, as by [WriteStructs].
func AppendStructs[T any](ctx context.Context, a *Array, axis int, src []T, opt *AppendOptions) error {
	e, err := structsOf(a.Type(), src, []int64{int64(len(src))})
	if err == nil {
		err = a.append(ctx, axis, snapshot.Gain{Buffer: e}, opt.orZero())
	}
	return a.fail("append", err)
}

// structsOf converts Go structs to elements, before the first chunk is written: an
// invalid value changes nothing. shape is that of src, for errors.
func structsOf[T any](t dtype.Type, src []T, shape []int64) (element.Buffer, error) {
	l, err := element.LayoutOf[T](t)
	if err != nil {
		return element.Buffer{}, err
	}
	elems := make([]byte, len(src)*t.Size())
	if at, err := l.Store(elems, element.MemoryOf(src)); err != nil {
		return element.Buffer{}, fault.Argument("value %d: %v", number.Index(shape, at), err)
	}
	return element.Buffer{Type: t, Data: elems}, nil
}
