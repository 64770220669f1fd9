// SPDX-License-Identifier: Apache-2.0

// Package selection names elements of an array. It does no I/O.
//
// A [Selection] names elements: a [Box], indices and slices ([Basic]), lists along each
// axis ([Orthogonal]), [Points], a [Mask] or whole chunks ([Blocks]). [Resolve] binds it
// to the shape of an array. The [Resolved] selection has the shape of the result. A
// [Parser] reads selections as users write them.
package selection

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/mistake"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/subset"
)

// Selection names elements of an array. It is a [Box], [Basic], [Named], [Orthogonal],
// [Points], [Mask] or [Blocks], or [Fields] of one of these. A [Resolved] selection is
// one, too, and [BoxOf] makes one of a box of package grid. A nil Selection is the whole
// array.
//
// Lists of elements are not copied. They must not change while the selection is in use.
type Selection interface {
	// resolve binds the selection to the array t.
	resolve(t *Target) (*Resolved, error)
}

// Resolve binds sel to an array of the given shape. Errors wrap [ErrInvalid].
func Resolve(sel Selection, shape []int64) (*Resolved, error) {
	return (&Target{Shape: shape}).Resolve(sel)
}

// Resolve binds sel to the target. Errors wrap [ErrInvalid].
func (t *Target) Resolve(sel Selection) (*Resolved, error) {
	if sel == nil { // the whole array
		sel = BoxOf(grid.BoxOf(t.Shape))
	}
	return sel.resolve(t)
}

// resolve binds the selection to an array that may have another shape by now.
func (r *Resolved) resolve(t *Target) (*Resolved, error) {
	source := r.elements().Source()
	if slices.Equal(source, t.Shape) {
		return r, nil
	}
	if len(t.Shape) != len(source) {
		return nil, rankError(len(source), len(t.Shape))
	}
	for i, in := range r.Bounds() {
		// A larger array still has all elements, so only the bounds matter.
		if in.Len() > 0 && in.Stop > t.Shape[i] {
			return nil, rangeError(i, t.Shape[i], fmt.Sprintf("element %d", in.Stop-1))
		}
	}
	return (*Resolved)(r.elements().Of(t.Shape)), nil
}

// Box selects a half-open region. For every axis it has the first element and the one
// after the last, as in Box{{0, 168}, {0, 721}}. Both must lie within the array.
type Box [][2]int64

// BoxOf returns the selection of a region of an array.
func BoxOf(r grid.Box) Box {
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
	axes := make([]subset.Axis, len(b))
	for i, in := range b {
		start, stop := in[0], in[1]
		// Unlike a slice, a box is never clipped: a program that computes it would not
		// notice.
		if start < 0 || stop < start || stop > t.Shape[i] {
			return nil, rangeError(i, t.Shape[i], fmt.Sprintf("elements %d to %d", start, stop))
		}
		axes[i] = subset.Axis{Start: start, Step: 1, Count: stop - start}
	}
	return t.ofAxes(axes)
}

// Basic selects along every axis as NumPy's basic indexing does: with indices, slices
// with steps and an ellipsis, one item per axis. Negative numbers count from the end,
// slices are clipped at the extent, and axes without an item are selected whole. A slice
// with a negative step goes backwards, from the last element if its start is open.
type Basic []Item

func (b Basic) resolve(t *Target) (*Resolved, error) {
	for i, item := range b {
		if item.kind == itemList || item.kind == itemMask {
			return nil, fmt.Errorf("%w: item %d is a list or a mask: use Orthogonal, or Points to combine lists element by element", ErrInvalid, i)
		}
	}
	return Orthogonal(b).resolve(t)
}

// Orthogonal selects along every axis independently, as np.ix_ in NumPy and oindex in
// zarr-python do. Its items are those of [Basic], [List] and [Where]. Axes without an
// item are selected whole.
//
// If lists name an element several times, a write stores the last of its values in C
// order.
type Orthogonal []Item

func (o Orthogonal) resolve(t *Target) (*Resolved, error) {
	items, err := expand(o, len(t.Shape))
	if err != nil {
		return nil, err
	}
	axes := make([]subset.Axis, len(t.Shape))
	for i, item := range items {
		if axes[i], err = item.bind(i, t.Shape[i]); err != nil {
			return nil, err
		}
	}
	return t.ofAxes(axes)
}

// Named selects along axes that are given by name. All other axes are selected whole. The
// items are those of [Orthogonal].
type Named map[string]Item

func (n Named) resolve(t *Target) (*Resolved, error) {
	items := map[int]Item{}
	for name, item := range n {
		if err := (Parser{Names: t.Names}).bind(items, entry{name: name, item: item}); err != nil {
			return nil, err
		}
	}
	o := make(Orthogonal, len(t.Shape))
	for i, item := range items {
		if i >= len(o) {
			return nil, fmt.Errorf("%w: %s for %s", ErrInvalid, quantity.Count(len(t.Names), "names"), quantity.Count(len(o), "axes"))
		}
		o[i] = item
	}
	return o.resolve(t)
}

// Fields selects fields of structs, for the elements that Of selects. A single field
// gives elements of the field's type. Several fields give packed structs of these fields,
// in the order of Names. If Of is nil, the whole array is selected.
type Fields struct {
	Names []string
	Of    Selection
}

