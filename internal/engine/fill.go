// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"iter"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/selection"
)

// blanks reports whether a write changes only stored chunks, because it writes only the
// fill value. A listing finds these even if the selection touches too many chunks to
// visit.
func (a *Array) blanks(plan *selection.Plan, src strided.View, how Writing) bool {
	switch {
	case how.KeepFill || a.KeepFill: // every chunk is stored
	case how.Valid != nil: // beyond Valid, chunks may hold other elements
	case !plan.Seeks() || plan.Chunks() <= fewCells:
	default:
		elem, one := src.Repeats()
		return one && len(elem) == len(a.Fill) && strided.AllEqual(elem, a.Fill)
	}
	return false
}

// blank writes the fill value to the selected elements of the stored chunks in the box.
// Chunks that a concurrent writer stores meanwhile count as written later.
func (r *run) blank(
	ctx context.Context, plan *selection.Plan, cells grid.Box, how Writing, write func(context.Context, *writer) error,
) error {
	next, stop := iter.Pull2(r.Stored(ctx, cells))
	defer stop()
	var failed error
	err := each(ctx, r.workers,
		func(w *writer) bool {
			for {
				index, err, more := next()
				if err != nil {
					failed = err
				}
				// Skip stored chunks that the selection does not touch.
				if !more || err != nil || plan.Seek(index, w.Visit) {
					return more && err == nil
				}
			}
		},
		func() *writer { return r.newWriter(how) }, write)
	return errors.Join(failed, err)
}
