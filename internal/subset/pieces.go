// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"iter"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/strided"
)

// Pieces yields the selected elements chunk by chunk, in C order of the chunks. from
// selects elements of one chunk from the array. to selects the places where these go
// from the block that r makes. Both have the same shape: that of a part of the block,
// or one axis of points.
func (r *Elements) Pieces(g *grid.Grid) iter.Seq2[*Elements, *Elements] {
	return func(yield func(from, to *Elements) bool) {
		p := &pieces{Elements: r, shape: r.Shape(), cell: grid.NewChunk(g.Rank())}
		v := strided.NewVisit(g.Rank())
		for plan := NewPlan(r, g); plan.Next(v); {
			g.Cell(v.Chunk, p.cell)
			if !yield(p.piece(v)) {
				return
			}
		}
	}
}

type pieces struct {
	*Elements
	shape []int64 // of the block
	cell  *grid.Chunk
}

func (p *pieces) piece(v *strided.Visit) (from, to *Elements) {
	if v.Picks != nil && v.Picks.Points != nil {
		return p.ofPoints(v.Picks.Points)
	}
	// Keep the fields and the order of axes of the whole selection.
	f := *p.Elements
	f.count, f.axes = v.Len(), slices.Clone(p.axes)
	to = &Elements{source: p.shape, count: f.count}
	places := make([]Axis, len(p.axes))
	for i := range p.axes {
		f.axes[i], places[i] = p.along(v, i)
	}
	for _, i := range p.Axes() {
		to.axes = append(to.axes, places[i])
	}
	return &f, to
}

