package selection

import (
	"iter"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
)

// Part returns the selection of those selected elements that have their places in the selected block within the box,
// which has one interval for every axis of the array.
func (r *Resolved) Part(places grid.Box) Basic {
	items := make(Basic, len(places))
	for i, in := range places {
		a := r.axes[i]
		first := a.start + in.Start*a.step
		items[i] = Stepped(first, first+(in.Len()-1)*a.step+1, a.step)
	}
	return items
}

// slabs cuts a selected block into boxes of places.
type slabs struct {
	grid *grid.Grid
	axes []axis
}

// Slabs yields boxes of places in the selected block that follow each other in C order and make up all of it, each of at most
// limit bytes of elements of size bytes, but of at least one element. They end at the borders of chunks where they can, so
// that few chunks are touched twice. The box is reused.
func (r *Resolved) Slabs(g *grid.Grid, size, limit int64) iter.Seq[grid.Box] {
	s := &slabs{g, r.axes}
	return func(yield func(grid.Box) bool) {
		if r.count == 0 {
			return
		}
		cut, most := s.cut(size, limit)
		box := grid.BoxOf(r.full())
		for i := range min(cut, len(box)) {
			box[i].Stop = 1
		}
		for {
			if cut < len(box) {
				box[cut].Stop = s.stop(cut, box[cut].Start, most)
			}
			if !yield(box) || !s.advance(box, cut) {
				return
			}
		}
	}
}

// cut returns the axis along which slabs are cut and the most places a slab has there. Axes before it have one place a slab,
// those behind it all. It is the rank where all places are one slab because there is no axis.
func (s *slabs) cut(size, limit int64) (axis int, most int64) {
	plane := size
	for axis = len(s.axes) - 1; axis >= 0; axis-- {
		next, ok := checked.Mul(plane, s.axes[axis].count)
		if !ok || next > limit {
			return axis, max(1, limit/plane)
		}
		plane = next
	}
	if len(s.axes) == 0 {
		return 0, 1
	}
	return 0, s.axes[0].count
}

// stop returns where a slab from start on ends along an axis: at the border of a chunk if there is one within reach.
func (s *slabs) stop(axis int, start, most int64) int64 {
	stop := min(start+min(most, s.axes[axis].count), s.axes[axis].count)
	if stop == s.axes[axis].count {
		return stop
	}
	_, within, ok := s.grid.Axis(axis).Locate(s.axes[axis].start + stop*s.axes[axis].step)
	back := within / s.axes[axis].step // places before stop that are in the same chunk
	if ok && stop-back > start {
		return stop - back
	}
	return stop
}

// advance moves the box behind the slab it was; it is false after the last.
func (s *slabs) advance(box grid.Box, cut int) bool {
	if cut >= len(box) {
		return false
	}
	if box[cut].Stop < s.axes[cut].count {
		box[cut].Start = box[cut].Stop
		return true
	}
	box[cut].Start = 0
	for i := cut - 1; i >= 0; i-- {
		if box[i].Stop < s.axes[i].count {
			box[i].Start, box[i].Stop = box[i].Stop, box[i].Stop+1
			return true
		}
		box[i] = grid.Interval{Stop: 1}
	}
	return false
}
