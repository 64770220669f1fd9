// SPDX-License-Identifier: Apache-2.0

// Package observed wraps a store and reports every request to an observer.
package observed

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// Store reports the requests to the store below. It has the powers of that store
// ([store.As]), and so do its batches.
type Store struct {
	below store.Store
	watch
}

// New returns s with every request reported to o, which must not be nil.
func New(s store.Store, o observe.Observer) *Store { return &Store{s, watch{o}} }

// Unwrap implements [store.Wrapper].
func (s *Store) Unwrap() store.Store { return s.below }

// Observer returns the observer given to New.
func (s *Store) Observer() observe.Observer { return s.observer }

// watch reports operations that have ended.
type watch struct{ observer observe.Observer }

// done reports an operation that began at start, unless there is no observer. After an
// error, no bytes count.
func (w watch) done(ctx context.Context, op observe.Op, key store.Key, bytes int64, start time.Time, err error) {
	if w.observer == nil {
		return
	}
	if err != nil {
		bytes = 0
	}
	w.observer.Observe(ctx, observe.Event{Op: op, Key: key, Bytes: bytes, Start: start, Duration: time.Since(start), Err: err})
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	start := time.Now()
	out, info, err := s.below.Get(ctx, key, q, dst)
	s.done(ctx, observe.Get, key, int64(len(out)-len(dst)), start, err)
	return out, info, err
}

// ReadVersion implements [store.VersionReader].
func (s *Store) ReadVersion(ctx context.Context, key store.Key, info store.Info, q store.Request, dst []byte) ([]byte, error) {
	start := time.Now()
	out, err := store.ReadVersion(ctx, s.below, key, info, q, dst)
	s.done(ctx, observe.Get, key, int64(len(out)-len(dst)), start, err)
	return out, err
}

// Stat implements [store.Stater].
func (s *Store) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	start := time.Now()
	info, err := store.Stat(ctx, s.below, key)
	s.done(ctx, observe.Stat, key, 0, start, err)
	return info, err
}

// List implements [store.Lister]. The reported duration does not include the time that
// the caller spends on entries.
func (s *Store) List(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	return s.listed(ctx, dir, store.List(ctx, s.below, dir, deep))
}

// ListVersions implements [store.VersionLister]. It is reported as one listing, like
// List.
func (s *Store) ListVersions(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	return s.listed(ctx, dir, store.ListVersions(ctx, s.below, dir, deep))
}

// listed reports a listing of dir when it ends.
func (s *Store) listed(ctx context.Context, dir store.Path, entries iter.Seq2[store.Entry, error]) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		start := time.Now()
		var elsewhere time.Duration
		var failed error
		for e, err := range entries {
			failed = err
			// The operation takes no time while the caller uses the entry.
			left := time.Now()
			more := yield(e, err)
			elsewhere += time.Since(left)
			if !more {
				break
			}
		}
		s.observer.Observe(ctx, observe.Event{
			Op: observe.List, Key: dir.AsKey(), Start: start, Duration: time.Since(start) - elsewhere, Err: failed,
		})
	}
}

// Lock implements [store.Locker].
func (s *Store) Lock(ctx context.Context, dir store.Path) (unlock func() error, err error) {
	start := time.Now()
	unlock, err = store.Lock(ctx, s.below, dir)
	s.done(ctx, observe.Lock, dir.AsKey(), 0, start, err)
	return unlock, err
}

// Place implements [store.Placer].
func (s *Store) Place() string { return store.PlaceOf(s.below) }

// Room implements [store.Gauge].
func (s *Store) Room(dir store.Path) (store.Room, error) { return store.RoomOf(s.below, dir) }

// Requests implements [store.Pacer].
func (s *Store) Requests() int { return store.RequestsOf(s.below) }

// Close closes the store below if it has a Close method.
func (s *Store) Close() error {
	if c, ok := store.As[io.Closer](s.below); ok {
		return c.Close()
	}
	return nil
}

// Batch implements [store.Batcher].
func (s *Store) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	b, err := store.NewBatch(ctx, s.below, d)
	if err != nil {
		return nil, err
	}
	return &batch{b, s.watch}, nil
}

// batch is a batch of the store below. [store.NewBatch] gives it every power that this
// store has, in batches or outside of them.
type batch struct {
	store.Batch
	watch
}

// Put implements [store.Batch].
func (b *batch) Put(ctx context.Context, key store.Key, value []byte) error {
	start := time.Now()
	err := b.Batch.Put(ctx, key, value)
	b.done(ctx, observe.Put, key, int64(len(value)), start, err)
	return err
}

// Delete implements [store.Batch].
func (b *batch) Delete(ctx context.Context, key store.Key) error {
	start := time.Now()
	err := b.Batch.Delete(ctx, key)
	b.done(ctx, observe.Delete, key, 0, start, err)
	return err
}

// Commit implements [store.Batch].
func (b *batch) Commit(ctx context.Context) error {
	start := time.Now()
	err := b.Batch.Commit(ctx)
	b.done(ctx, observe.Commit, store.Key{}, 0, start, err)
	return err
}

