// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
)

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

// resolve binds the selection to an array that may have another shape by now.
func (r *Resolved) resolve(t *Target) (*Resolved, error) {
	if slices.Equal(r.source, t.Shape) {
		return r, nil
	}
	if len(t.Shape) != len(r.source) {
		return nil, rankError(len(r.source), len(t.Shape))
	}
	for i, in := range r.Bounds() {
		// A larger array still has all elements, so only the bounds matter.
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