// along returns the elements of a visit along an axis, and their places in the block.
func (p *pieces) along(v *strided.Visit, i int) (from, to Axis) {
	a := p.axes[i]
	if a.list == nil {
		from = Axis{v.Start[i] + p.cell.Start[i], a.Step, v.Count[i], a.Flip, a.Drop, nil}
		to = Axis{Start: v.Place[i], Step: 1, Count: v.Count[i]}
		// A visit counts places forwards, the block backwards.
		if a.Flip {
			to.Start = a.Count - to.Start - to.Count
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
	return ListAxis(given), ListAxis(places)
}

func (p *pieces) ofPoints(list []strided.Point) (from, to *Elements) {
	n := int64(len(list))
	rank := len(p.source)
	of := func(rank int) *points {
		o := &points{shape: []int64{n}, coords: make([]Coords, rank)}
		for i := range o.coords {
			o.coords[i] = Coords{Data: make([]int64, n), Strides: []int64{1}}
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
	out := *p.Elements
	out.mask, out.points, out.count = nil, f, n
	return &out, &Elements{source: p.shape, points: t, count: n}
}

// unravel sets point k to the element with the given number in C order within a block.
// The block has the given shape and begins at start, or at the origin if start is nil.
func unravel(p *points, k int, number int64, shape, start []int64) {
	for i := len(shape) - 1; i >= 0; i-- {
		at := number % shape[i]
		if start != nil {
			at += start[i]
		}
		p.coords[i].Data[k] = at
		number /= shape[i]
	}
}

// measure sets the bounds of the points along every axis.
func (p *points) measure() {
	for i := range p.coords {
		c := &p.coords[i]
		c.Least, c.Most = slices.Min(c.Data), slices.Max(c.Data)
	}
}

// Scatter copies a block with the shape of the selection to the selected elements of dst.
// dst is an array of the shape that the selection was resolved for.
func (r *Elements) Scatter(dst, src strided.View) error {
	if r.count == 0 {
		return nil
	}
	// The array is treated as a grid with a single chunk.
	g, err := grid.New(r.source, grid.Chunks(r.source...)...)
	if err != nil {
		return err
	}
	src = r.Place(src)
	dst.Heap = nil // references are copied as they are
	rank := len(r.source)
	v := strided.NewVisit(rank)
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

// Part returns the selection of those elements whose places lie within the box. The box
// has the axes of [Elements.FullShape].
func (r *Elements) Part(places grid.Box) *Elements {
	o := *r
	o.count = 1
	for _, in := range places {
		o.count *= in.Len()
	}
	switch {
	case r.mask != nil:
		o.mask, o.points = nil, r.mask.points(places[0].Start, places[0].Stop)
	case r.points != nil:
		o.points = r.points.part(places)
	default:
		o.axes = make([]Axis, len(r.axes))
		for i, in := range places {
			to := r.axis(i)
			o.axes[to] = r.axes[to].part(in)
		}
	}
	return &o
}

// Within is [Elements.Part] for a box that has the axes of [Elements.Shape].
func (r *Elements) Within(box grid.Box) *Elements {
	if len(box) == len(r.FullShape()) {
		return r.Part(box)
	}
	places := make(grid.Box, len(r.axes))
	for i := range places {
		places[i] = grid.Interval{Stop: 1}
		if !r.axes[r.axis(i)].Drop {
			places[i], box = box[0], box[1:]
		}
	}
	return r.Part(places)
}

// part returns the axis of the places in the interval.
func (a Axis) part(in grid.Interval) Axis {
	switch {
	case a.list != nil:
		return ListAxis(a.list.given[in.Start:in.Stop])
	case a.Flip:
		a.Start += (a.Count - in.Stop) * a.Step
	default:
		a.Start += in.Start * a.Step
	}
	a.Count = in.Len()
	return a
}

// part returns the points at the places in the box.
func (p *points) part(in grid.Box) *points {
	o := &points{shape: in.Shape(), coords: make([]Coords, len(p.coords))}
	for i, c := range p.coords {
		for k, at := range in {
			c.off += at.Start * c.Strides[k]
		}
		o.coords[i] = c
	}
	return o
}

// slabs cuts a selected block into boxes of places.
type slabs struct {
	*Elements
	grids []*grid.Grid
	shape []int64
}

// Slabs yields boxes of places that follow each other in C order and together are the
// selected block. A slab has at most limit bytes, for elements of size bytes, but at
// least one element. It ends at a chunk boundary if possible, so that few chunks are
// touched twice. If a chunk is longer than a slab, it ends at a boundary of a grid of
// inner chunks, if one is given. The boxes have the axes of [Elements.FullShape].
func (r *Elements) Slabs(g *grid.Grid, size, limit int64, inner ...*grid.Grid) iter.Seq[grid.Box] {
	s := &slabs{r, append([]*grid.Grid{g}, inner...), r.FullShape()}
	return func(yield func(grid.Box) bool) {
		if r.count == 0 {
			return
		}
		cut, most := s.cut(size, limit)
		box := grid.BoxOf(s.shape)
		for i := range min(cut, len(box)) {
			box[i].Stop = 1
		}
		for {
			if cut < len(box) {
				box[cut].Stop = s.stop(cut, box[cut].Start, most)
			}
			if !yield(slices.Clone(box)) || !s.advance(box, cut) {
				return
			}
		}
	}
}

// cut returns the axis along which slabs are cut, and the largest number of places in a
// slab along it. A slab has one place along the axes before it and all places along those
// after it. Without axes, the result is axis 0.
func (s *slabs) cut(size, limit int64) (axis int, most int64) {
	plane := size
	for axis = len(s.shape) - 1; axis >= 0; axis-- {
		next, ok := checked.Mul(plane, s.shape[axis])
		// The first axis, from the last one on, that does not fit as a whole.
		if !ok || next > limit {
			return axis, max(1, limit/plane)
		}
		plane = next
	}
	if len(s.shape) == 0 {
		return 0, 1
	}
	return 0, s.shape[0]
}

// stop returns the end of the slab that begins at start: the last chunk boundary within
// most places, if there is one.
func (s *slabs) stop(axis int, start, most int64) int64 {
	stop := min(start+min(most, s.shape[axis]), s.shape[axis])
	// Points and masks have no chunk boundaries along an axis.
	if stop == s.shape[axis] || s.axes == nil {
		return stop
	}
	for _, g := range s.grids {
		// Go back to the boundary, unless the slab would then be empty.
		if back := s.placesBefore(g, s.Elements.axis(axis), stop); stop-back > start {
			return stop - back
		}
	}
	return stop
}

// placesBefore returns how many places before the given place are in the same chunk. It
// returns 0 for lists, whose elements are in any order.
func (s *slabs) placesBefore(g *grid.Grid, axis int, place int64) int64 {
	a := s.axes[axis]
	chunk, within, ok := g.Axis(axis).Locate(a.At(place))
	switch {
	case !ok || a.list != nil:
		return 0
	// Backwards, the places before this one lie at the end of the chunk.
	case a.Flip:
		cell, _ := g.Axis(axis).Cell(chunk)
		within = cell.Logical - 1 - within
	}
	return within / a.Step
}

// advance moves the box to the next slab. It returns false after the last.
func (s *slabs) advance(box grid.Box, cut int) bool {
	if cut >= len(box) {
		return false
	}
	// Advance along the axis that is cut. Slabs sets the end.
	if box[cut].Stop < s.shape[cut] {
		box[cut].Start = box[cut].Stop
		return true
	}
	box[cut].Start = 0
	for i := cut - 1; i >= 0; i-- {
		if box[i].Stop < s.shape[i] {
			box[i].Start, box[i].Stop = box[i].Stop, box[i].Stop+1
			return true
		}
		box[i] = grid.Interval{Stop: 1}
	}
	return false
}

// Layer returns two sizes in bytes, for elements of size bytes. chunk is the size of the
// selected elements in the longest touched chunk. layer is the size that a slab must have
// at least, if it ends at chunk boundaries, so that no chunk is touched by two slabs. It
// spans one chunk along the first axis where chunks are longer than one element, and all
// of the axes after it.
//
// Sizes that overflow are the largest int64. Points and masks have no such slabs: both
// sizes are 0.
func (r *Elements) Layer(g *grid.Grid, size int64) (chunk, layer int64) {
	if r.axes == nil || r.points != nil || r.mask != nil || r.count == 0 {
		return 0, 0
	}
	touched := r.Touched(g)
	chunk, layer = size, 0
	for i, n := range r.FullShape() {
		to := r.axis(i)
		a := r.axes[to]
		// The longest touched chunk decides.
		edge := g.Axis(to).Longest(touched[to])
		if a.list == nil {
			// A step selects only some elements of a chunk.
			edge = (edge-1)/a.Step + 1
		}
		edge = max(1, min(edge, n))
		chunk = checked.Capped(chunk, edge)
		switch {
		// Axes after the cut are complete in every slab.
		case layer > 0:
			layer = checked.Capped(layer, n)
		// The slab is cut along this axis, one chunk at a time.
		case edge > 1:
			layer = checked.Capped(size, edge)
		}
	}
	return chunk, max(chunk, layer)
}