// PutIf implements [store.ConditionalBatch].
func (b *batch) PutIf(ctx context.Context, key store.Key, value []byte, cond store.Condition) error {
	start := time.Now()
	err := store.BatchPutIf(ctx, b.Batch, key, value, cond)
	b.tried(ctx, observe.PutIf, key, int64(len(value)), start, err)
	return err
}

// DeleteIf implements [store.ConditionalBatch].
func (b *batch) DeleteIf(ctx context.Context, key store.Key, v store.Version) error {
	start := time.Now()
	err := store.BatchDeleteIf(ctx, b.Batch, key, v)
	b.tried(ctx, observe.DeleteIf, key, 0, start, err)
	return err
}

// Splice implements [store.SplicingBatch].
func (b *batch) Splice(ctx context.Context, key store.Key, from store.Version, fragments []store.Fragment) error {
	start := time.Now()
	err := store.BatchSplice(ctx, b.Batch, key, from, fragments)
	b.tried(ctx, observe.Splice, key, fresh(fragments), start, err)
	return err
}

// Patch implements [store.PatchingBatch].
func (b *batch) Patch(ctx context.Context, key store.Key, from store.Version, patches []store.Patch) error {
	start := time.Now()
	err := store.BatchPatch(ctx, b.Batch, key, from, patches)
	b.tried(ctx, observe.Patch, key, patched(patches), start, err)
	return err
}

// CopyFrom implements [store.CopyingBatch].
func (b *batch) CopyFrom(ctx context.Context, key store.Key, from store.Store, source store.Key) (int64, error) {
	start := time.Now()
	n, err := store.BatchCopy(ctx, b.Batch, key, from, source)
	b.copied(ctx, key, n, start, err)
	return n, err
}

// Clone implements [store.CloningBatch].
func (b *batch) Clone(ctx context.Context, key, source store.Key, from store.Version) (store.Cloned, error) {
	start := time.Now()
	made, err := store.BatchClone(ctx, b.Batch, key, source, from)
	b.tried(ctx, observe.Clone, key, made.Moved, start, err)
	return made, err
}

// Assemble implements [store.AssemblingBatch].
func (b *batch) Assemble(ctx context.Context, key store.Key, parts []store.Part) error {
	start := time.Now()
	err := store.BatchAssemble(ctx, b.Batch, key, parts)
	b.tried(ctx, observe.Assemble, key, added(parts), start, err)
	return err
}

// Gather implements [store.GatheringBatch].
func (b *batch) Gather(ctx context.Context, key store.Key, from store.Store, parts []store.Part) error {
	start := time.Now()
	err := store.BatchGather(ctx, b.Batch, key, from, parts)
	b.tried(ctx, observe.Assemble, key, added(parts), start, err)
	return err
}

// tried is done, but reports nothing if the store lacks the power, because then no
// request was made.
func (w watch) tried(ctx context.Context, op observe.Op, key store.Key, bytes int64, start time.Time, err error) {
	if !errors.Is(err, store.ErrUnsupported) {
		w.done(ctx, op, key, bytes, start, err)
	}
}

// copied reports a copy of n bytes.
func (w watch) copied(ctx context.Context, key store.Key, n int64, start time.Time, err error) {
	w.tried(ctx, observe.Copy, key, n, start, err)
}

// Open implements [store.Opener].
func (s *Store) Open(ctx context.Context, key store.Key) (store.Object, error) {
	start := time.Now()
	o, err := store.Open(ctx, s.below, key)
	s.done(ctx, observe.Open, key, 0, start, err)
	if err != nil {
		return nil, err
	}
	return &object{o, s.watch, key}, nil
}

// object is an open value whose reads are observed.
type object struct {
	store.Object
	watch
	key store.Key
}

// Read implements [store.Object].
func (o *object) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, error) {
	start := time.Now()
	out, err := o.Object.Read(ctx, q, dst)
	o.done(ctx, observe.Read, o.key, int64(len(out)-len(dst)), start, err)
	return out, err
}

// Put implements [store.Writer].
func (s *Store) Put(ctx context.Context, key store.Key, value []byte, d store.Durability) (store.Version, error) {
	start := time.Now()
	v, err := store.Put(ctx, s.below, key, value, d)
	s.done(ctx, observe.Put, key, int64(len(value)), start, err)
	return v, err
}

// PutIf implements [store.ConditionalWriter].
func (s *Store) PutIf(
	ctx context.Context, key store.Key, value []byte, cond store.Condition, d store.Durability,
) (store.Version, error) {
	start := time.Now()
	v, err := store.PutIf(ctx, s.below, key, value, cond, d)
	s.done(ctx, observe.PutIf, key, int64(len(value)), start, err)
	return v, err
}

// Delete implements [store.Deleter].
func (s *Store) Delete(ctx context.Context, key store.Key) error {
	start := time.Now()
	err := store.Delete(ctx, s.below, key)
	s.done(ctx, observe.Delete, key, 0, start, err)
	return err
}

// DeleteTree implements [store.TreeDeleter].
func (s *Store) DeleteTree(ctx context.Context, dir store.Path, order store.TreeOrder, d store.Durability) error {
	start := time.Now()
	err := store.DeleteTree(ctx, s.below, dir, order, d)
	s.done(ctx, observe.Delete, dir.AsKey(), 0, start, err)
	return err
}

