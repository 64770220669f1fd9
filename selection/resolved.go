// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
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

// ofPart returns the selection that a part makes. Its points must be grouped; see group.
func ofPart(p strided.Part) *Resolved {
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
	// The true elements of a mask are not searched for.
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

// through returns the selection of only the given bytes of every element.
func (r *Resolved) through(windows []strided.Window) *Resolved {
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

// place returns a block with the shape of the selection as plans see it: with every axis
// of the array, in the order of the array, and with ascending elements. For points and
// masks it returns v.
func (r *Resolved) place(v strided.View) strided.View {
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

// Select applies sel to the block that r selects, and returns the result as one selection
// of the array. names are the names of the block's axes, or nil. Steps of steps are steps
// again, lists of lists are lists and points of points are points. Nothing as large as
// the block is allocated unless sel is that large.
func (r *Resolved) Select(sel Selection, names []string) (*Resolved, error) {
	t := &Target{Shape: r.Shape(), Names: names}
	q, err := t.Resolve(sel)
	if err != nil {
		return nil, err
	}
	o := &Resolved{source: r.source, count: q.count, fields: slices.Concat(r.fields, q.fields)}
	switch {
	// A mask stays a mask if possible: points take one integer per axis and element.
	case r.mask != nil && isAll(q, t.Shape):
		o.mask = r.mask
	// Part of a mask, or a mask of part of the array: list the elements.
	case r.mask != nil:
		o.points = r.mask.points(0, r.count).pick(q)
	case r.points != nil:
		o.points = r.points.pick(q)
	case q.mask != nil && isAll(r, r.source) && r.order == nil:
		o.mask = q.mask
	case q.mask != nil:
		o.points = r.pointsOf(q.mask.points(0, q.count))
	case q.points != nil:
		o.points = r.pointsOf(q.points)
	default:
		r.compose(o, q)
	}
	return o, nil
}

// isAll reports whether r selects a whole array of the given shape in order.
func isAll(r *Resolved, shape []int64) bool {
	for i, a := range r.axes {
		if a.list != nil || a.flip || a.drop || a.start != 0 || a.count != shape[i] || a.step != 1 && a.count > 1 {
			return false
		}
	}
	return r.points == nil && r.mask == nil && r.order == nil
}

// Axes returns, for each axis of the result, the axis of the array that it comes from. It
// returns nil for points and masks.
func (r *Resolved) Axes() []int {
	if r.axes == nil {
		return nil
	}
	dims := []int{}
	for i := range r.axes {
		if to := r.axis(i); !r.axes[to].drop {
			dims = append(dims, to)
		}
	}
	return dims
}

// Along returns the elements that are selected along an axis of the array, as a selection
// of that axis. For points and masks it returns all.
func (r *Resolved) Along(axis int) Item {
	if r.axes == nil {
		return All()
	}
	a := r.axes[axis]
	switch {
	case a.list != nil:
		return List(a.list.given...)
	case !a.flip:
		return Stepped(a.start, a.start+(a.count-1)*a.step+1, a.step)
	case a.count == 0:
		return Span(0, 0)
	}
	stop := a.start - 1
	if stop < 0 {
		stop = Open // a negative bound counts from the end
	}
	return Stepped(a.last(), stop, -a.step)
}

// compose sets o to the selection that applies q to the block of r. Both select along
// axes.
func (r *Resolved) compose(o, q *Resolved) {
	dims := r.Axes()
	o.axes = slices.Clone(r.axes)
	// Axis k of the block is axis to of the array.
	for k, to := range dims {
		o.axes[to] = r.axes[to].compose(q.axes[k])
	}
	if r.order == nil && q.order == nil {
		return
	}
	for i, a := range r.axes {
		if a.drop {
			o.order = append(o.order, i)
		}
	}
	for k := range dims {
		o.order = append(o.order, dims[q.axis(k)])
	}
}

// compose returns the axis that applies q to the elements of a.
func (a axis) compose(q axis) axis {
	// A list of either side names its elements one by one.
	if a.list != nil || q.list != nil {
		given := make([]int64, q.count)
		for k := range given {
			given[k] = a.at(q.at(int64(k)))
		}
		out := axisOf(given)
		out.drop = q.drop
		return out
	}
	out := axis{step: 1, count: q.count, flip: a.flip != q.flip, drop: q.drop}
	if q.count == 0 {
		return out
	}
	// Either may go backwards, so the first element can come from either end.
	out.start = min(a.at(q.first()), a.at(q.last()))
	if q.count > 1 {
		// With fewer than two elements the product could overflow for nothing.
		out.step = a.step * q.step
	}
	return out
}

// pointsOf returns points within the block that r selects as points of the array.
func (r *Resolved) pointsOf(p *points) *points {
	o := &points{shape: p.shape, coords: make([]coords, len(r.axes))}
	for i, a := range r.axes {
		// Dropped axes have the same index for all points: a single value with strides 0.
		o.coords[i] = coords{data: []int64{a.start}, strides: make([]int64, len(p.shape)), least: a.start, most: a.start}
	}
	for k, to := range r.Axes() {
		c := p.coords[k]
		if a := r.axes[to]; a.list != nil || a.flip || a.start != 0 || a.step != 1 {
			c.data = slices.Clone(c.data)
			for j, at := range c.data {
				c.data[j] = a.at(at)
			}
			c.least, c.most = a.first(), a.last()
		}
		o.coords[to] = c
	}
	return o
}

// pick returns the points of a block that q selects. Slices only change strides and
// offsets; nothing is copied.
func (p *points) pick(q *Resolved) *points {
	if q.axes == nil || slices.ContainsFunc(q.axes, func(a axis) bool { return a.list != nil }) {
		return p.gather(q)
	}
	o := &points{shape: q.Shape(), coords: make([]coords, len(p.coords))}
	dims := q.Axes()
	for i, c := range p.coords {
		n := c
		n.strides = make([]int64, 0, len(dims))
		// Move the origin to the first point that q selects.
		for k, a := range q.axes {
			if a.count > 0 {
				n.off += a.at(0) * c.strides[k]
			}
		}
		for _, k := range dims {
			step := q.axes[k].step
			if q.axes[k].flip {
				step = -step
			}
			// A stride along a single element has no effect, but would make the view
			// uneven.
			if q.axes[k].count <= 1 {
				step = 0
			}
			n.strides = append(n.strides, step*c.strides[k])
		}
		o.coords[i] = n
	}
	return o
}

// gather is pick for selections that look up every point separately.
func (p *points) gather(q *Resolved) *points {
	o := &points{shape: q.Shape(), coords: make([]coords, len(p.coords))}
	strides := strided.AppendStrides(nil, o.shape, 1)
	places := q.places(p.shape)
	for i, c := range p.coords {
		c.data, c.off, c.strides = make([]int64, len(places)), 0, strides
		for k, place := range places {
			c.data[k] = p.at(i, place)
		}
		o.coords[i] = c
	}
	return o
}

// Places returns, for each selected element in C order, its number in C order within the
// array.
func (r *Resolved) Places() []int64 { return r.places(r.source) }

// places returns the numbers, in C order within an array of the given shape, of the
// selected elements.
func (r *Resolved) places(shape []int64) []int64 {
	places := make([]int64, r.count)
	if r.mask != nil {
		r = &Resolved{points: r.mask.points(0, r.count), count: r.count}
	}
	if r.points != nil {
		for i := range shape {
			k := 0
			r.points.each(i, func(at int64) {
				// The number in C order grows axis by axis.
				places[k] = places[k]*shape[i] + at
				k++
			})
		}
		return places
	}
	// Dropped axes have length 1 in the full shape.
	full := r.FullShape()
	k, index := 0, make([]int64, len(full))
	for at := range grid.BoxOf(full).IndicesInto(make([]int64, len(full))) {
		for i, n := range at {
			index[r.axis(i)] = n
		}
		for i, n := range index {
			places[k] = places[k]*shape[i] + r.axes[i].at(n)
		}
		k++
	}
	return places
}

// Transpose returns the selection with the axes of its result in another order. Axis i of
// the new result is axis axes[i] of the old one. Without arguments the order is reversed.
// Errors wrap [ErrInvalid].
func (r *Resolved) Transpose(axes ...int) (*Resolved, error) {
	rank := len(r.Shape())
	if len(axes) == 0 {
		for i := range rank {
			axes = append(axes, rank-1-i)
		}
	}
	if err := checkOrder(axes, rank); err != nil {
		return nil, err
	}
	o := *r
	switch {
	case r.mask != nil:
	case r.points != nil:
		o.points = r.points.transposed(axes)
	default:
		// The order covers all axes of the array. Dropped ones may come first, because
		// they have one element each.
		o.order = nil
		for i, a := range r.axes {
			if a.drop {
				o.order = append(o.order, i)
			}
		}
		dims := r.Axes()
		for _, k := range axes {
			o.order = append(o.order, dims[k])
		}
	}
	return &o, nil
}

func checkOrder(axes []int, rank int) error {
	seen := make([]bool, rank)
	for _, k := range axes {
		if k < 0 || k >= rank || seen[k] {
			return fmt.Errorf("%w: axes %d are not a permutation of %s", ErrInvalid, axes, quantity.Count(rank, "axes"))
		}
		seen[k] = true
	}
	if len(axes) != rank {
		return rankError(len(axes), rank)
	}
	return nil
}