func (f Fields) resolve(t *Target) (*Resolved, error) {
	if len(f.Names) == 0 {
		return nil, fmt.Errorf("%w: no field is named", ErrInvalid)
	}
	r, err := t.Resolve(f.Of)
	if err != nil {
		return nil, err
	}
	return (*Resolved)(r.elements().WithFields(f.Names)), nil
}

// Blocks selects whole chunks by their position in the chunk grid. There is an index or a
// slice for every axis, counted in chunks. An index keeps its axis, because a chunk has
// many elements. Axes without an item are selected whole. In a sharded array the chunks
// are the shards or, with Inner, the inner chunks of all shards.
type Blocks struct {
	Items []Item
	Inner bool
}

func (b Blocks) resolve(t *Target) (*Resolved, error) {
	// The grids are made on demand, because few selections need them.
	of := t.Grid
	if b.Inner {
		of = t.Inner
	}
	if of == nil {
		return nil, fmt.Errorf("%w: the array has no chunks of the kind that blocks select (Inner: %t)", ErrInvalid, b.Inner)
	}
	g, err := of()
	if err != nil {
		return nil, err
	}
	items, err := expand(b.Items, len(t.Shape))
	if err != nil {
		return nil, fmt.Errorf("%w (of blocks)", err)
	}
	axes := make([]subset.Axis, len(t.Shape))
	for i, item := range items {
		if axes[i], err = item.bindBlocks(i, g.Axis(i)); err != nil {
			return nil, err
		}
	}
	return t.ofAxes(axes)
}

// bindBlocks returns the elements of the chunks that the item selects along axis number
// n.
func (i Item) bindBlocks(n int, a grid.Axis) (subset.Axis, error) {
	var blocks subset.Axis
	switch i.kind {
	case itemIndex:
		at, ok := inRange(i.start, a.Chunks())
		if !ok {
			return subset.Axis{}, blockError(n, a, fmt.Sprintf("block %d", i.start))
		}
		// Unlike an index of elements, an index of a chunk keeps its axis.
		blocks = subset.Axis{Start: at, Count: 1}
	case itemList, itemMask:
		return subset.Axis{}, blockError(n, a, "a list")
	case itemSlice:
		if i.step != 1 {
			return subset.Axis{}, blockError(n, a, fmt.Sprintf("a slice of blocks with step %d (only 1 keeps them in one piece)", i.step))
		}
		fallthrough
	default:
		var err error
		if blocks, err = i.bind(n, a.Chunks()); err != nil {
			return subset.Axis{}, err
		}
	}
	// There is no first chunk to begin with.
	if blocks.Count == 0 {
		return subset.Axis{Step: 1}, nil
	}
	first, _ := a.Cell(blocks.Start)
	last, _ := a.Cell(blocks.Start + blocks.Count - 1)
	return subset.Axis{Start: first.Start, Step: 1, Count: last.Start + last.Logical - first.Start}, nil
}

func blockError(i int, a grid.Axis, what string) error {
	return &grid.AxisError{Axis: i, Err: fmt.Errorf("%w: %s of an axis of %s", ErrInvalid, what, quantity.Count(a.Chunks(), "blocks"))}
}

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

func (t *Target) ofAxes(axes []subset.Axis) (*Resolved, error) {
	r, ok := subset.OfAxes(t.Shape, axes)
	if !ok {
		return nil, errTooMany
	}
	return (*Resolved)(r), nil
}

// Resolved is a selection that is bound to the shape of an array. It is a [Selection] for
// arrays of that shape, and for arrays of other shapes that have all its elements.
type Resolved subset.Elements

// elements returns the selected elements.
func (r *Resolved) elements() *subset.Elements { return (*subset.Elements)(r) }

// Bounds returns the smallest box of the array that holds all selected elements. For a
// mask it is the whole array.
func (r *Resolved) Bounds() grid.Box { return r.elements().Bounds() }

// Len returns the number of selected elements.
func (r *Resolved) Len() int64 { return r.elements().Len() }

// Fields returns the names of the selected fields, or nil if whole elements are selected.
// The first list names fields of the elements. Every further list names fields of what
// the list before it selects.
func (r *Resolved) Fields() [][]string { return r.elements().Fields() }

// Shape returns the shape of the selected block. Axes of single indices are dropped.
func (r *Resolved) Shape() []int64 { return r.elements().Shape() }

// ErrInvalid means that a selection is malformed or does not fit the array. If an axis is
// at fault, the error names it and its extent.
var ErrInvalid = errors.New("invalid selection")

// indexError reports an index outside its axis.
func indexError(index, extent int64) error {
	return &mistake.Index{Index: index, Err: fmt.Errorf("%w: index %d of an axis with extent %d", ErrInvalid, index, extent)}
}

// nameError reports a name that none of the dimensions has.
func nameError(name string, dimensions []string) error {
	known := slices.DeleteFunc(slices.Clone(dimensions), func(n string) bool { return n == "" })
	return &mistake.Name{Name: name, Names: dimensions, Err: fmt.Errorf("%w: no dimension is named %q (there are %s)", ErrInvalid, name, strings.Join(known, ", "))}
}

func rankError(got, want int) error {
	return fmt.Errorf("%w: %s selected, the array has %d", ErrInvalid, quantity.Count(got, "axes"), want)
}

func rangeError(i int, extent int64, what string) error {
	return &grid.AxisError{Axis: i, Err: fmt.Errorf("%w: %s of an axis with extent %d", ErrInvalid, what, extent)}
}

var errTooMany = fmt.Errorf("%w: more than 2^63 elements", ErrInvalid)
