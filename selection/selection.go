// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/strided"
)

// ErrInvalid means that a selection is malformed or does not fit the array. If an axis is
// at fault, the error names it and its extent.
var ErrInvalid = errors.New("selection: invalid selection")

// Selection names elements of an array. It is a [Box] or [grid.Box], [Basic], [Named],
// [Orthogonal], [Points], [Mask] or [Blocks], or [Fields] of one of these. A [Resolved]
// selection is one, too. A nil Selection is the whole array.
//
// Lists of elements are not copied. They must not change while the selection is in use.
type Selection interface {
	// Selection does nothing. It marks the types that [Resolve] accepts.
	Selection()
}

// resolver is implemented by all selections but [grid.Box].
type resolver interface {
	resolve(t *Target) (*Resolved, error)
}

// Selection marks a selection.
func (Box) Selection() {}

// Selection marks a selection.
func (Basic) Selection() {}

// Selection marks a selection.
func (Named) Selection() {}

// Selection marks a selection.
func (Orthogonal) Selection() {}

// Selection marks a selection.
func (Points) Selection() {}

// Selection marks a selection.
func (Mask) Selection() {}

// Selection marks a selection.
func (Blocks) Selection() {}

// Selection marks a selection.
func (Fields) Selection() {}

// Selection marks a selection.
func (*Resolved) Selection() {}

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

// Resolve binds sel to an array of the given shape. Errors wrap [ErrInvalid].
func Resolve(sel Selection, shape []int64) (*Resolved, error) {
	return (&Target{Shape: shape}).Resolve(sel)
}

// Resolve binds sel to the target. Errors wrap [ErrInvalid].
func (t *Target) Resolve(sel Selection) (*Resolved, error) {
	switch s := sel.(type) {
	case nil: // the whole array
		return boxOf(grid.BoxOf(t.Shape)).resolve(t)
	case grid.Box:
		return boxOf(s).resolve(t)
	case resolver:
		return s.resolve(t)
	}
	return nil, fmt.Errorf("%w: a %T is no selection of package selection", ErrInvalid, sel)
}

// axis is what is selected along one axis: count elements from start on that are step
// apart, or the elements of a list.
type axis struct {
	start, step, count int64 // step is at least 1
	flip               bool  // they go to the selected block in reverse order
	drop               bool  // a single index, whose axis is dropped from the result
	list               *list
}

// first returns the smallest selected element. There must be one.
func (a axis) first() int64 {
	if a.list != nil {
		return a.list.At[0] - a.list.Base
	}
	return a.start
}

// last returns the largest selected element. There must be one.
func (a axis) last() int64 {
	if a.list != nil {
		return a.list.At[a.count-1] - a.list.Base
	}
	return a.start + (a.count-1)*a.step
}

// Box selects a half-open region. For every axis it has the first element and the one
// after the last, as in Box{{0, 168}, {0, 721}}. Both must lie within the array.
type Box [][2]int64

// boxOf returns the Box that selects the same as r.
func boxOf(r grid.Box) Box {
	b := make(Box, len(r))
	for i, in := range r {
		b[i] = [2]int64{in.Start, in.Stop}
	}
	return b
}

func (b Box) resolve(t *Target) (*Resolved, error) {
	if len(b) != len(t.Shape) {
		return nil, rankError(len(b), len(t.Shape))
	}
	axes := make([]axis, len(b))
	for i, in := range b {
		start, stop := in[0], in[1]
		if start < 0 || stop < start || stop > t.Shape[i] {
			return nil, rangeError(i, t.Shape[i], fmt.Sprintf("elements %d to %d", start, stop))
		}
		axes[i] = axis{start: start, step: 1, count: stop - start}
	}
	return t.ofAxes(axes)
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

func (t *Target) ofAxes(axes []axis) (*Resolved, error) {
	r := &Resolved{source: slices.Clone(t.Shape), axes: axes}
	n, ok := checked.Product(r.FullShape()...)
	if !ok {
		return nil, errTooMany
	}
	r.count = n
	return r, nil
}

var errTooMany = fmt.Errorf("%w: more than 2^63 elements", ErrInvalid)

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
			r.axes[i].list = &list{List: l}
		}
	}
	return r
}

// resolve binds the selection to an array that may have another shape by now.
func (r *Resolved) resolve(t *Target) (*Resolved, error) {
	if slices.Equal(r.source, t.Shape) {
		return r, nil
	}
	if len(t.Shape) != len(r.source) {
		return nil, rankError(len(r.source), len(t.Shape))
	}
	for i, in := range r.Bounds() {
		if in.Len() > 0 && in.Stop > t.Shape[i] {
			return nil, rangeError(i, t.Shape[i], fmt.Sprintf("element %d", in.Stop-1))
		}
	}
	// A mask only fits the shape that it was made for.
	if r.mask != nil {
		o := *r
		o.points, o.mask = r.mask.points(0, r.count), nil
		r = &o
	}
	o := *r
	o.source = slices.Clone(t.Shape)
	return &o, nil
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

func rankError(got, want int) error {
	return fmt.Errorf("%w: %d axes selected, the array has %d", ErrInvalid, got, want)
}

func rangeError(i int, extent int64, what string) error {
	return &grid.AxisError{Axis: i, Err: fmt.Errorf("%w: %s of an axis with extent %d", ErrInvalid, what, extent)}
}
