// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/nodelock"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/store"
)

// update publishes a change. plan returns the change of the newest state, and the state
// that it leads to. If another writer publishes first, update plans again. If a writer
// has crashed, update completes its change first.
func (a *Array) update(ctx context.Context, plan func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error)) error {
	if err := a.writable(); err != nil {
		return err
	}
	n := a.publisher()
	n.Recent = &a.recent
	return a.updateAs(ctx, n, plan)
}

// updateAs is update for a node that may name the holder of a reservation.
func (a *Array) updateAs(ctx context.Context, n publish.Node, plan func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error)) error {
	// Compare with this state later: a new one means that a change was published.
	published := a.state.Load()
	err := publish.Retry(ctx, func() error {
		err := publish.Update(ctx, n, a.planned(ctx, plan))
		switch {
		case errors.Is(err, publish.ErrPending):
			// ErrPending is a conflict, so Retry plans again after the recovery.
			err = errors.Join(a.finishOthers(ctx), err)
		case errors.Is(err, publish.ErrHeld):
			// The reservation may be published, and its writer crashed before it
			// could end it.
			if ended, endErr := a.endPublished(ctx, ""); ended || endErr != nil {
				err = errors.Join(endErr, publish.ErrPending) // which is a conflict, so retry tries again
			}
		}
		return err
	})
	// The consolidated metadata of the groups above has a copy of the document. Update it
	// last: readers of the copy then never see chunks that are not stored yet.
	if now := a.state.Load(); now != published && (err == nil || errors.Is(err, ErrIncomplete)) {
		err = errors.Join(err, tree.RefreshAbove(store.Finishing(ctx), store.Key{}, a.place()))
	}
	return err
}

// planned turns a plan on a state into a plan on a document. Once the change is
// published, the array takes over the new state.
func (a *Array) planned(ctx context.Context, plan func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error)) func(publish.Document) (*publish.Change, error) {
	return func(d publish.Document) (*publish.Change, error) {
		// Publishing succeeds only if d is still current, so no other grid can appear
		// between this time and then.
		now := time.Now()
		old, err := a.known(ctx, d)
		if err != nil {
			return nil, err
		}
		change, next, err := plan(old)
		if err != nil {
			return nil, err
		}
		if change == nil {
			a.state.Store(old)
			return nil, nil
		}
		// Publish calls this between publishing and reclaiming, so that readers of this
		// process do not look for chunks that are about to be deleted.
		change.Published = func(v store.Version) {
			next.Version = v
			next.Confirm(now)
			if next.Numbering == nil {
				next.Inherit(old)
			}
			a.become(next)
		}
		return change, nil
	}
}

// become makes next the state of the array. In format 2 the attributes have a document of
// their own and may have changed meanwhile, so they are taken from the present state.
func (a *Array) become(next *snapshot.Array) {
	if !a.isV2() {
		a.state.Store(next)
		return
	}
	for {
		now := a.state.Load()
		if doc, err := next.Doc.WithAttributes(now.Doc.Attributes); err == nil { // they are an object
			next.Doc = doc
		}
		if a.state.CompareAndSwap(now, next) {
			return
		}
	}
}

// known returns the state that a document describes. It is the present state if that has
// the version of the document. In format 2 the attributes are those of the present state,
// because the document does not contain them.
func (a *Array) known(ctx context.Context, d publish.Document) (*snapshot.Array, error) {
	s := a.state.Load()
	// Keep the state and with it the grid, which may be expensive to parse.
	if s.Version == d.Version && !d.Version.IsZero() {
		return s, nil
	}
	attributes, err := s.Doc.MarshalAttributes(a.options.Limits.metadata())
	if err != nil {
		return nil, err
	}
	next, err := a.parse(d.Bytes, attributes, d.Version)
	if err != nil {
		return nil, err
	}
	a.number(ctx, s, next)
	return next, nil
}

// finishOthers completes what a crashed writer has begun: it rolls a transaction of this
// array forward or back, or ends a published reservation. Then it reads the array again.
func (a *Array) finishOthers(ctx context.Context) error {
	_, err := a.finishFound(ctx)
	return err
}

