// SPDX-License-Identifier: Apache-2.0

package array

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync/atomic"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/nodelock"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// ErrReplaced is the conflict of a write whose array was removed or replaced meanwhile.
// It is not retried, because the values were meant for the old array.
var ErrReplaced = fmt.Errorf("%w: another program has removed or replaced the array meanwhile", store.ErrConflict)

// ErrRechunked is the conflict of a write whose array was rechunked meanwhile. The
// chunks that it stored belong to the superseded grid, so it writes again.
var ErrRechunked = fmt.Errorf("%w: the array was rechunked meanwhile", store.ErrConflict)

// ErrUndecided is the conflict of a write that a pending transaction of several arrays
// may not have seen. Once that is finished, the document tells.
var ErrUndecided = fmt.Errorf("%w: a change of several arrays is not finished", store.ErrConflict)

// WriteOnce stores chunks for one state of the array, and returns their box. shared means
// that other processes may append meanwhile.
type WriteOnce func(s *snapshot.Array, shared bool) (grid.Box, error)

// Store calls write, and then looks at the document again. A plain write takes no lock,
// so another process may have removed, replaced or rechunked the array meanwhile. If it
// was rechunked, Store calls write again for the new grid. border says that the write
// touches boundary chunks, and needs the lock of the store.
func (a *Array) Store(ctx context.Context, lock *nodelock.Held, s *snapshot.Array, border bool, write WriteOnce) error {
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
	err := ErrRechunked
	if !border {
		err = once(s, false)
	}
	// Where the store has locks, the second try excludes further rechunks.
	for range writeTries {
		switch {
		case errors.Is(err, ErrRechunked):
			err = a.WithoutGrowth(ctx, lock, s, once)
		case errors.Is(err, ErrUndecided):
			// Finish it without the lock of the store, which finishing takes.
			if err = a.FinishOthers(ctx); err == nil {
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
// [ErrRechunked].
//
// It cannot recognize an array that was replaced by one with the same type, grid, keys,
// codecs and fill value. A store has no property that survives growth and new attributes
// but differs for a new array: all of them rewrite the document, overwriting in place
// keeps the directory and its inode, and file systems reuse inodes at once.
func (a *Array) confirmStored(ctx context.Context, lock *nodelock.Held, s *snapshot.Array, chunks grid.Box) error {
	first := make([]int64, len(chunks))
	// No other process changes the array, or nothing was stored.
	if a.Node.SingleWriter || !chunks.First(first) {
		return nil
	}
	// Read the document after the chunks were stored. The other order would miss a
	// removal in between.
	seen := s
	for range writeTries {
		now, err := a.Look(ctx, seen)
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
	return fmt.Errorf("%w: chunks are stored, but the document changes all the time", store.ErrConflict)
}

// confirmKeys is confirmIn for a document whose grid has the chunks that were stored. It
// may be a later grid that has them again: the earlier one was superseded and deleted
// meanwhile, and the stored chunks with it.
func (a *Array) confirmKeys(ctx context.Context, s *snapshot.Array) error {
	deleted, err := a.Vacuumed(ctx, s)
	if err != nil {
		return fmt.Errorf("chunks are stored; whether they were deleted meanwhile cannot be read: %w", err)
	}
	if deleted {
		// The elements may have other indices by now.
		return fmt.Errorf("%w: the array was rechunked and its old chunks were deleted meanwhile; select again", store.ErrConflict)
	}
	return nil
}

// Vacuumed reports whether the grid of s may have been deleted by a vacuum since s was
// the present state.
func (a *Array) Vacuumed(ctx context.Context, s *snapshot.Array) (bool, error) {
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
		return fmt.Errorf("%w: it is not there any more; chunks from %s on may be left, which the next array that is made here removes ("+remedy.CreateOverwrite+")", ErrReplaced, key)
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
		return ErrMoved
	case chain != nil:
		return ErrRechunked
	}
	return fmt.Errorf("%w: %s, and chunks from %s on may have the elements of the old array: write there again what the present one has; "+remedy.Vacuum+" deletes what it does not have", ErrReplaced, changed, key)
}

// lineage returns the place of the records of rechunks.
func (a *Array) lineage() lineage.Array {
	return lineage.Array{Store: a.Node.Store, Path: a.Node.Path, Limits: a.Node.Limits}
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
		newest, err := a.LookUnmoved(ctx, now)
		return newest == now && err == nil, nil
	}
	unlock, locked, err := lock.LockStore(ctx)
	if err != nil {
		return false, err
	}
	if locked {
		// The rechunk compares and publishes under this lock. Either it has
		// published, or it will compare after this.
		newest, freshErr := a.LookUnmoved(ctx, now)
		// Or its process has crashed, and the journal of a transaction has the document
		// that is yet to be published.
		return newest == now && freshErr == nil, errors.Join(a.undecided(ctx), unlock())
	}
	// Without locks, change the document: the rechunk publishes only if its warning
	// is still the last version, or else compares again.
	err = publish.Disturb(ctx, a.Node.Node, now.Version)
	if errors.Is(err, store.ErrConflict) {
		return false, unlock() // it was published, or another writer came first
	}
	if err != nil {
		return false, errors.Join(err, unlock())
	}
	// A transaction may have stored its pointer before. Then it publishes nevertheless.
	return true, errors.Join(a.undecided(ctx), unlock())
}

// undecided returns [ErrUndecided] if the array belongs to a transaction of several
// arrays that may not have seen the chunks that were just stored.
func (a *Array) undecided(ctx context.Context) error {
	err := publish.CheckPending(ctx, a.Node.Node, store.Key{})
	if errors.Is(err, publish.ErrPending) {
		return ErrUndecided
	}
	return err
}

// orRechunked returns [ErrRechunked] if a write has failed because the array was
// rechunked meanwhile: after a vacuum, a key may have a chunk of another shape. If the
// records do not tell that any more, it returns another conflict. The chunks of the box
// may have been stored before the write failed. Otherwise it returns failed.
func (a *Array) orRechunked(ctx context.Context, s *snapshot.Array, chunks grid.Box, failed error) error {
	if a.Node.SingleWriter || !errors.Is(failed, codec.ErrCorrupt) && !errors.Is(failed, store.ErrConflict) {
		return failed
	}
	first := make([]int64, len(chunks))
	now, err := a.Look(ctx, s)
	if now == s || err != nil || !chunks.First(first) {
		return failed
	}
	err = a.confirmIn(ctx, s, now, chunks, nil)
	if errors.Is(err, ErrRechunked) {
		return err
	}
	deleted, lookErr := a.Vacuumed(ctx, s)
	if deleted && lookErr == nil && errors.Is(err, store.ErrConflict) {
		return err
	}
	return failed
}

// WithoutGrowth calls write with the newest state, under a lock that prevents changes of
// the extent. In a store without locks other processes may append meanwhile. Then shared
// is true, and write must keep elements beyond the extent, because they may belong to a
// concurrent append.
func (a *Array) WithoutGrowth(ctx context.Context, h *nodelock.Held, s *snapshot.Array, write func(s *snapshot.Array, shared bool) error) error {
	release, locked, err := h.LockStore(ctx)
	if err != nil {
		return err
	}
	// Without a lock, a concurrent change shows as a conflict or as a chunk of another
	// shape. Then write again with the newest state.
	shared := !locked && !a.Node.SingleWriter
	for range writeTries {
		if s, err = a.LookUnmoved(ctx, s); err == nil {
			err = write(s, shared)
		}
		if !shared || errors.Is(err, ErrReplaced) || errors.Is(err, ErrRechunked) || errors.Is(err, ErrUndecided) || !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, store.ErrConflict) {
			break
		}
		if now, staleErr := a.LookUnmoved(ctx, s); now == s || staleErr != nil {
			break // no other writer is the reason
		}
	}
	return errors.Join(err, release())
}

// writeTries bounds how often a write of boundary chunks is repeated because of
// concurrent changes.
const writeTries = 32

// Batch calls work with a batch of writes, and commits it if work succeeds.
func (a *Array) Batch(ctx context.Context, work func(context.Context, store.Batch) error) error {
	// What is noted of chunks holds whether or not the batch succeeds.
	defer a.Flush(ctx)
	return publish.Batch(store.WithLocking(ctx, a.Node.Locking), a.Node.Store, a.Node.Durability, work)
}

// UntilFresh calls do with the newest state. If do finds damage, the state may have
// become stale meanwhile: then UntilFresh calls do again.
func (a *Array) UntilFresh(ctx context.Context, s *snapshot.Array, do func(s *snapshot.Array, shared bool) error) error {
	for range writeTries {
		now, err := a.Look(ctx, s)
		if err == nil {
			err = do(now, false)
		}
		if !errors.Is(err, codec.ErrCorrupt) {
			return err
		}
		newest, staleErr := a.Look(ctx, now)
		if newest == now || staleErr != nil {
			return errors.Join(err, staleErr)
		}
		s = newest
	}
	return ErrUnsettled
}

// Session is an array for an operation of several steps. It remembers the state from
// which the operation began.
type Session struct {
	*Array
	opened *snapshot.Array
	latest atomic.Pointer[snapshot.Array]
}

// Begin begins an operation with the present state.
func (a *Array) Begin() *Session {
	s := &Session{Array: a, opened: a.State()}
	s.latest.Store(s.opened)
	return s
}

// Fresh returns the state of the present document. Elements may have other indices there
// than when the operation began.
func (s *Session) Fresh(ctx context.Context) (*snapshot.Array, error) {
	now, err := s.Look(ctx, s.latest.Load())
	if err == nil {
		s.latest.Store(now)
	}
	return now, err
}

// Unmoved is Fresh for an operation that is given indices. It returns a conflict if
// elements have other indices by now than when the operation began.
func (s *Session) Unmoved(ctx context.Context) (*snapshot.Array, error) {
	now, err := s.Fresh(ctx)
	if err == nil && now.Numbering != s.opened.Numbering {
		err = MovedSince(s.opened)
	}
	return now, err
}

// Participant returns the part of the array in a transaction of several arrays, for
// [publish.UpdateAll].
func (a *Array) Participant(ctx context.Context, plan func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error)) publish.Participant {
	return publish.Participant{Node: a.Node.Node, Plan: a.Planned(ctx, plan)}
}
