// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/strided"
)

// Target describes the array that a selection is resolved for.
type Target struct {
	Shape []int64 // elements
	// Names are the names of the axes, "" for one without; nil if there are none. [Named]
	// needs them.
	Names []string
	// Grid and Inner return the division of the array into chunks and, if these are
	// shards, into inner chunks. They are nil if there is none. [Blocks] needs them.
	Grid, Inner func() (*grid.Grid, error)
}

func (t *Target) ofAxes(axes []axis) (*Resolved, error) {
	r := &Resolved{source: slices.Clone(t.Shape), axes: axes}
	n, ok := checked.Product(r.FullShape()...)
	if !ok {
		return nil, errTooMany
	}
	r.count = n
	return r, nil
}

// Resolved is a selection that is bound to the shape of an array. It is a [Selection] for
// arrays of that shape, and for arrays of other shapes that have all its elements.
type Resolved struct {
	source []int64         // shape of the array
	axes   []axis          // one per axis of the array; nil for points and masks
	order  []int           // axes of the array as the result has them; nil if in order
	points *points         // what is selected by coordinates
	mask   *mask           // what is selected by a mask
	parts  []strided.Point // points of a strided.Part, grouped by cell
	count  int64

	fields  [][]string
	windows []strided.Window
}

// OfPart returns the selection that a part makes. Its points must be grouped; see
// [Group].
func OfPart(p strided.Part) *Resolved {
	r := &Resolved{axes: make([]axis, len(p.Count)), count: p.Len()}
	for i := range r.axes {
		r.axes[i] = axis{start: p.Start[i], step: p.Step[i], count: p.Count[i]}
	}
	if p.Picks == nil {
		return r
	}
	r.windows, r.parts = p.Picks.Windows, p.Picks.Points
	for i, l := range p.Picks.Lists {
		if l.At != nil {
			// A list of a part is sorted already.
			r.axes[i].list = &list{List: l}
		}
	}
	return r
}

// Bounds returns the smallest box of the array that holds all selected elements. For a
// mask it is the whole array.
func (r *Resolved) Bounds() grid.Box {
	box := make(grid.Box, max(len(r.source), len(r.axes)))
	switch {
	case r.count == 0:
	case r.points != nil:
		r.points.bounds(box)
	case r.mask != nil:
		copy(box, grid.BoxOf(r.source))
	default:
		for i, a := range r.axes {
			box[i] = grid.Interval{Start: a.first(), Stop: a.last() + 1}
		}
	}
	return box
}

// Touched returns, for every axis, the interval from the first to the last chunk of g
// that the selection may touch.
func (r *Resolved) Touched(g *grid.Grid) grid.Box {
	box := r.Bounds()
	for i, in := range box {
		if in.Len() > 0 {
			first, _, _ := g.Axis(i).Locate(in.Start)
			last, _, _ := g.Axis(i).Locate(in.Stop - 1)
			box[i] = grid.Interval{Start: first, Stop: last + 1}
		}
	}
	return box
}

// Len returns the number of selected elements.
func (r *Resolved) Len() int64 { return r.count }

// Fields returns the names of the selected fields, or nil if whole elements are selected.
// The first list names fields of the elements. Every further list names fields of what
// the list before it selects.
func (r *Resolved) Fields() [][]string { return r.fields }

// Through returns the selection of only the given bytes of every element.
func (r *Resolved) Through(windows []strided.Window) *Resolved {
	o := *r
	o.windows = windows
	return &o
}

// Shape returns the shape of the selected block. Axes of single indices are dropped.
func (r *Resolved) Shape() []int64 {
	if shape := r.flat(); shape != nil {
		return shape
	}
	shape := make([]int64, 0, len(r.axes))
	for i := range r.axes {
		if a := r.axes[r.axis(i)]; !a.drop {
			shape = append(shape, a.count)
		}
	}
	return shape
}

// FullShape returns the shape of the selected block with one entry for every axis of the
// array, in the order of the result. For points and masks it is the same as Shape.
func (r *Resolved) FullShape() []int64 {
	if shape := r.flat(); shape != nil {
		return shape
	}
	shape := make([]int64, len(r.axes))
	for i := range shape {
		shape[i] = r.axes[r.axis(i)].count
	}
	return shape
}

// flat returns the shape of a selection by points or a mask, and nil for all others.
func (r *Resolved) flat() []int64 {
	switch {
	case r.points != nil:
		return slices.Clone(r.points.shape)
	case r.mask != nil:
		return []int64{r.count}
	}
	return nil
}

// axis returns the axis of the array that is axis i of the full shape.
func (r *Resolved) axis(i int) int {
	if r.order == nil {
		return i
	}
	return r.order[i]
}

// Place returns a block with the shape of the selection as plans see it: with every axis
// of the array, in the order of the array, and with ascending elements. For points and
// masks it returns v.
func (r *Resolved) Place(v strided.View) strided.View {
	if r.axes == nil || r.points != nil || r.mask != nil {
		return v
	}
	out, k := v, 0
	n := make([]int64, 2*len(r.axes))
	out.Shape, out.Strides = n[:len(r.axes):len(r.axes)], n[len(r.axes):]
	for i := range r.axes {
		to := r.axis(i)
		a := r.axes[to]
		out.Shape[to] = a.count
		// A dropped axis is not in v. Its one element needs no stride.
		if a.drop {
			continue
		}
		stride := v.Strides[k]
		// Begin with the last element in memory and walk backwards.
		if a.flip {
			out.Offset += max(0, a.count-1) * stride
			stride = -stride
		}
		out.Strides[to] = stride
		k++
	}
	return out
}