// finishFound is finishOthers. It reports whether there was a transaction or a
// reservation.
func (a *Array) finishFound(ctx context.Context) (found bool, err error) {
	found, err = a.place().FinishTransaction(ctx)
	if !found || err != nil {
		return found, err
	}
	// A transaction may have changed the document of this array.
	if _, err := a.look(ctx, a.state.Load()); err != nil {
		return true, err
	}
	_, err = a.endPublished(ctx, "")
	return true, err
}

// change publishes the change that plan makes of the newest state. If another writer
// publishes first, it plans again. Other calls of this process on the array wait.
func (a *Array) change(ctx context.Context, plan func(*snapshot.Array) (*snapshot.Reshape, error)) error {
	lock, err := a.lock().Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	return a.update(ctx, func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) { return a.grow(old, plan) })
}

// grow returns the change that plan makes of old, and the state that it leads to.
func (a *Array) grow(old *snapshot.Array, plan func(*snapshot.Array) (*snapshot.Reshape, error)) (*publish.Change, *snapshot.Array, error) {
	// A nil plan without an error means that nothing has to change.
	g, err := plan(old)
	if err != nil || g == nil {
		return nil, nil, err
	}
	b := a.binding()
	next, err := b.Resized(old, g.Grid)
	if err != nil {
		return nil, nil, err
	}
	c, err := old.Stage(next, g, b.Limits)
	return c, next, err
}

// errReplaced is the conflict of a write whose array was removed or replaced meanwhile.
// It is not retried, because the values were meant for the old array.
var errReplaced = fmt.Errorf("%w: another program has removed or replaced the array meanwhile", ErrConflict)

// errRechunked is the conflict of a write whose array was rechunked meanwhile. The
// chunks that it stored belong to the superseded grid, so it writes again.
var errRechunked = fmt.Errorf("%w: the array was rechunked meanwhile", ErrConflict)

// errUndecided is the conflict of a write that a pending transaction of several arrays
// may not have seen. Once that is finished, the document tells.
var errUndecided = fmt.Errorf("%w: a change of several arrays is not finished", ErrConflict)

// writeOnce stores chunks for one state of the array, and returns their box. shared means
// that other processes may append meanwhile.
type writeOnce func(s *snapshot.Array, shared bool) (grid.Box, error)

// store calls write, and then looks at the document again. A plain write takes no lock,
// so another process may have removed, replaced or rechunked the array meanwhile. If it
// was rechunked, store calls write again for the new grid. border says that the write
// touches boundary chunks, and needs the lock of the store.
func (a *Array) store(ctx context.Context, lock *nodelock.Held, s *snapshot.Array, border bool, write writeOnce) error {
	var last func() error // looks again after the last write
	once := func(s *snapshot.Array, shared bool) error {
		cells, err := write(s, shared)
		if err != nil {
			return a.orRechunked(ctx, s, cells, err)
		}
		last = func() error { return a.confirmStored(ctx, lock, s, cells) }
		return last()
	}
	// A boundary chunk holds elements beyond the extent. Rewriting it during an append of
	// another process could restore their old values, so begin under the lock.
	err := errRechunked
	if !border {
		err = once(s, false)
	}
	// Where the store has locks, the second try excludes further rechunks.
	for range writeTries {
		switch {
		case errors.Is(err, errRechunked):
			err = a.withoutGrowth(ctx, lock, s, once)
		case errors.Is(err, errUndecided):
			// Finish it without the lock of the store, which finishing takes.
			if err = a.finishOthers(ctx); err == nil {
				err = last()
			}
		default:
			return err
		}
	}
	return err
}

