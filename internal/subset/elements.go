// SPDX-License-Identifier: Apache-2.0

// Package subset has the elements that a selection picks from an array of one shape: as
// steps and lists along every axis, as points or as a mask. Plans visit the chunks that
// have them.
//
// It is the inner side of package selection, which reads and checks what callers select.
// A *selection.Resolved converts to *[Elements] and back.
package subset

import (
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/strided"
)

// Elements are those that a selection picks from an array of one shape. Type Resolved of
// package selection has this underlying type, so either converts to the other.
type Elements struct {
	source []int64         // shape of the array
	axes   []Axis          // one per axis of the array; nil for points and masks
	order  []int           // axes of the array as the result has them; nil if in order
	points *points         // what is selected by coordinates
	mask   *mask           // what is selected by a mask
	parts  []strided.Point // points of a strided.Part, grouped by cell
	count  int64

	fields  [][]string
	windows []strided.Window
}

// OfAxes returns the elements that are picked along every axis of an array of the shape
// source. ok is false if they are more than 2^63.
func OfAxes(source []int64, axes []Axis) (r *Elements, ok bool) {
	r = &Elements{source: slices.Clone(source), axes: axes}
	r.count, ok = checked.Product(r.FullShape()...)
	return r, ok
}

// OfPart returns the elements of a part. Its points must be grouped; see [Group].
func OfPart(p strided.Part) *Elements {
	r := &Elements{axes: make([]Axis, len(p.Count)), count: p.Len()}
	for i := range r.axes {
		r.axes[i] = Axis{Start: p.Start[i], Step: p.Step[i], Count: p.Count[i]}
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

// Source returns the shape of the array.
func (r *Elements) Source() []int64 { return r.source }

// Of returns the same elements of an array of another shape, which must have them all.
func (r *Elements) Of(source []int64) *Elements {
	o := *r
	// A mask only fits the shape that it was made for.
	if r.mask != nil {
		o.points, o.mask = r.mask.points(0, r.count), nil
	}
	o.source = slices.Clone(source)
	return &o
}

// Bounds returns the smallest box of the array that holds all selected elements. For a
// mask it is the whole array.
func (r *Elements) Bounds() grid.Box {
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
func (r *Elements) Touched(g *grid.Grid) grid.Box {
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
func (r *Elements) Len() int64 { return r.count }

// Fields returns the names of the selected fields, or nil if whole elements are selected.
// The first list names fields of the elements. Every further list names fields of what
// the list before it selects.
func (r *Elements) Fields() [][]string { return r.fields }

// WithFields returns the named fields of what r selects.
func (r *Elements) WithFields(names []string) *Elements {
	o := *r
	// The full slice expression forces a copy, because r may be in use elsewhere.
	o.fields = append(o.fields[:len(o.fields):len(o.fields)], names)
	return &o
}

// Through returns the selection of only the given bytes of every element.
func (r *Elements) Through(windows []strided.Window) *Elements {
	o := *r
	o.windows = windows
	return &o
}

// Shape returns the shape of the selected block. Axes of single indices are dropped.
func (r *Elements) Shape() []int64 {
	if shape := r.flat(); shape != nil {
		return shape
	}
	shape := make([]int64, 0, len(r.axes))
	for i := range r.axes {
		if a := r.axes[r.axis(i)]; !a.Drop {
			shape = append(shape, a.Count)
		}
	}
	return shape
}

// FullShape returns the shape of the selected block with one entry for every axis of the
// array, in the order of the result. For points and masks it is the same as Shape.
func (r *Elements) FullShape() []int64 {
	if shape := r.flat(); shape != nil {
		return shape
	}
	shape := make([]int64, len(r.axes))
	for i := range shape {
		shape[i] = r.axes[r.axis(i)].Count
	}
	return shape
}

// flat returns the shape of a selection by points or a mask, and nil for all others.
func (r *Elements) flat() []int64 {
	switch {
	case r.points != nil:
		return slices.Clone(r.points.shape)
	case r.mask != nil:
		return []int64{r.count}
	}
	return nil
}

// axis returns the axis of the array that is axis i of the full shape.
func (r *Elements) axis(i int) int {
	if r.order == nil {
		return i
	}
	return r.order[i]
}

// Place returns a block with the shape of the selection as plans see it: with every axis
// of the array, in the order of the array, and with ascending elements. For points and
// masks it returns v.
func (r *Elements) Place(v strided.View) strided.View {
	if r.axes == nil || r.points != nil || r.mask != nil {
		return v
	}
	out, k := v, 0
	n := make([]int64, 2*len(r.axes))
	out.Shape, out.Strides = n[:len(r.axes):len(r.axes)], n[len(r.axes):]
	for i := range r.axes {
		to := r.axis(i)
		a := r.axes[to]
		out.Shape[to] = a.Count
		// A dropped axis is not in v. Its one element needs no stride.
		if a.Drop {
			continue
		}
		stride := v.Strides[k]
		// Begin with the last element in memory and walk backwards.
		if a.Flip {
			out.Offset += max(0, a.Count-1) * stride
			stride = -stride
		}
		out.Strides[to] = stride
		k++
	}
	return out
}

// Select returns the elements that q picks from the block that r makes.
func (r *Elements) Select(q *Elements) *Elements {
	o := &Elements{source: r.source, count: q.count, fields: slices.Concat(r.fields, q.fields)}
	switch {
	// A mask stays a mask if possible: points take one integer per axis and element.
	case r.mask != nil && isAll(q, r.Shape()):
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
	return o
}

// isAll reports whether r selects a whole array of the given shape in order.
func isAll(r *Elements, shape []int64) bool {
	for i, a := range r.axes {
		if a.list != nil || a.Flip || a.Drop || a.Start != 0 || a.Count != shape[i] || a.Step != 1 && a.Count > 1 {
			return false
		}
	}
	return r.points == nil && r.mask == nil && r.order == nil
}

// Axes returns, for each axis of the result, the axis of the array that it comes from. It
// returns nil for points and masks.
func (r *Elements) Axes() []int {
	if r.axes == nil {
		return nil
	}
	dims := []int{}
	for i := range r.axes {
		if to := r.axis(i); !r.axes[to].Drop {
			dims = append(dims, to)
		}
	}
	return dims
}

// Along returns what is selected along an axis of the array. ok is false for points and
// masks.
func (r *Elements) Along(axis int) (a Axis, ok bool) {
	if r.axes == nil {
		return Axis{}, false
	}
	return r.axes[axis], true
}

// compose sets o to the selection that applies q to the block of r. Both select along
// axes.
func (r *Elements) compose(o, q *Elements) {
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
		if a.Drop {
			o.order = append(o.order, i)
		}
	}
	for k := range dims {
		o.order = append(o.order, dims[q.axis(k)])
	}
}

// compose returns the axis that applies q to the elements of a.
func (a Axis) compose(q Axis) Axis {
	// A list of either side names its elements one by one.
	if a.list != nil || q.list != nil {
		given := make([]int64, q.Count)
		for k := range given {
			given[k] = a.At(q.At(int64(k)))
		}
		out := ListAxis(given)
		out.Drop = q.Drop
		return out
	}
	out := Axis{Step: 1, Count: q.Count, Flip: a.Flip != q.Flip, Drop: q.Drop}
	if q.Count == 0 {
		return out
	}
	// Either may go backwards, so the first element can come from either end.
	out.Start = min(a.At(q.first()), a.At(q.last()))
	if q.Count > 1 {
		// With fewer than two elements the product could overflow for nothing.
		out.Step = a.Step * q.Step
	}
	return out
}

// pointsOf returns points within the block that r selects as points of the array.
func (r *Elements) pointsOf(p *points) *points {
	o := &points{shape: p.shape, coords: make([]Coords, len(r.axes))}
	for i, a := range r.axes {
		// Dropped axes have the same index for all points: a single value with strides 0.
		o.coords[i] = Coords{Data: []int64{a.Start}, Strides: make([]int64, len(p.shape)), Least: a.Start, Most: a.Start}
	}
	for k, to := range r.Axes() {
		c := p.coords[k]
		if a := r.axes[to]; a.list != nil || a.Flip || a.Start != 0 || a.Step != 1 {
			c.Data = slices.Clone(c.Data)
			for j, at := range c.Data {
				c.Data[j] = a.At(at)
			}
			c.Least, c.Most = a.first(), a.last()
		}
		o.coords[to] = c
	}
	return o
}

// pick returns the points of a block that q selects. Slices only change strides and
// offsets; nothing is copied.
func (p *points) pick(q *Elements) *points {
	if q.axes == nil || slices.ContainsFunc(q.axes, func(a Axis) bool { return a.list != nil }) {
		return p.gather(q)
	}
	o := &points{shape: q.Shape(), coords: make([]Coords, len(p.coords))}
	dims := q.Axes()
	for i, c := range p.coords {
		n := c
		n.Strides = make([]int64, 0, len(dims))
		// Move the origin to the first point that q selects.
		for k, a := range q.axes {
			if a.Count > 0 {
				n.off += a.At(0) * c.Strides[k]
			}
		}
		for _, k := range dims {
			step := q.axes[k].Step
			if q.axes[k].Flip {
				step = -step
			}
			// A stride along a single element has no effect, but would make the view
			// uneven.
			if q.axes[k].Count <= 1 {
				step = 0
			}
			n.Strides = append(n.Strides, step*c.Strides[k])
		}
		o.coords[i] = n
	}
	return o
}

// gather is pick for selections that look up every point separately.
func (p *points) gather(q *Elements) *points {
	o := &points{shape: q.Shape(), coords: make([]Coords, len(p.coords))}
	strides := strided.AppendStrides(nil, o.shape, 1)
	places := q.places(p.shape)
	for i, c := range p.coords {
		c.Data, c.off, c.Strides = make([]int64, len(places)), 0, strides
		for k, place := range places {
			c.Data[k] = p.at(i, place)
		}
		o.coords[i] = c
	}
	return o
}

// Places returns, for each selected element in C order, its number in C order within the
// array.
func (r *Elements) Places() []int64 { return r.places(r.source) }

// places returns the numbers, in C order within an array of the given shape, of the
// selected elements.
func (r *Elements) places(shape []int64) []int64 {
	places := make([]int64, r.count)
	if r.mask != nil {
		r = &Elements{points: r.mask.points(0, r.count), count: r.count}
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
			places[k] = places[k]*shape[i] + r.axes[i].At(n)
		}
		k++
	}
	return places
}

// Transpose returns the elements with the axes of the block in another order. axes must
// be a permutation of them.
func (r *Elements) Transpose(axes []int) *Elements {
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
			if a.Drop {
				o.order = append(o.order, i)
			}
		}
		dims := r.Axes()
		for _, k := range axes {
			o.order = append(o.order, dims[k])
		}
	}
	return &o
}

// SplitItems splits the text of a selection at the commas outside quotes.
func SplitItems(text string) []string {
	var items []string
	begin, quoted := 0, false
	for i := range len(text) {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case text[i] == ',' && !quoted:
			items = append(items, text[begin:i])
			begin = i + 1
		}
	}
	return append(items, text[begin:])
}
