// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/store"
)

// fence is the run of a writer in a store that has conditional writes but no locks.
// Concurrent writers may plan on the same document. So none of them may rely on a key of
// a new region before its document is published. The rules:
//
//  1. A new chunk is written on the condition that its key is free.
//  2. To replace a chunk that exists, the writer first raises its fence: it rewrites the
//     document with another ID at its end (see trail.go), on the condition that it is
//     still the planned one. Every other plan on that document then fails when it
//     publishes. After that the writer reads the version of each chunk, checks that its
//     fence still stands, and overwrites the chunk on the condition that it still has
//     that version.
//  3. A concurrent plan on the fenced document may write chunks until it finds out. If
//     all plans that put a chunk put the same marker chunk first, only one of them gets
//     past the marker without a fence of its own, so one fence covers all chunks that the
//     marker guards. For any other chunk the fence is raised again.
//  4. An answer tells nothing about a write of the document unless it is a success: a
//     request may be carried out although its answer is lost, or be delivered twice. The
//     trail of the present document tells.
//  5. The document is published on the condition that the fence stands, or, if none was
//     raised, that the document is still the one that was read.
//  6. Nothing is deleted before the document is published, because rule 1 would give the
//     free key to a concurrent writer. Chunks of fill values are stored instead.
//  7. A write of a chunk may arrive late, when the fence no longer stands. Some stores
//     derive versions from the content, so the chunk may have the expected version
//     again: another writer has overwritten it and then planned again. In such a store a
//     chunk is replaced by a draft ([store.Drafter]), which is made before the fence is
//     raised or checked. Whoever raises a fence later revokes the draft before it
//     replaces the chunk. A deletion has no draft: CORRECTNESS.md says what a late one
//     may do.
type fence struct {
	Node
	change *Change

	mu       sync.Mutex
	planned  writeID  // the publication that was planned on
	document Document // the latest one that this writer has read or written
	raised   bool
	claimed  bool // this writer put the marker chunk
}

// fenceTries is the number of attempts at a write whose answer is lost.
const fenceTries = 8

func (f *fence) stage(ctx context.Context, c *Change) error {
	if c.Stage == nil {
		return nil
	}
	err := c.Stage(ctx, stagingBatch{f})
	if err == nil || errors.Is(err, store.ErrConflict) || ctx.Err() != nil {
		return err
	}
	// If a concurrent writer has published, it may have changed or removed the chunks
	// that this plan expects. Report a conflict, so that the caller plans again.
	if info, lookErr := store.Stat(ctx, f.Store, f.key()); lookErr == nil && info.Version != f.present() {
		return fmt.Errorf("%w while chunks were written: %w", store.ErrConflict, err)
	}
	return err
}

// present returns the version of the latest document that this writer has read or
// written.
func (f *fence) present() store.Version {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.document.Version
}

func (f *fence) secure(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.raise(ctx)
}

// warn raises the fence with a document that has the mark of a warning.
func (f *fence) warn(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.document.Bytes = withMark(f.document.Bytes)
	return f.raise(ctx)
}

// stagingBatch is the batch in which [Change.Stage] writes chunks under a fence. Each
// write takes effect immediately.
type stagingBatch struct{ f *fence }

// Can implements [store.Batch].
func (s stagingBatch) Can(op store.Op) bool { return op == store.OpPut || op == store.OpPutIf }

// Write implements [store.Batch]. Rule 6 refuses deletions.
func (s stagingBatch) Write(ctx context.Context, c store.Change) (store.Written, error) {
	switch c.Op {
	case store.OpPut:
		return store.Written{}, s.put(ctx, c.Key, c.Value)
	case store.OpPutIf:
		return store.Written{}, s.putIf(ctx, c.Key, c.Value, c.If)
	case store.OpDelete, store.OpDeleteIf:
		return store.Written{}, errEarly
	}
	return store.Written{}, fmt.Errorf("%w: a change under a fence", store.ErrUnsupported)
}

// put stores a chunk that the planned document does not describe.
func (s stagingBatch) put(ctx context.Context, key store.Key, value []byte) error {
	f := s.f
	// Rule 1. The key may have a chunk that a crash orphaned, or the chunk of a
	// concurrent writer that planned on the same document.
	_, err := f.putIf(ctx, key, value, store.IfAbsent())
	if err != nil && f.mayBeThere(ctx, key, err) {
		err = f.replace(ctx, key, value, store.Version{})
	}
	return f.claim(key, err)
}

