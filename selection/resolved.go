// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"varve.dev/zarr/grid"
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

// Len returns the number of selected elements.
func (r *Resolved) Len() int64 { return r.elements().Len() }

// Fields returns the names of the selected fields, or nil if whole elements are selected.
// The first list names fields of the elements. Every further list names fields of what
// the list before it selects.
func (r *Resolved) Fields() [][]string { return r.elements().Fields() }

// Shape returns the shape of the selected block. Axes of single indices are dropped.
func (r *Resolved) Shape() []int64 { return r.elements().Shape() }
