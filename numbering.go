// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"slices"

	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Indices mean elements of one state of an array. After another process has dropped or
// inserted a range, the same indices mean other elements. So a call that is given indices
// begins with the state in which they were resolved, and looks at newer ones by
// [Array.fresh], which refuses those with another numbering.

// errMoved is the conflict of a call whose array got or lost planes meanwhile.
var errMoved error = movedError{}

// movedError is final: a retry meets it again.
type movedError struct{}

func (movedError) Error() string {
	return ErrConflict.Error() + ": another program has dropped or inserted elements meanwhile, so that the selected ones may be others; " +
		"open the array again, and select again"
}

// Is reports whether target is [ErrConflict].
func (movedError) Is(target error) bool { return target == ErrConflict }

// Final marks the error as a [publish.Final].
func (movedError) Final() {}

// target is a selection, and the state of the array whose elements it means.
type target struct {
	*Array
	at  *snapshot.Array
	sel selection.Selection
}

// target returns what a selection means now.
func (a *Array) target(sel selection.Selection) target { return target{a, a.state.Load(), sel} }

// part returns a part of the selected elements.
func (t target) part(sel selection.Selection) target {
	t.sel = sel
	return t
}

// current returns the state of the array, or [errMoved] if elements have other indices
// there.
func (t target) current() (*snapshot.Array, error) {
	s := t.state.Load()
	if s.Numbering != t.at.Numbering {
		return nil, errMoved
	}
	return s, nil
}

// number gives next, a newer state than s, the numbering of s, or another one if elements
// may have other indices.
func (a *Array) number(ctx context.Context, s, next *snapshot.Array) {
	if a.renumbered(ctx, s, next) {
		next.Numbering = new(snapshot.Numbering)
		return
	}
	next.Numbering = s.Numbering
}

// renumbered reports whether elements may have other indices in next than in s. Without
// an answer of the store it reports true.
func (a *Array) renumbered(ctx context.Context, s, next *snapshot.Array) bool {
	at := a.lineage()
	// A range that is dropped or inserted gives all chunks other keys.
	if s.Engine.Keys != next.Engine.Keys {
		// A web server lists nothing. What a vacuum has noted is found by its name below.
		records, err := at.Records(ctx)
		if err != nil && !errors.Is(err, store.ErrUnsupported) {
			return true
		}
		if chain := between(records, s, next); chain != nil {
			return slices.ContainsFunc(chain, func(r *lineage.Record) bool { return r.Moved })
		}
	}
	// The records are deleted with the superseded grids, and the keys are used again.
	moved, err := at.MovedSince(ctx, s.CurrentAt(!s.Engine.Fenced))
	return moved || err != nil
}