// confirmStored checks after a write that the stored chunks belong to the array that was
// written to. A writer may be delayed, by a slow disk or a signal, until another process
// has removed the array, created another one in its place, or rechunked it. But all
// these change the document before they delete or ignore chunks: if it is still the same
// now, they will see these chunks.
//
// The check costs one small request for each write, not for each chunk. It accepts an
// array that has grown or shrunk. If the array was rechunked, the error is
// [errRechunked].
//
// It cannot recognize an array that was replaced by one with the same type, grid, keys,
// codecs and fill value. A store has no property that survives growth and new attributes
// but differs for a new array: all of them rewrite the document, overwriting in place
// keeps the directory and its inode, and file systems reuse inodes at once.
func (a *Array) confirmStored(ctx context.Context, lock *nodelock.Held, s *snapshot.Array, chunks grid.Box) error {
	first := make([]int64, len(chunks))
	// No other process changes the array, or nothing was stored.
	if a.options.SingleWriter || !chunks.First(first) {
		return nil
	}
	// Read the document after the chunks were stored. The other order would miss a
	// removal in between.
	seen := s
	for range writeTries {
		now, err := a.look(ctx, seen)
		// A rechunk that begins to compare after this sees the chunks.
		if now == s && err == nil && !now.Warned {
			return nil
		}
		if err := a.confirmIn(ctx, s, now, chunks, err); err != nil {
			return err
		}
		if done, err := a.passRechunking(ctx, lock, now); done || err != nil {
			return err
		}
		seen = now
	}
	return fmt.Errorf("%w: chunks are stored, but the document changes all the time", ErrConflict)
}

// confirmKeys is confirmIn for a document whose grid has the chunks that were stored. It
// may be a later grid that has them again: the earlier one was superseded and deleted
// meanwhile, and the stored chunks with it.
func (a *Array) confirmKeys(ctx context.Context, s *snapshot.Array) error {
	deleted, err := a.vacuumed(ctx, s)
	if err != nil {
		return fmt.Errorf("chunks are stored; whether they were deleted meanwhile cannot be read: %w", err)
	}
	if deleted {
		// The elements may have other indices by now.
		return fmt.Errorf("%w: the array was rechunked and its old chunks were deleted meanwhile; select again", ErrConflict)
	}
	return nil
}

// vacuumed reports whether the grid of s may have been deleted by a vacuum since s was
// the present state.
func (a *Array) vacuumed(ctx context.Context, s *snapshot.Array) (bool, error) {
	// Stores with locks have one clock. Services have many, and drivers convert times.
	since := s.CurrentAt(!s.Engine.Fenced)
	return a.lineage().Vacuumed(ctx, s.Engine.Keys, s.Grid.Rank(), since)
}

// confirmIn returns an error unless the chunks that were stored for s have the same
// meaning in now. err is the error of reading now.
func (a *Array) confirmIn(ctx context.Context, s, now *snapshot.Array, chunks grid.Box, err error) error {
	first := make([]int64, len(chunks))
	chunks.First(first)
	key := s.Engine.Key(first)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: it is not there any more; chunks from %s on may be left, which the next array that is made here removes (CreateOptions.Overwrite)", errReplaced, key)
	case err != nil:
		return fmt.Errorf("chunks from %s on are stored, but the document cannot be read to confirm that the array still exists: %w", key, err)
	case now == s: // only warned
		return nil
	}
	// Growth and new attributes also change the document, but not the meaning of the
	// chunks.
	changed := s.ChangedFor(now, chunks)
	if changed == "" {
		return a.confirmKeys(ctx, s)
	}
	chain, err := a.rechunkedTo(ctx, s, now)
	switch {
	case err != nil:
		return fmt.Errorf("chunks are stored from %s on; whether the array was rechunked meanwhile cannot be read: %w", key, err)
	case slices.ContainsFunc(chain, func(r *lineage.Record) bool { return r.Moved }):
		return errMoved
	case chain != nil:
		return errRechunked
	}
	return fmt.Errorf("%w: %s, and chunks from %s on may have the elements of the old array: write there again what the present one has; rechunk.Vacuum deletes what it does not have", errReplaced, changed, key)
}

// lineage returns the place of the records of rechunks.
func (a *Array) lineage() lineage.Array {
	return lineage.Array{Store: a.hierarchy.store, Path: a.path, Limits: a.options.Limits.metadata()}
}

