// SPDX-License-Identifier: Apache-2.0

package observed

import (
	"context"
	"time"

	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

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
