// SPDX-License-Identifier: Apache-2.0

package array

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Indices mean elements of one state of an array. After another process has dropped or
// inserted a range, the same indices mean other elements. So a call that is given indices
// begins with the state in which they were resolved, and looks at newer ones by
// [Array.LookUnmoved], which refuses those with another numbering.

// ErrMoved is the conflict of a call whose array got or lost planes meanwhile. errCopied
// is that of an array of which only a copy of the document was read, in consolidated
// metadata: to open it again in the same way may meet the same copy.
var ErrMoved, errCopied error = movedError{}, movedError{copied: true}

// movedError is final: a retry meets it again.
type movedError struct{ copied bool }

func (e movedError) Error() string {
	if e.copied {
		return store.ErrConflict.Error() + ": elements were dropped or inserted, and the array was opened by a copy of its document, in the consolidated metadata of a group, " +
			"that may be older; open the array by its own path, or consolidate the group again (" + remedy.Consolidate + ") and open it again"
	}
	return store.ErrConflict.Error() + ": another program has dropped or inserted elements meanwhile, or, in a store without locks, less than 2 seconds before, " +
		"so that the selected ones may be others; open the array again, and select again"
}

// Is reports whether target is [store.ErrConflict] or [ErrMoved].
func (movedError) Is(target error) bool { return target == store.ErrConflict || target == ErrMoved }

// Final marks the error as a [publish.Final].
func (movedError) Final() {}

// MovedSince returns the error of a call that selected elements of s, if they have other
// indices by now.
func MovedSince(s *snapshot.Array) error {
	if s.Copy != nil {
		return errCopied
	}
	return ErrMoved
}

// number gives next, a newer state than s, the numbering of s, or another one if elements
// may have other indices.
func (a *Array) number(ctx context.Context, s, next *snapshot.Array) {
	if a.renumbered(ctx, s, next) {
		next.Numbering = new(snapshot.Numbering)
		return
	}
	next.Inherit(s)
}

// renumbered reports whether elements may have other indices in next than in s. Without
// an answer of the store it reports true.
func (a *Array) renumbered(ctx context.Context, s, next *snapshot.Array) bool {
	at := a.lineage()
	var chain []*lineage.Record
	// A range that is dropped or inserted gives all chunks other keys.
	if s.Engine.Keys != next.Engine.Keys {
		// A web server lists nothing. What a vacuum has noted is found by its name below.
		records, err := at.Records(ctx)
		if err != nil && !errors.Is(err, store.ErrUnsupported) {
			return true
		}
		chain = between(records, s, next)
		if slices.ContainsFunc(chain, func(r *lineage.Record) bool { return r.Moved }) {
			return true
		}
	}
	// The records are deleted with the superseded grids, and the keys are used again. So
	// the grid from which the chain begins may be a later one with the keys of s.
	id, err := at.MovedSince(ctx, currentAt(s, next, chain))
	return err != nil || id != "" && !s.KnowsMove(id)
}

// currentAt returns a time when s was the present state, by the clock of the store. A
// copy in consolidated metadata may have been old when it was written, unless the present
// document, or one that a rechunk on the way to it has superseded, says the same:
// elements have the indices of that one, if none were dropped or inserted since the copy
// was written.
func currentAt(s, next *snapshot.Array, chain []*lineage.Record) time.Time {
	exact := !s.Engine.Fenced
	if s.Copy == nil {
		return s.CurrentAt(exact)
	}
	was, err := likeness.Identity(s.Doc)
	if err != nil {
		return time.Unix(0, 0)
	}
	same := func(doc *metadata.Array) bool {
		is, err := likeness.Identity(doc)
		return err == nil && bytes.Equal(is, was)
	}
	if same(next.Doc) || slices.ContainsFunc(chain, func(r *lineage.Record) bool { return same(r.Superseded()) }) {
		return s.Copy.At(exact)
	}
	return time.Unix(0, 0)
}