// rechunkedTo returns the rechunks that lead from s to now, latest first, or nil if
// none do.
func (a *Array) rechunkedTo(ctx context.Context, s, now *snapshot.Array) ([]*lineage.Record, error) {
	records, err := a.lineage().Records(ctx)
	if errors.Is(err, store.ErrUnsupported) { // a store that cannot list has no records
		return nil, nil
	}
	return between(records, s, now), err
}

// between returns those of the records that lead from s to now, latest first, or nil if
// none do.
func between(records []*lineage.Record, s, now *snapshot.Array) []*lineage.Record {
	chain := lineage.Chain(records, now.Doc)
	for i, r := range chain {
		// The array may have got other edges before it was rechunked, but the same keys.
		was := r.Superseded()
		if lineage.Continues(was, s.Doc) || lineage.Alike(was, s.Doc) && !lineage.Alike(now.Doc, s.Doc) {
			return chain[:i+1]
		}
	}
	return nil
}

// passRechunking makes sure that a rechunk in progress sees the chunks that were just
// stored, and that have the same meaning in now. It reports whether nothing else is to be
// done.
//
// A rechunk first warns: it gives the document a new version. Then it compares the
// versions of all chunks with those that it has copied, and publishes. Between the
// warning and the publication these chunks may be too late for the comparison.
func (a *Array) passRechunking(ctx context.Context, lock *nodelock.Held, now *snapshot.Array) (done bool, err error) {
	claimed, err := a.lineage().Claimed(ctx)
	if err != nil {
		return false, err
	}
	if !claimed {
		// No rechunk, or it was published just before its claim was dropped. In
		// the latter case the document has changed again.
		newest, err := a.fresh(ctx, now)
		return newest == now && err == nil, nil
	}
	unlock, locked, err := lock.LockStore(ctx)
	if err != nil {
		return false, err
	}
	if locked {
		// The rechunk compares and publishes under this lock. Either it has
		// published, or it will compare after this.
		newest, freshErr := a.fresh(ctx, now)
		// Or its process has crashed, and the journal of a transaction has the document
		// that is yet to be published.
		return newest == now && freshErr == nil, errors.Join(a.undecided(ctx), unlock())
	}
	// Without locks, change the document: the rechunk publishes only if its warning
	// is still the last version, or else compares again.
	err = publish.Disturb(ctx, a.publisher(), now.Version)
	if errors.Is(err, store.ErrConflict) {
		return false, unlock() // it was published, or another writer came first
	}
	if err != nil {
		return false, errors.Join(err, unlock())
	}
	// A transaction may have stored its pointer before. Then it publishes nevertheless.
	return true, errors.Join(a.undecided(ctx), unlock())
}

// undecided returns [errUndecided] if the array belongs to a transaction of several
// arrays that may not have seen the chunks that were just stored.
func (a *Array) undecided(ctx context.Context) error {
	err := publish.CheckPending(ctx, a.publisher(), store.Key{})
	if errors.Is(err, publish.ErrPending) {
		return errUndecided
	}
	return err
}

// orRechunked returns [errRechunked] if a write has failed because the array was
// rechunked meanwhile: after a vacuum, a key may have a chunk of another shape. If the
// records do not tell that any more, it returns another conflict. The chunks of the box
// may have been stored before the write failed. Otherwise it returns failed.
func (a *Array) orRechunked(ctx context.Context, s *snapshot.Array, chunks grid.Box, failed error) error {
	if a.options.SingleWriter || !errors.Is(failed, ErrCorrupt) && !errors.Is(failed, ErrConflict) {
		return failed
	}
	first := make([]int64, len(chunks))
	now, err := a.look(ctx, s)
	if now == s || err != nil || !chunks.First(first) {
		return failed
	}
	err = a.confirmIn(ctx, s, now, chunks, nil)
	if errors.Is(err, errRechunked) {
		return err
	}
	deleted, lookErr := a.vacuumed(ctx, s)
	if deleted && lookErr == nil && errors.Is(err, ErrConflict) {
		return err
	}
	return failed
}
