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