// mayBeThere reports whether a key has a value, or may have, after the error of a write
// on the condition that it has none. If it has none, the error says why, as when there is
// no space left.
func (f *fence) mayBeThere(ctx context.Context, key store.Key, err error) bool {
	switch {
	case ctx.Err() != nil:
		return false
	case errors.Is(err, store.ErrConflict):
		return true
	case certainlyNotWritten(err):
		return false
	}
	_, err = store.Stat(ctx, f.Store, key)
	return !errors.Is(err, fs.ErrNotExist)
}

// claim records that this writer put the marker chunk, unless err is set.
func (f *fence) claim(key store.Key, err error) error {
	if err == nil && key == f.change.Marker {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.claimed = true
	}
	return err
}

// putIf changes a chunk that the document describes. The condition names the version that
// the caller read.
func (s stagingBatch) putIf(ctx context.Context, key store.Key, value []byte, c store.Condition) error {
	// Rule 2. A chunk that is absent needs no fence: rule 1 covers it.
	if c.Absent() {
		_, err := s.f.putIf(ctx, key, value, c)
		return s.f.claim(key, err)
	}
	return s.f.claim(key, s.f.replace(ctx, key, value, c.Version()))
}

// errEarly makes the caller store the fill value instead.
var errEarly = fmt.Errorf("%w: chunks are deleted only after the document is published", store.ErrUnsupported)

// Commit does nothing.
func (s stagingBatch) Commit(context.Context) error { return nil }

// Discard does nothing.
func (s stagingBatch) Discard() {}

// putIf writes a value and returns its version. A store without conditional writes cannot
// be fenced.
func (f *fence) putIf(ctx context.Context, key store.Key, value []byte, c store.Condition) (store.Version, error) {
	version, err := store.Write(ctx, f.Store, store.PutIf(key, value, c), f.Durability)
	if errors.Is(err, store.ErrUnsupported) {
		err = fmt.Errorf("%w: %w", ErrUnsafe, err)
	}
	return version.Version, err
}

// holdFence makes sure that no concurrent plan on the document can be published. Call it
// after reading the version of the object at key.
//
// A fence that was raised earlier suffices only under rule 3. Otherwise the object may
// come from a plan on the fenced document itself, so stand raises the fence again.
func (f *fence) holdFence(ctx context.Context, key store.Key) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.raised || !f.claimed || f.change.Guarded == nil || !f.change.Guarded(key) {
		return f.raise(ctx)
	}
	// The marker chunk is ours. So any other writer of this key has raised a fence of its
	// own, which changed the version of the document.
	info, err := store.Stat(ctx, f.Store, f.key())
	if err == nil && info.Version != f.document.Version {
		err = fmt.Errorf("%w: another writer has begun a change", store.ErrConflict)
	}
	return err
}

// raise rewrites the document with the ID of a new fence.
func (f *fence) raise(ctx context.Context) error {
	id := newID()
	document := withFence(f.document.Bytes, id)
	var err error
	for range fenceTries {
		var version store.Version
		version, err = f.putIf(ctx, f.key(), document, store.IfVersion(f.document.Version))
		if err != nil && ctx.Err() == nil && (errors.Is(err, store.ErrConflict) || !certainlyNotWritten(err)) {
			version, err = f.findFence(ctx, id, err)
		}
		if err == nil {
			f.document, f.raised = Document{document, version}, true
			return nil
		}
		if ctx.Err() != nil || certainlyNotWritten(err) {
			return err
		}
	}
	return err
}

// findFence returns the version of the document if it has the ID of a fence (rule 4).
// The error is a conflict if another writer fenced or published first, and else the one
// of the write: it may be repeated.
func (f *fence) findFence(ctx context.Context, id writeID, failed error) (store.Version, error) {
	there, err := f.read(ctx)
	switch {
	case err != nil:
		return store.Version{}, conflictIfGone(errors.Join(err, failed), f.key())
	case trailOf(there.Bytes).fence == id:
		return there.Version, nil
	case there.Version != f.document.Version:
		return store.Version{}, fmt.Errorf("%w: another writer has begun a change: %w", store.ErrConflict, failed)
	}
	return store.Version{}, failed
}

func (f *fence) publish(ctx context.Context, document []byte) (store.Version, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := newID()
	document = withPublication(document, f.document.Bytes, id)
	version, err := f.putIf(ctx, f.key(), document, store.IfVersion(f.document.Version))
	if err != nil && (errors.Is(err, store.ErrConflict) || !certainlyNotWritten(err)) {
		version, err = f.settle(context.WithoutCancel(ctx), id, err)
	}
	if err == nil {
		f.document, f.raised, f.claimed = Document{document, version}, true, false
	}
	return version, err
}

