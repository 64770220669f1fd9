// SPDX-License-Identifier: Apache-2.0

// Package comparison finds the first difference of two arrays.
package comparison

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
	"varve.dev/zarr/strided"
)

const (
	// comparedBytes bounds the bytes that are read of each array at a time.
	comparedBytes = 32 << 20
	// comparedChunks bounds the chunks that are read of each array at a time. It matters
	// for tiny chunks: the first slab may already show a difference.
	comparedChunks = 1 << 12
)

// Array is an array to compare.
type Array struct {
	// State returns the known state of the array.
	State func() *snapshot.Array
	// Fresh returns the newest state, or s if that is the newest.
	Fresh func(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error)
	// Read reads the elements of a box, of fixed size, in C order.
	Read func(ctx context.Context, box grid.Box, dst []byte) error
	// Elements returns the elements of a box, of variable length.
	Elements func(ctx context.Context, box grid.Box) (element.Buffer, error)
	// Complete means that a missing chunk is an error.
	Complete bool
}

// Difference is the first element that differs, in C order.
type Difference struct {
	Index []int64
	A, B  string // the elements in the JSON form of fill values
}

// Compare returns the first difference of the elements of two arrays of one shape and
// type, or nil.
func Compare(ctx context.Context, a, b Array) (*Difference, error) {
	c := &comparison{a: a, b: b, typ: a.State().Type}
	return c.run(ctx)
}

// comparison compares the elements of two arrays of one shape and type.
type comparison struct {
	a, b Array
	typ  dtype.Type
	data [2][]byte // buffers for one box of each
}

// run compares the boxes that may differ, in the C order of their first elements.
func (c *comparison) run(ctx context.Context) (*Difference, error) {
	s := c.a.State()
	r, err := s.Resolve(nil, nil)
	if err != nil {
		return nil, err
	}
	boxes, sparse, err := c.stored(ctx)
	if err != nil {
		return nil, err
	}
	if !sparse {
		boxes = r.Slabs(s.Grid, c.width(), c.slab())
	}
	var first *Difference
	for box := range boxes {
		// Tiles overlap in C order. A later tile may still have an earlier difference,
		// unless even its first element comes later.
		if first != nil && slices.Compare(corner(box), first.Index) >= 0 {
			break
		}
		d, err := c.within(ctx, box)
		if err != nil {
			return nil, err
		}
		if first == nil || d != nil && slices.Compare(d.Index, first.Index) < 0 {
			first = d
		}
	}
	return first, ctx.Err()
}

// corner returns the first index of a box.
func corner(box grid.Box) []int64 {
	index := make([]int64, len(box))
	box.First(index)
	return index
}

// width returns the bytes of an element, or an estimate for elements of variable length.
func (c *comparison) width() int64 {
	if c.typ.Variable() {
		return likelyBytes
	}
	return int64(c.typ.Size())
}

// slab returns the number of bytes that are read of each array at a time.
func (c *comparison) slab() int64 {
	n := int64(comparedBytes)
	for _, g := range []*grid.Grid{c.a.State().Grid, c.b.State().Grid} {
		bytes := comparedChunks * c.width()
		for i := range g.Rank() {
			longest := g.Axis(i).Longest(grid.Interval{Stop: g.Axis(i).Chunks()})
			// The factor is bounded, so bytes never exceeds n.
			bytes *= max(1, min(longest, n/bytes))
		}
		n = min(n, bytes)
	}
	return n
}

// within returns the first difference within a box.
func (c *comparison) within(ctx context.Context, box grid.Box) (*Difference, error) {
	if c.typ.Variable() {
		return c.withinVariable(ctx, box)
	}
	n, _ := box.Len() // cannot overflow: Select counted the whole array
	n *= c.width()
	for i, array := range []Array{c.a, c.b} {
		c.data[i] = slices.Grow(c.data[i][:0], int(n))[:n]
		if err := array.Read(ctx, box, c.data[i]); err != nil {
			return nil, err
		}
	}
	if !bytes.Equal(c.data[0], c.data[1]) {
		return differenceWithin(c.typ, box, c.data), nil
	}
	return nil, nil
}

// withinVariable is within for elements of variable length. It compares them in the
// decoded chunks, and releases the memory before the next box.
func (c *comparison) withinVariable(ctx context.Context, box grid.Box) (*Difference, error) {
	x, err := c.a.Elements(ctx, box)
	if err != nil {
		return nil, err
	}
	defer x.Heap.Release()
	y, err := c.b.Elements(ctx, box)
	if err != nil {
		return nil, err
	}
	defer y.Heap.Release()
	at := 0
	for index := range box.IndicesInto(make([]int64, len(box))) {
		// References of two heaps differ even for equal elements.
		if p, q := x.Heap.Bytes(x.Data[at:]), y.Heap.Bytes(y.Data[at:]); !bytes.Equal(p, q) {
			text := func(elem []byte) string { return string(c.typ.AppendJSON(nil, elem)) }
			return &Difference{Index: slices.Clone(index), A: text(p), B: text(q)}, nil
		}
		at += strided.RefSize
	}
	return nil, nil
}

// likelyBytes is the assumed size of an element of variable length.
const likelyBytes = 64

// differenceWithin finds the first difference of two blocks that differ.
func differenceWithin(t dtype.Type, slab grid.Box, data [2][]byte) *Difference {
	size := t.Size()
	index := make([]int64, len(slab))
	slab.First(index)
	at := 0
	for bytes.Equal(data[0][at:at+size], data[1][at:at+size]) {
		at += size
		slab.Next(index)
	}
	text := func(i int) string { return string(t.AppendJSON(nil, data[i][at:at+size])) }
	return &Difference{Index: index, A: text(0), B: text(1)}
}

// stored returns, in C order, the tiles for which either array stores a chunk. It also
// reports whether comparing these is enough: both arrays have the same fill value, and
// few tiles are stored.
//
// Otherwise the arrays are compared as a whole. This always ends: if the fill values
// differ, then at the latest at the first element that neither array stores. Otherwise
// the elements are few, or at most sparseTiles times the stored ones.
func (c *comparison) stored(ctx context.Context) (boxes iter.Seq[grid.Box], sparse bool, err error) {
	for range tries {
		x, y := c.a.State(), c.b.State()
		t := tilesOf(comparedBytes/c.width(), x.Grid, y.Grid)
		// A missing chunk equals a missing chunk only if both arrays read it as the same
		// value.
		if t.len() <= fewTiles || c.a.Complete || c.b.Complete || !slices.Equal(x.Fill, y.Fill) {
			return nil, false, nil
		}
		numbers, sparse, err := t.ofStored(ctx, x, y)
		if errors.Is(err, store.ErrUnsupported) {
			return nil, false, visitable(x, y)
		}
		if err != nil {
			return nil, false, err
		}
		// A concurrent writer may have published another grid, whose chunks have other
		// keys.
		nowX, errX := c.a.Fresh(ctx, x)
		nowY, errY := c.b.Fresh(ctx, y)
		if err := errors.Join(errX, errY); err != nil {
			return nil, false, err
		}
		if nowX == x && nowY == y {
			return func(yield func(grid.Box) bool) {
				for _, number := range numbers {
					if !yield(t.box(number)) {
						return
					}
				}
			}, sparse, nil
		}
	}
	return nil, false, errUnsettled
}

// tries bounds how often the tiles are listed again because an array changed.
const tries = 16

// errUnsettled is the error if an array changed in each attempt.
var errUnsettled = fmt.Errorf("%w each time it was listed", store.ErrConflict)
