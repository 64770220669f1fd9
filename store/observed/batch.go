// SPDX-License-Identifier: Apache-2.0

package observed

import (
	"context"
	"errors"
	"time"

	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

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