// settle finds the outcome of publishing a document after any answer but a success (rule
// 4). The version is zero if others have written since.
func (f *fence) settle(ctx context.Context, id writeID, failed error) (store.Version, error) {
	for range fenceTries {
		there, err := f.read(ctx)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return store.Version{}, fmt.Errorf("%w: %w", conflictIfGone(err, f.key()), failed)
		case err != nil:
			return store.Version{}, outcomeUnknown(failed, err)
		}
		t := trailOf(there.Bytes)
		switch t.fateOf(id, f.planned) {
		case fateDone:
			if t.last() == id && t.fence == 0 {
				return there.Version, nil
			}
			return store.Version{}, nil
		case fateUnknown:
			return store.Version{}, outcomeUnknown(failed)
		case fateOpen:
			// The write may be on its way. A fence makes it fail for good: ours, or
			// that of a concurrent writer.
			if there.Version == f.document.Version && f.raise(ctx) != nil {
				continue
			}
		}
		return store.Version{}, fmt.Errorf("%w: %w", store.ErrConflict, failed)
	}
	return store.Version{}, outcomeUnknown(failed)
}

// reclaim runs step 5: it deletes and clears superseded chunks.
func (f *fence) reclaim(ctx context.Context, c *Change) error {
	var err error
	for _, work := range [...]func(context.Context, store.Batch) error{c.Reclaim, c.Tidy} {
		b := &reclaimBatch{stagingBatch: stagingBatch{f}}
		if work != nil && err == nil {
			err = work(ctx, b)
		}
		if err == nil {
			err = b.flush(ctx)
		}
	}
	if errors.Is(err, store.ErrConflict) {
		// A concurrent writer fenced or published. The remaining chunks are
		// invisible, and an array that grows there overwrites them.
		return nil
	}
	return err
}

// reclaimBatch is the batch in which superseded chunks are deleted. A concurrent writer
// may be about to reuse their keys. So the batch reads their versions, raises the
// fence, and then deletes each one on the condition that its version has not changed.
type reclaimBatch struct {
	stagingBatch
	pending []store.Key
}

const (
	// mostPending is the number of objects that are deleted under one fence.
	mostPending = 1024
	// deletedAtOnce is the number of objects for which requests are made at once.
	deletedAtOnce = 32
)

// Can implements [store.Batch].
func (b *reclaimBatch) Can(op store.Op) bool { return op == store.OpDelete || b.stagingBatch.Can(op) }

// Write implements [store.Batch].
func (b *reclaimBatch) Write(ctx context.Context, c store.Change) (store.Written, error) {
	if c.Op == store.OpDelete {
		return store.Written{}, b.delete(ctx, c.Key)
	}
	return b.stagingBatch.Write(ctx, c)
}

// delete records the key, and deletes the recorded objects in groups.
func (b *reclaimBatch) delete(ctx context.Context, key store.Key) error {
	if !store.Can(b.f.Store, store.OpDeleteIf) {
		b.reportKept(key, store.ErrUnsupported)
		return nil // the orphaned object stays, invisible
	}
	if b.pending = append(b.pending, key); len(b.pending) < mostPending {
		return nil
	}
	return b.flush(ctx)
}

func (b *reclaimBatch) flush(ctx context.Context) error {
	pending := b.pending
	b.pending = nil
	versions := make([]store.Version, len(pending)) // zero if there is no object
	err := b.each(ctx, pending, func(ctx context.Context, i int) error {
		info, err := store.Stat(ctx, b.f.Store, pending[i])
		if versions[i] = info.Version; errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	some := func(v store.Version) bool { return !v.IsZero() }
	if err != nil || !slices.ContainsFunc(versions, some) {
		return err
	}
	// A plan that is older than this fence can no longer be published. A newer one
	// that reuses a key gives the object a new version, and the deletion below fails.
	if err := b.f.holdFence(ctx, store.Key{}); err != nil {
		return err
	}
	return b.each(ctx, pending, func(ctx context.Context, i int) error {
		if versions[i].IsZero() {
			return nil
		}
		return b.remove(ctx, pending[i], versions[i])
	})
}

// remove deletes a chunk that has a version. A deletion without an answer is not
// repeated: the fence may have fallen since.
func (b *reclaimBatch) remove(ctx context.Context, key store.Key, v store.Version) error {
	_, err := store.Write(ctx, b.f.Store, store.DeleteIf(key, v), store.Sync)
	if err == nil {
		return nil
	}
	if _, lookErr := store.Stat(ctx, b.f.Store, key); errors.Is(lookErr, fs.ErrNotExist) {
		return nil // the answer was lost, or was that of a second delivery
	}
	// A driver may find out only now that its service cannot delete on a condition.
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrUnsupported) {
		b.reportKept(key, err)
		return nil
	}
	return err
}

// reportKept tells that a chunk stays, and why.
func (b *reclaimBatch) reportKept(key store.Key, cause error) {
	if kept := b.f.change.Kept; kept != nil {
		kept(key, cause)
	}
}

// each calls do for the index of every key, several at once.
func (b *reclaimBatch) each(ctx context.Context, keys []store.Key, do func(ctx context.Context, i int) error) error {
	group, ctx := parallel.New(ctx)
	group.SetLimit(deletedAtOnce)
	for i := range keys {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait(nil)
}

// Fenced reports whether a batch of [Change.Stage] runs under a fence. Then every chunk
// of a new region must be put, including chunks of fill values (rule 6 of the fence).
func Fenced(b store.Batch) bool {
	_, ok := b.(stagingBatch)
	return ok
}

// Same reports whether two documents are equal up to the white space at their end.
func Same(a, b []byte) bool { return bytes.Equal(withoutTrail(a), withoutTrail(b)) }

// conflictIfGone converts [fs.ErrNotExist] to a conflict, for an object that a
// concurrent writer has deleted.
func conflictIfGone(err error, key store.Key) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: a concurrent writer deleted %s", store.ErrConflict, key)
	}
	return err
}

