// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Write stores the elements of src, a view that [selection.Resolved.Place] made. It does
// not read chunks that the selection covers. If src holds only the fill value, it does
// not create chunks.
//
// Writers of one chunk take turns in this process. If the store has conditional writes,
// writers of parts of one chunk in other processes retry, and no change is lost.
// Otherwise the last writer wins.
func (a *Array) Write(ctx context.Context, sel *selection.Resolved, src strided.View, how Writing) error {
	if sel.Len() == 0 {
		return ctx.Err()
	}
	plan := selection.NewPlan(sel, a.Grid)
	r := a.newRun(sel.Touched(a.Grid), sel.Len())
	next := func(w *writer) bool { return plan.Next(w.Visit) }
	write := func(ctx context.Context, w *writer) error { return w.fail(w.write(ctx, src)) }
	if a.blanks(plan, src, how) {
		return r.blank(ctx, plan, sel.Touched(a.Grid), how, write)
	}
	if n := min(plan.Chunks(), sel.Len()); n > MostVisited {
		return fmt.Errorf("%w: the write would store %d chunks, and one call stores at most %d: select a part", ErrLimit, n, int64(MostVisited))
	}
	if how.FirstAlone {
		// All appends that were planned on one document store this chunk first. Only one
		// of their conditional writes succeeds, before the others store more.
		if w := r.newWriter(how); next(w) {
			if err := write(ctx, w); err != nil {
				return err
			}
		}
	}
	return each(ctx, r.workers, next, func() *writer { return r.newWriter(how) }, write)
}

func (w *writer) write(ctx context.Context, src strided.View) error {
	n, err := w.begin()
	if w.Chain.Divided() {
		return w.writeDivided(ctx, src)
	}
	w.Into(src)
	// A boundary chunk may have elements of an append in flight, so it is read even if
	// the selection covers it.
	whole := w.Covers() && !(w.Shared && w.Cell.IsBoundary())
	if err != nil || w.overwrites(n, whole) {
		return w.overwrite(ctx, n, err)
	}
	if !whole && w.Valid == nil {
		// Reading large chunks only to count them would make a dry run slow.
		if noted, err := w.rehearse(ctx, n); noted || err != nil {
			return err
		}
	}
	if !whole || w.Picks != nil || w.Cell.IsBoundary() {
		return w.holding(ctx, w.writeWeight(n, whole), func() error {
			return w.again(func() error { return w.change(ctx, n, whole) })
		})
	}
	weight, err := w.bytes.Acquire(ctx, w.writeWeight(n, whole))
	if err != nil {
		return err
	}
	defer w.bytes.Release(weight)
	turn, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer turn.Release(1)
	w.on = store.Condition{} // the whole chunk is replaced; the last writer wins
	return w.put(ctx, w.Placed, n)
}

// leastRehearsed is the size in decoded bytes from which a dry run does not read a chunk.
// Reading a shorter one costs hardly more than checking that it exists.
const leastRehearsed = 1 << 20

// rehearse records in a dry run that a part of the stored chunk, of n bytes, changes. It
// returns false if the caller has to change the chunk as usual.
func (w *writer) rehearse(ctx context.Context, n int64) (noted bool, err error) {
	if n < leastRehearsed {
		return false, nil
	}
	s, dry := rehearsal.Of(w.Store)
	if !dry {
		return false, nil
	}
	coded := n
	if w.Chain.Plain() {
		coded = 0
	}
	return s.Rework(ctx, w.key, coded)
}
