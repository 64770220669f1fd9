// SPDX-License-Identifier: Apache-2.0

package cached

import (
	"context"

	"varve.dev/zarr/store"
)

// Can implements [store.Writer].
func (s *frontStore) Can(op store.Op) bool { return store.Can(s.below, op) }

// Write implements [store.Writer].
func (s *frontStore) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if !store.Can(s.below, c.Op) {
		return store.Written{}, store.ErrUnsupported
	}
	defer s.wrote(c.Key)
	return s.below.(store.Writer).Write(ctx, c, d)
}

// DeleteTree implements [store.TreeDeleter].
func (s *frontStore) DeleteTree(ctx context.Context, dir store.Path, order store.TreeOrder, d store.Durability) error {
	defer s.wroteAny()
	return store.DeleteTree(ctx, s.below, dir, order, d)
}

// Draft implements [store.Drafter].
func (s *frontStore) Draft(ctx context.Context, key store.Key, value []byte, d store.Durability) (store.Draft, error) {
	below, ok := store.As[store.Drafter](s.below)
	if !ok {
		return nil, store.ErrUnsupported
	}
	made, err := below.Draft(ctx, key, value, d)
	if err != nil {
		return nil, err
	}
	return &draft{made, s, key}, nil
}

// Revoke implements [store.Drafter].
func (s *frontStore) Revoke(ctx context.Context, key store.Key, keep store.Draft) error {
	if d, ok := keep.(*draft); ok {
		keep = d.Draft
	}
	if below, ok := store.As[store.Drafter](s.below); ok {
		return below.Revoke(ctx, key, keep)
	}
	return store.ErrUnsupported
}

// draft is a draft that becomes a value of a cached store.
type draft struct {
	store.Draft
	s   *frontStore
	key store.Key
}

// Publish implements [store.Draft].
func (d *draft) Publish(ctx context.Context, cond store.Condition) (store.Version, error) {
	defer d.s.wrote(d.key)
	return d.Draft.Publish(ctx, cond)
}

var _ store.Drafter = (*frontStore)(nil)

// Batch implements [store.Batcher].
func (s *frontStore) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	b, err := store.NewBatch(ctx, s.below, d)
	if err != nil {
		return nil, err
	}
	return &batch{b, s}, nil
}

// batch is a batch of the store below.
type batch struct {
	store.Batch
	s *frontStore
}

// Write implements [store.Batch].
func (b *batch) Write(ctx context.Context, c store.Change) (store.Written, error) {
	defer b.s.wrote(c.Key)
	return b.Batch.Write(ctx, c)
}