// replacement is the replacement of one chunk under a fence (rules 2 and 7).
type replacement struct {
	*fence
	key   store.Key
	value []byte
	// expected is the version that the value is based on. It is zero if the chunk may
	// have any: it is an orphan, or belongs to a plan that can no longer be published.
	expected store.Version
}

// replace overwrites the chunk at key, which has the expected version.
func (f *fence) replace(ctx context.Context, key store.Key, value []byte, expected store.Version) error {
	r := &replacement{f, key, value, expected}
	var err error
	for try := range fenceTries {
		if err := pauseBefore(ctx, try); err != nil {
			return err
		}
		// The fence is looked at again before each attempt, because it says whether
		// the write is still wanted.
		if err = r.attempt(ctx); err == nil || ctx.Err() != nil || certainlyNotWritten(err) {
			return err
		}
		if lookErr := r.checkValue(ctx); lookErr != nil {
			return fmt.Errorf("%w: %w", lookErr, err)
		}
	}
	return err
}

// pauseBefore waits before each attempt but the first, twice as long as before the last.
func pauseBefore(ctx context.Context, try int) error {
	if try == 0 {
		return nil
	}
	select {
	case <-time.After(min(firstPause<<(try-1), LongestPause)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// firstPause is the pause before the second attempt.
const firstPause = time.Millisecond

// attempt replaces the chunk by a draft or, in a store without drafts, by a write that is
// not repeated.
func (r *replacement) attempt(ctx context.Context) error {
	drafter, drafts := store.As[store.Drafter](r.Store)
	var draft store.Draft
	var err error
	if drafts {
		draft, err = drafter.Draft(ctx, r.key, r.value, r.Durability)
		if err != nil && !errors.Is(err, store.ErrUnsupported) {
			return err
		}
	}
	version, err := r.guard(ctx)
	if draft == nil {
		if err == nil {
			_, err = r.putIf(ctx, r.key, r.value, store.IfVersion(version).Unrepeatable())
		}
		return err
	}
	if err == nil {
		err = drafter.Revoke(ctx, r.key, draft)
	}
	if err == nil {
		_, err = draft.Publish(ctx, store.IfVersion(version))
	}
	if err != nil {
		draft.Discard(store.Finishing(ctx))
	}
	return err
}

// guard returns the version that the chunk may have when it is replaced, and makes sure
// that no concurrent plan can be published.
func (r *replacement) guard(ctx context.Context) (store.Version, error) {
	version := r.expected
	if version.IsZero() {
		info, err := store.Stat(ctx, r.Store, r.key)
		if err != nil {
			return version, conflictIfGone(err, r.key)
		}
		version = info.Version
	}
	// Fence after reading the version. A plan that wrote the object before that can no
	// longer be published, and one that writes it later changes the version.
	return version, r.holdFence(ctx, r.key)
}

// checkValue finds out whether a chunk may be replaced once more, after an attempt
// without an answer. The error is a conflict if the value is no longer based on what
// the chunk has.
func (r *replacement) checkValue(ctx context.Context) error {
	if r.expected.IsZero() {
		return nil
	}
	there, info, err := r.Store.Get(ctx, r.key, store.Request{Limit: int64(len(r.value))}, nil)
	switch {
	case err == nil && bytes.Equal(there, r.value):
		// The chunk has what this plan wants, whoever has stored it.
		r.expected = info.Version
	case err == nil && info.Version == r.expected:
	case err == nil || errors.Is(err, store.ErrTooLarge):
		return fmt.Errorf("%w: %s", store.ErrConflict, r.key)
	default:
		return conflictIfGone(err, r.key)
	}
	return nil
}
