package zarr

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
)

// Difference is where two arrays first differ.
type Difference struct {
	What  string  // "shape", "data type" or "element"
	Index []int64 // of the element, the first one in C order; nil for all else
	A, B  string  // what either array has; elements are written as fill values in metadata
}

// String returns the difference as one line.
func (d *Difference) String() string {
	if d.Index == nil {
		return fmt.Sprintf("the %s differs: %s and %s", d.What, d.A, d.B)
	}
	return fmt.Sprintf("element %v differs: %s and %s", d.Index, d.A, d.B)
}

// comparedBytes is how much is read of either array at a time.
const comparedBytes = 32 << 20

// Compare returns where two arrays first differ in shape, data type or elements, or nil where they do not. Elements are equal
// when their bits are, so that a NaN equals itself and -0.0 is not 0.0. How the arrays are cut, coded and described
// makes no difference. Both are streamed, a few chunks at a time.
func Compare(ctx context.Context, a, b *Array) (*Difference, error) {
	if s, t := a.Shape(), b.Shape(); !slices.Equal(s, t) {
		return &Difference{What: "shape", A: fmt.Sprint(s), B: fmt.Sprint(t)}, nil
	}
	if s, t := a.Type(), b.Type(); s != t {
		return &Difference{What: "data type", A: s.String(), B: t.String()}, nil
	}
	r, err := a.Select(nil)
	if err != nil {
		return nil, err
	}
	if a.Type().Variable() {
		return compareVariable(ctx, a, b, r)
	}
	var data [2][]byte
	size := int64(a.Type().Size())
	for slab := range r.Slabs(a.Grid(), size, comparedBytes) {
		n, _ := slab.Len() // a part of what Select has counted
		for i, array := range []*Array{a, b} {
			data[i] = slices.Grow(data[i][:0], int(n*size))[:n*size]
			if err := array.ReadBytes(ctx, selection.Region(slab), data[i]); err != nil {
				return nil, err
			}
		}
		if !bytes.Equal(data[0], data[1]) {
			return differenceWithin(a, slab, data), nil
		}
	}
	return nil, nil
}

// compareVariable is Compare of arrays whose elements differ in length.
func compareVariable(ctx context.Context, a, b *Array, r *selection.Resolved) (*Difference, error) {
	for slab := range r.Slabs(a.Grid(), likelyBytes, comparedBytes) {
		x, err := Read[[]byte](ctx, a, selection.Region(slab))
		if err != nil {
			return nil, err
		}
		y, err := Read[[]byte](ctx, b, selection.Region(slab))
		if err != nil {
			return nil, err
		}
		i := 0
		for index := range slab.Indices() {
			if !bytes.Equal(x.Data[i], y.Data[i]) {
				text := func(elem []byte) string { return string(a.Type().AppendJSON(nil, elem)) }
				return &Difference{What: "element", Index: slices.Clone(index), A: text(x.Data[i]), B: text(y.Data[i])}, nil
			}
			i++
		}
	}
	return nil, nil
}

// likelyBytes is how many bytes an element that may have any number of them is taken to have.
const likelyBytes = 64

// differenceWithin finds the first difference of two blocks that differ.
func differenceWithin(a *Array, slab grid.Box, data [2][]byte) *Difference {
	t := a.Type()
	size := t.Size()
	index := make([]int64, len(slab))
	slab.First(index)
	at := 0
	for bytes.Equal(data[0][at:at+size], data[1][at:at+size]) {
		at += size
		slab.Next(index)
	}
	text := func(i int) string { return string(t.AppendJSON(nil, data[i][at:at+size])) }
	return &Difference{What: "element", Index: index, A: text(0), B: text(1)}
}
