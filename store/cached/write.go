// SPDX-License-Identifier: Apache-2.0

package cached

import (
	"context"

	"varve.dev/zarr/store"
)

// Put implements [store.Writer].
func (s *Store) Put(ctx context.Context, key store.Key, value []byte, d store.Durability) (store.Version, error) {
	defer s.wrote(key)
	return store.Put(ctx, s.below, key, value, d)
}

// PutIf implements [store.ConditionalWriter].
func (s *Store) PutIf(
	ctx context.Context, key store.Key, value []byte, cond store.Condition, d store.Durability,
) (store.Version, error) {
	defer s.wrote(key)
	return store.PutIf(ctx, s.below, key, value, cond, d)
}

// Delete implements [store.Deleter].
func (s *Store) Delete(ctx context.Context, key store.Key) error {
	defer s.wrote(key)
	return store.Delete(ctx, s.below, key)
}

// DeleteIf implements [store.ConditionalDeleter].
func (s *Store) DeleteIf(ctx context.Context, key store.Key, v store.Version) error {
	defer s.wrote(key)
	return store.DeleteIf(ctx, s.below, key, v)
}

// DeleteTree implements [store.TreeDeleter].
func (s *Store) DeleteTree(ctx context.Context, dir store.Path, order store.TreeOrder, d store.Durability) error {
	defer s.wroteAny()
	return store.DeleteTree(ctx, s.below, dir, order, d)
}

// Splice implements [store.Splicer].
func (s *Store) Splice(
	ctx context.Context, key store.Key, from store.Version, fragments []store.Fragment, d store.Durability,
) (store.Version, error) {
	defer s.wrote(key)
	return store.Splice(ctx, s.below, key, from, fragments, d)
}

// Patch implements [store.Patcher].
func (s *Store) Patch(
	ctx context.Context, key store.Key, from store.Version, patches []store.Patch, d store.Durability,
) (store.Version, error) {
	defer s.wrote(key)
	return store.PatchValue(ctx, s.below, key, from, patches, d)
}

// CopyFrom implements [store.Copier].
func (s *Store) CopyFrom(
	ctx context.Context, key store.Key, from store.Store, source store.Key, d store.Durability,
) (int64, store.Version, error) {
	c, ok := store.As[store.Copier](s.below)
	if !ok {
		return 0, store.Version{}, store.ErrUnsupported
	}
	defer s.wrote(key)
	return c.CopyFrom(ctx, key, from, source, d)
}

// Clone implements [store.Cloner].
func (s *Store) Clone(
	ctx context.Context, key, source store.Key, from store.Version, d store.Durability,
) (store.Cloned, error) {
	c, ok := store.As[store.Cloner](s.below)
	if !ok {
		return store.Cloned{}, store.ErrUnsupported
	}
	defer s.wrote(key)
	return c.Clone(ctx, key, source, from, d)
}

// Assemble implements [store.Assembler].
func (s *Store) Assemble(
	ctx context.Context, key store.Key, parts []store.Part, d store.Durability,
) (store.Version, error) {
	a, ok := store.As[store.Assembler](s.below)
	if !ok {
		return store.Version{}, store.ErrUnsupported
	}
	defer s.wrote(key)
	return a.Assemble(ctx, key, parts, d)
}

// Gather implements [store.Gatherer].
func (s *Store) Gather(
	ctx context.Context, key store.Key, from store.Store, parts []store.Part, d store.Durability,
) (store.Version, error) {
	defer s.wrote(key)
	return store.Gather(ctx, s.below, key, from, parts, d)
}

// Draft implements [store.Drafter].
func (s *Store) Draft(ctx context.Context, key store.Key, value []byte, d store.Durability) (store.Draft, error) {
	made, err := store.MakeDraft(ctx, s.below, key, value, d)
	if err != nil {
		return nil, err
	}
	return &draft{made, s, key}, nil
}

// Revoke implements [store.Drafter].
func (s *Store) Revoke(ctx context.Context, key store.Key, keep store.Draft) error {
	if d, ok := keep.(*draft); ok {
		keep = d.Draft
	}
	return store.RevokeDrafts(ctx, s.below, key, keep)
}

// draft is a draft that becomes a value of a cached store.
type draft struct {
	store.Draft
	s   *Store
	key store.Key
}

// Publish implements [store.Draft].
func (d *draft) Publish(ctx context.Context, cond store.Condition) (store.Version, error) {
	defer d.s.wrote(d.key)
	return d.Draft.Publish(ctx, cond)
}

var _ store.Drafter = (*Store)(nil)

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