// DeleteIf implements [store.ConditionalDeleter].
func (s *Store) DeleteIf(ctx context.Context, key store.Key, v store.Version) error {
	start := time.Now()
	err := store.DeleteIf(ctx, s.below, key, v)
	s.done(ctx, observe.DeleteIf, key, 0, start, err)
	return err
}

// Splice implements [store.Splicer].
func (s *Store) Splice(
	ctx context.Context, key store.Key, from store.Version, fragments []store.Fragment, d store.Durability,
) (store.Version, error) {
	start := time.Now()
	v, err := store.Splice(ctx, s.below, key, from, fragments, d)
	s.done(ctx, observe.Splice, key, fresh(fragments), start, err)
	return v, err
}

// Patch implements [store.Patcher].
func (s *Store) Patch(
	ctx context.Context, key store.Key, from store.Version, patches []store.Patch, d store.Durability,
) (store.Version, error) {
	start := time.Now()
	v, err := store.PatchValue(ctx, s.below, key, from, patches, d)
	s.done(ctx, observe.Patch, key, patched(patches), start, err)
	return v, err
}

// CopyFrom implements [store.Copier]. If the store cannot copy from the other one, no
// request was made, so none is reported.
func (s *Store) CopyFrom(
	ctx context.Context, key store.Key, from store.Store, source store.Key, d store.Durability,
) (int64, store.Version, error) {
	c, ok := store.As[store.Copier](s.below)
	if !ok {
		return 0, store.Version{}, store.ErrUnsupported
	}
	start := time.Now()
	n, v, err := c.CopyFrom(ctx, key, from, source, d)
	s.copied(ctx, key, n, start, err)
	return n, v, err
}

// Clone implements [store.Cloner].
func (s *Store) Clone(
	ctx context.Context, key, source store.Key, from store.Version, d store.Durability,
) (store.Cloned, error) {
	c, ok := store.As[store.Cloner](s.below)
	if !ok {
		return store.Cloned{}, store.ErrUnsupported
	}
	start := time.Now()
	made, err := c.Clone(ctx, key, source, from, d)
	s.done(ctx, observe.Clone, key, made.Moved, start, err)
	return made, err
}

// Assemble implements [store.Assembler].
func (s *Store) Assemble(
	ctx context.Context, key store.Key, parts []store.Part, d store.Durability,
) (store.Version, error) {
	a, ok := store.As[store.Assembler](s.below)
	if !ok {
		return store.Version{}, store.ErrUnsupported
	}
	start := time.Now()
	v, err := a.Assemble(ctx, key, parts, d)
	s.done(ctx, observe.Assemble, key, added(parts), start, err)
	return v, err
}

// Gather implements [store.Gatherer]. If the store cannot gather from the other one, no
// request was made, so none is reported. Reads of the other store are reported by that
// one.
func (s *Store) Gather(
	ctx context.Context, key store.Key, from store.Store, parts []store.Part, d store.Durability,
) (store.Version, error) {
	start := time.Now()
	v, err := store.Gather(ctx, s.below, key, from, parts, d)
	s.tried(ctx, observe.Assemble, key, added(parts), start, err)
	return v, err
}

// added returns the number of new bytes in parts.
func added(parts []store.Part) (n int64) {
	for _, p := range parts {
		n += int64(len(p.Data))
	}
	return n
}

// fresh returns the number of new bytes in fragments.
func fresh(fragments []store.Fragment) (n int64) {
	for _, p := range fragments {
		n += int64(len(p.Data))
	}
	return n
}

// patched returns the number of bytes in patches.
func patched(patches []store.Patch) (n int64) {
	for _, p := range patches {
		n += int64(len(p.Data))
	}
	return n
}

// Draft implements [store.Drafter]. It is observed when it is published.
func (s *Store) Draft(ctx context.Context, key store.Key, value []byte, d store.Durability) (store.Draft, error) {
	start := time.Now()
	made, err := store.MakeDraft(ctx, s.below, key, value, d)
	if err != nil {
		s.tried(ctx, observe.PutIf, key, int64(len(value)), start, err)
		return nil, err
	}
	return &draft{made, s.watch, key, int64(len(value))}, nil
}

// Revoke implements [store.Drafter].
func (s *Store) Revoke(ctx context.Context, key store.Key, keep store.Draft) error {
	if d, ok := keep.(*draft); ok {
		keep = d.Draft
	}
	return store.RevokeDrafts(ctx, s.below, key, keep)
}

// draft is a draft whose publication is observed as a write on a condition.
type draft struct {
	store.Draft
	watch
	key  store.Key
	size int64
}

// Publish implements [store.Draft].
func (d *draft) Publish(ctx context.Context, cond store.Condition) (store.Version, error) {
	start := time.Now()
	v, err := d.Draft.Publish(ctx, cond)
	d.done(ctx, observe.PutIf, d.key, d.size, start, err)
	return v, err
}

var _ store.Drafter = (*Store)(nil)
