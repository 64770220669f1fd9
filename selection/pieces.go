// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"iter"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strided"
)

// Pieces yields what r selects chunk by chunk, in C order of the chunks. from selects
// elements of one chunk from the array. to selects the places where these go from the
// block that r makes. Both have the same shape: that of a part of the block, or one axis
// of points.
func (r *Resolved) Pieces(g *grid.Grid) iter.Seq2[*Resolved, *Resolved] {
	return func(yield func(from, to *Resolved) bool) {
		p := &pieces{Resolved: r, shape: r.Shape(), cell: grid.NewChunk(g.Rank())}
		v := NewVisit(g.Rank())
		for plan := NewPlan(r, g); plan.Next(v); {
			g.Cell(v.Chunk, p.cell)
			if !yield(p.of(v)) {
				return
			}
		}
	}
}

type pieces struct {
	*Resolved
	shape []int64 // of the block
	cell  *grid.Chunk
}

func (p *pieces) of(v *Visit) (from, to *Resolved) {
	if v.Picks != nil && v.Picks.Points != nil {
		return p.ofPoints(v.Picks.Points)
	}
	// Keep the fields and the order of axes of the whole selection.
	f := *p.Resolved
	f.count, f.axes = v.Len(), slices.Clone(p.axes)
	to = &Resolved{source: p.shape, count: f.count}
	places := make([]axis, len(p.axes))
	for i := range p.axes {
		f.axes[i], places[i] = p.along(v, i)
	}
	for _, i := range p.Axes() {
		to.axes = append(to.axes, places[i])
	}
	return &f, to
}

// along returns what a visit takes along an axis, and the places where it goes.
func (p *pieces) along(v *Visit, i int) (from, to axis) {
	a := p.axes[i]
	if a.list == nil {
		from = axis{v.Start[i] + p.cell.Start[i], a.step, v.Count[i], a.flip, a.drop, nil}
		to = axis{start: v.Place[i], step: 1, count: v.Count[i]}
		// A visit counts places forwards, the block backwards.
		if a.flip {
			to.start = a.count - to.start - to.count
		}
		return from, to
	}
	l := v.Picks.Lists[i]
	// The list is sorted by element. In order of the places it is a selection again.
	places := slices.Sorted(slices.Values(l.Place))
	given := make([]int64, len(places))
	for k, place := range places {
		given[k] = a.list.given[place]
	}
	return axisOf(given), axisOf(places)
}

func (p *pieces) ofPoints(list []strided.Point) (from, to *Resolved) {
	n := int64(len(list))
	rank := len(p.source)
	of := func(rank int) *points {
		o := &points{shape: []int64{n}, coords: make([]coords, rank)}
		for i := range o.coords {
			o.coords[i] = coords{data: make([]int64, n), strides: []int64{1}}
		}
		return o
	}
	f, t := of(rank), of(len(p.shape))
	for k, point := range list {
		unravel(f, k, point.At, p.cell.Encoded, p.cell.Start)
		unravel(t, k, point.Place, p.shape, nil)
	}
	f.measure()
	t.measure()
	out := *p.Resolved
	out.mask, out.points, out.count = nil, f, n
	return &out, &Resolved{source: p.shape, points: t, count: n}
}

// unravel sets point k to the element with the given number in C order within a block.
// The block has the given shape and begins at start, or at the origin if start is nil.
func unravel(p *points, k int, number int64, shape, start []int64) {
	for i := len(shape) - 1; i >= 0; i-- {
		at := number % shape[i]
		if start != nil {
			at += start[i]
		}
		p.coords[i].data[k] = at
		number /= shape[i]
	}
}

// measure sets the bounds of the points along every axis.
func (p *points) measure() {
	for i := range p.coords {
		c := &p.coords[i]
		c.least, c.most = slices.Min(c.data), slices.Max(c.data)
	}
}

// Scatter copies a block with the shape of the selection to the selected elements of dst.
// dst is an array of the shape that the selection was resolved for.
func (r *Resolved) Scatter(dst, src strided.View) error {
	if r.count == 0 {
		return nil
	}
	// The array is treated as a grid with a single chunk.
	g, err := grid.Regular(r.source, r.source)
	if err != nil {
		return err
	}
	src = r.Place(src)
	dst.Heap = nil // references are copied as they are
	rank := len(r.source)
	v := NewVisit(rank)
	for plan := NewPlan(r, g); plan.Next(v); {
		to, from := v.InChunk(dst, make([]int64, rank)), v.InBlock(src, make([]int64, rank))
		if v.Picks == nil {
			strided.Copy(to, from)
		} else {
			v.Picks.Scatter(to, from)
		}
	}
	return nil
}
