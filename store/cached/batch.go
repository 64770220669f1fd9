// SPDX-License-Identifier: Apache-2.0

package cached

import (
	"context"

	"varve.dev/zarr/store"
)

// Batch implements [store.Batcher].
func (s *Store) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	b, err := store.NewBatch(ctx, s.below, d)
	if err != nil {
		return nil, err
	}
	return &batch{b, s}, nil
}

// batch is a batch of the store below. [store.NewBatch] gives it every power that this
// store has, in batches or outside of them.
type batch struct {
	store.Batch
	s *Store
}

// Put implements [store.Batch].
func (b *batch) Put(ctx context.Context, key store.Key, value []byte) error {
	defer b.s.wrote(key)
	return b.Batch.Put(ctx, key, value)
}

// Delete implements [store.Batch].
func (b *batch) Delete(ctx context.Context, key store.Key) error {
	defer b.s.wrote(key)
	return b.Batch.Delete(ctx, key)
}

// PutIf implements [store.ConditionalBatch].
func (b *batch) PutIf(ctx context.Context, key store.Key, value []byte, cond store.Condition) error {
	defer b.s.wrote(key)
	return store.BatchPutIf(ctx, b.Batch, key, value, cond)
}

// DeleteIf implements [store.ConditionalBatch].
func (b *batch) DeleteIf(ctx context.Context, key store.Key, v store.Version) error {
	defer b.s.wrote(key)
	return store.BatchDeleteIf(ctx, b.Batch, key, v)
}

// Splice implements [store.SplicingBatch].
func (b *batch) Splice(ctx context.Context, key store.Key, from store.Version, fragments []store.Fragment) error {
	defer b.s.wrote(key)
	return store.BatchSplice(ctx, b.Batch, key, from, fragments)
}

// Patch implements [store.PatchingBatch].
func (b *batch) Patch(ctx context.Context, key store.Key, from store.Version, patches []store.Patch) error {
	defer b.s.wrote(key)
	return store.BatchPatch(ctx, b.Batch, key, from, patches)
}

// CopyFrom implements [store.CopyingBatch].
func (b *batch) CopyFrom(ctx context.Context, key store.Key, from store.Store, source store.Key) (int64, error) {
	defer b.s.wrote(key)
	return store.BatchCopy(ctx, b.Batch, key, from, source)
}

// Clone implements [store.CloningBatch].
func (b *batch) Clone(ctx context.Context, key, source store.Key, from store.Version) (store.Cloned, error) {
	defer b.s.wrote(key)
	return store.BatchClone(ctx, b.Batch, key, source, from)
}

// Assemble implements [store.AssemblingBatch].
func (b *batch) Assemble(ctx context.Context, key store.Key, parts []store.Part) error {
	defer b.s.wrote(key)
	return store.BatchAssemble(ctx, b.Batch, key, parts)
}

// Gather implements [store.GatheringBatch].
func (b *batch) Gather(ctx context.Context, key store.Key, from store.Store, parts []store.Part) error {
	defer b.s.wrote(key)
	return store.BatchGather(ctx, b.Batch, key, from, parts)
}
