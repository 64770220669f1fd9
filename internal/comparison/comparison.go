// SPDX-License-Identifier: Apache-2.0

// Package comparison compares the values of whole arrays: it finds their first
// difference, and computes digests that are equal for equal values.
package comparison

import (
	"bytes"
	"context"
	"slices"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strided"
)

const (
	// comparedBytes bounds the bytes that are read of each array at a time.
	comparedBytes = 32 << 20
	// comparedChunks bounds the chunks that are read of each array at a time. It matters
	// for tiny chunks: the first slab may already show a difference.
	comparedChunks = 1 << 12
)

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
	states, boxes, sparse, err := stored(ctx, width(c.typ), c.a, c.b)
	if err != nil {
		return nil, err
	}
	if !sparse {
		most := c.most(states[0].Grid, states[1].Grid)
		boxes = ofBoth(states[0].Grid, states[1].Grid, most).boxes(most)
	}
	var first *Difference
	for box := range boxes {
		// Boxes overlap in C order. A later box may still have an earlier difference,
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

// most returns the number of elements that are read of each array at a time.
func (c *comparison) most(grids ...*grid.Grid) int64 {
	n := comparedBytes / width(c.typ)
	for _, g := range grids {
		elements := int64(comparedChunks)
		for i := range g.Rank() {
			longest := g.Axis(i).Longest(grid.Interval{Stop: g.Axis(i).Chunks()})
			// The factor is bounded, so elements never exceeds n.
			elements *= max(1, min(longest, n/elements))
		}
		n = min(n, elements)
	}
	return max(1, n)
}

// within returns the first difference within a box.
func (c *comparison) within(ctx context.Context, box grid.Box) (*Difference, error) {
	if c.typ.Variable() {
		return c.withinVariable(ctx, box)
	}
	n, _ := box.Len() // cannot overflow: Select counted the whole array
	n *= width(c.typ)
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
