// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"iter"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
)

// Part returns the selection of those elements whose places lie within the box. The box
// has the axes of [Resolved.FullShape].
func (r *Resolved) Part(places grid.Box) *Resolved {
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
		o.axes = make([]axis, len(r.axes))
		for i, in := range places {
			to := r.axis(i)
			o.axes[to] = r.axes[to].part(in)
		}
	}
	return &o
}

// part returns the axis of the places in the interval.
func (a axis) part(in grid.Interval) axis {
	switch {
	case a.list != nil:
		return axisOf(a.list.given[in.Start:in.Stop])
	case a.flip:
		a.start += (a.count - in.Stop) * a.step
	default:
		a.start += in.Start * a.step
	}
	a.count = in.Len()
	return a
}

// part returns the points at the places in the box.
func (p *points) part(in grid.Box) *points {
	o := &points{shape: in.Shape(), coords: make([]coords, len(p.coords))}
	for i, c := range p.coords {
		for k, at := range in {
			c.off += at.Start * c.strides[k]
		}
		o.coords[i] = c
	}
	return o
}

// slabs cuts a selected block into boxes of places.
type slabs struct {
	*Resolved
	grids []*grid.Grid
	shape []int64
}

// Slabs yields boxes of places that follow each other in C order and together are the
// selected block. A slab has at most limit bytes, for elements of size bytes, but at
// least one element. It ends at a chunk boundary if possible, so that few chunks are
// touched twice. If a chunk is longer than a slab, it ends at a boundary of a grid of
// inner chunks, if one is given. The boxes have the axes of [Resolved.FullShape].
func (r *Resolved) Slabs(g *grid.Grid, size, limit int64, inner ...*grid.Grid) iter.Seq[grid.Box] {
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
		if back := s.back(g, s.Resolved.axis(axis), stop); stop-back > start {
			return stop - back
		}
	}
	return stop
}

// back returns how many places before the given place are in the same chunk. It returns 0
// for lists, whose elements are in any order.
func (s *slabs) back(g *grid.Grid, axis int, place int64) int64 {
	a := s.axes[axis]
	chunk, within, ok := g.Axis(axis).Locate(a.at(place))
	switch {
	case !ok || a.list != nil:
		return 0
	// Backwards, the places before this one lie at the end of the chunk.
	case a.flip:
		cell, _ := g.Axis(axis).Cell(chunk)
		within = cell.Logical - 1 - within
	}
	return within / a.step
}

// advance moves the box to the next slab. It returns false after the last.
func (s *slabs) advance(box grid.Box, cut int) bool {
	if cut >= len(box) {
		return false
	}
	// Go on along the axis that is cut. Slabs sets the end.
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
