// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"fmt"
	"iter"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/subset"
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

// Touched returns, for every axis, the interval from the first to the last chunk of g
// that the selection may touch.
func (r *Resolved) Touched(g *grid.Grid) grid.Box { return r.elements().Touched(g) }

// Len returns the number of selected elements.
func (r *Resolved) Len() int64 { return r.elements().Len() }

// Fields returns the names of the selected fields, or nil if whole elements are selected.
// The first list names fields of the elements. Every further list names fields of what
// the list before it selects.
func (r *Resolved) Fields() [][]string { return r.elements().Fields() }

// Shape returns the shape of the selected block. Axes of single indices are dropped.
func (r *Resolved) Shape() []int64 { return r.elements().Shape() }

// FullShape returns the shape of the selected block with one entry for every axis of the
// array, in the order of the result. For points and masks it is the same as Shape.
func (r *Resolved) FullShape() []int64 { return r.elements().FullShape() }

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
	return (*Resolved)(r.elements().Select(q.elements())), nil
}

// Axes returns, for each axis of the result, the axis of the array that it comes from. It
// returns nil for points and masks.
func (r *Resolved) Axes() []int { return r.elements().Axes() }

// Along returns the elements that are selected along an axis of the array, as a selection
// of that axis. For points and masks it returns all.
func (r *Resolved) Along(axis int) Item {
	a, ok := r.elements().Along(axis)
	if !ok {
		return All()
	}
	first, last := a.Start, a.Start+(a.Count-1)*a.Step
	switch {
	case a.Given() != nil:
		return List(a.Given()...)
	case !a.Flip:
		return Stepped(first, last+1, a.Step)
	case a.Count == 0:
		return Span(0, 0)
	}
	stop := first - 1
	if stop < 0 {
		stop = Open // a negative bound counts from the end
	}
	return Stepped(last, stop, -a.Step)
}

// Places returns, for each selected element in C order, its number in C order within the
// array.
func (r *Resolved) Places() []int64 { return r.elements().Places() }

// Pieces yields the selected elements chunk by chunk, in C order of the chunks. from
// selects elements of one chunk from the array. to selects the places where these go
// from the block that r makes. Both have the same shape: that of a part of the block,
// or one axis of points.
func (r *Resolved) Pieces(g *grid.Grid) iter.Seq2[*Resolved, *Resolved] {
	return func(yield func(from, to *Resolved) bool) {
		for from, to := range r.elements().Pieces(g) {
			if !yield((*Resolved)(from), (*Resolved)(to)) {
				return
			}
		}
	}
}

// Part returns the selection of those elements whose places lie within the box. The box
// has the axes of [Resolved.FullShape].
func (r *Resolved) Part(places grid.Box) *Resolved { return (*Resolved)(r.elements().Part(places)) }

// Slabs yields boxes of places that follow each other in C order and together are the
// selected block. A slab has at most limit bytes, for elements of size bytes, but at
// least one element. It ends at a chunk boundary if possible, so that few chunks are
// touched twice. If a chunk is longer than a slab, it ends at a boundary of a grid of
// inner chunks, if one is given. The boxes have the axes of [Resolved.FullShape].
func (r *Resolved) Slabs(g *grid.Grid, size, limit int64, inner ...*grid.Grid) iter.Seq[grid.Box] {
	return r.elements().Slabs(g, size, limit, inner...)
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
	return (*Resolved)(r.elements().Transpose(axes)), nil
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
