package zarr

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
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
	w, err := newWindow(r, a.Grid())
	if err != nil {
		return nil, err
	}
	var data [2][]byte
	size := int64(a.Type().Size())
	for slab := range w.slabs(size, comparedBytes) {
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

// Slabs cuts a selection into selections that follow each other in C order and have at most limit bytes of elements each,
// but at least one element: reading them one by one streams the selection, writing them fills it. They end at the borders
// of chunks where they can, so that few chunks are touched twice. A nil selection is the whole array.
func (a *Array) Slabs(sel selection.Selection, limit int64) (iter.Seq[selection.Basic], error) {
	r, err := a.Select(sel)
	if err != nil {
		return nil, err
	}
	w, err := newWindow(r, a.Grid())
	if err != nil {
		return nil, a.fail("select", err)
	}
	return func(yield func(selection.Basic) bool) {
		for slab := range w.slabs(int64(a.Type().Size()), limit) {
			if !yield(w.items(slab)) {
				return
			}
		}
	}, nil
}

// window is a selection as arithmetic: along every axis, count elements from start on, step apart.
type window struct {
	grid               *grid.Grid
	start, step, count []int64
}

// newWindow asks the plan of the selection over an array of one chunk: its only part is the whole selection.
func newWindow(r *selection.Resolved, g *grid.Grid) (*window, error) {
	chunk := g.Shape()
	for i := range chunk {
		chunk[i] = max(1, chunk[i])
	}
	whole, err := grid.Regular(g.Shape(), chunk)
	if err != nil {
		return nil, err
	}
	part := selection.NewPart(len(chunk))
	if !selection.NewPlan(r, whole).Next(part) {
		return &window{g, part.Start, part.Step, r.FullShape()}, nil
	}
	return &window{g, part.Start, part.Step, part.Count}, nil
}

// items returns the selection of the elements that have their place within box.
func (w *window) items(box grid.Box) selection.Basic {
	items := make(selection.Basic, len(box))
	for i, in := range box {
		first := w.start[i] + in.Start*w.step[i]
		items[i] = selection.Stepped(first, first+(in.Len()-1)*w.step[i]+1, w.step[i])
	}
	return items
}

// slabs yields boxes of places, in C order and of at most limit bytes each. The box is reused.
func (w *window) slabs(size, limit int64) iter.Seq[grid.Box] {
	return func(yield func(grid.Box) bool) {
		if slices.Contains(w.count, 0) {
			return
		}
		cut, most := w.cut(size, limit)
		box := grid.BoxOf(w.count)
		for i := range min(cut, len(box)) {
			box[i].Stop = 1
		}
		for {
			if cut < len(box) {
				box[cut].Stop = w.stop(cut, box[cut].Start, most)
			}
			if !yield(box) || !w.advance(box, cut) {
				return
			}
		}
	}
}

// cut returns the axis along which slabs are cut and the most places a slab has there. Axes before it have one place a slab,
// those behind it all. It is the rank where all places are one slab because there is no axis.
func (w *window) cut(size, limit int64) (axis int, most int64) {
	plane := size
	for axis = len(w.count) - 1; axis >= 0; axis-- {
		next, ok := checked.Mul(plane, w.count[axis])
		if !ok || next > limit {
			return axis, max(1, limit/plane)
		}
		plane = next
	}
	if len(w.count) == 0 {
		return 0, 1
	}
	return 0, w.count[0]
}

// stop returns where a slab from start on ends along an axis: at the border of a chunk if there is one within reach.
func (w *window) stop(axis int, start, most int64) int64 {
	stop := min(start+min(most, w.count[axis]), w.count[axis])
	if stop == w.count[axis] {
		return stop
	}
	_, within, ok := w.grid.Axis(axis).Locate(w.start[axis] + stop*w.step[axis])
	back := within / w.step[axis] // places before stop that are in the same chunk
	if ok && stop-back > start {
		return stop - back
	}
	return stop
}

// advance moves the box behind the slab it was; it is false after the last.
func (w *window) advance(box grid.Box, cut int) bool {
	if cut >= len(box) {
		return false
	}
	if box[cut].Stop < w.count[cut] {
		box[cut].Start = box[cut].Stop
		return true
	}
	box[cut].Start = 0
	for i := cut - 1; i >= 0; i-- {
		if box[i].Stop < w.count[i] {
			box[i].Start, box[i].Stop = box[i].Stop, box[i].Stop+1
			return true
		}
		box[i] = grid.Interval{Stop: 1}
	}
	return false
}
