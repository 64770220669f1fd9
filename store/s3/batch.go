// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"sync"

	"varve.dev/zarr/store"
)

// Batch implements [store.Batcher]. Writes take effect immediately. Deletions wait until
// there are 1,000 of them, or until Commit, because one request deletes as many.
func (s *Store) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	return &batch{s: s, d: d}, ctx.Err()
}

type batch struct {
	s *Store
	d store.Durability

	mu      sync.Mutex
	deleted []string
	waiting map[string]bool // the names in deleted
}

// Put waits for a deletion of the key that waits itself: the later one counts.
func (b *batch) Put(ctx context.Context, key store.Key, data []byte) error {
	if err := b.settle(ctx, key); err != nil {
		return err
	}
	_, err := b.s.Put(ctx, key, data, b.d)
	return err
}

// settle deletes all that waits if key is one of it.
func (b *batch) settle(ctx context.Context, keys ...store.Key) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, key := range keys {
		if b.waiting[b.s.prefix+key.String()] {
			return b.flush(ctx)
		}
	}
	return nil
}

// flush deletes all that waits. The caller holds the lock.
func (b *batch) flush(ctx context.Context) error {
	err := b.s.removeAll(ctx, b.deleted)
	if err == nil {
		b.deleted, b.waiting = nil, nil
	}
	return err
}

func (b *batch) Delete(ctx context.Context, key store.Key) error {
	name, err := b.s.key(key)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting[name] {
		return nil
	}
	if b.waiting == nil {
		b.waiting = map[string]bool{}
	}
	b.waiting[name] = true
	if b.deleted = append(b.deleted, name); len(b.deleted) < deletedAtOnce {
		return nil
	}
	return b.flush(ctx)
}

func (b *batch) Commit(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return b.flush(ctx)
}

// Discard forgets the deletions that wait.
func (b *batch) Discard() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deleted, b.waiting = nil, nil
}

func (b *batch) PutIf(ctx context.Context, key store.Key, data []byte, cond store.Condition) error {
	if err := b.settle(ctx, key); err != nil {
		return err
	}
	_, err := b.s.PutIf(ctx, key, data, cond, b.d)
	return err
}

func (b *batch) DeleteIf(ctx context.Context, key store.Key, v store.Version) error {
	if err := b.settle(ctx, key); err != nil {
		return err
	}
	return b.s.DeleteIf(ctx, key, v)
}

func (b *batch) Splice(ctx context.Context, key store.Key, from store.Version, fragments []store.Fragment) error {
	if err := b.settle(ctx, key); err != nil {
		return err
	}
	_, err := b.s.Splice(ctx, key, from, fragments, b.d)
	return err
}

func (b *batch) CopyFrom(ctx context.Context, key store.Key, from store.Store, source store.Key) (int64, error) {
	if err := b.settle(ctx, key, source); err != nil {
		return 0, err
	}
	n, _, err := b.s.CopyFrom(ctx, key, from, source, b.d)
	return n, err
}

func (b *batch) Clone(ctx context.Context, key, source store.Key, from store.Version) (store.Cloned, error) {
	if err := b.settle(ctx, key, source); err != nil {
		return store.Cloned{}, err
	}
	return b.s.Clone(ctx, key, source, from, b.d)
}

func (b *batch) Assemble(ctx context.Context, key store.Key, parts []store.Part) error {
	keys := []store.Key{key}
	for _, p := range parts {
		if p.Data == nil {
			keys = append(keys, p.Key)
		}
	}
	if err := b.settle(ctx, keys...); err != nil {
		return err
	}
	_, err := b.s.Assemble(ctx, key, parts, b.d)
	return err
}

var (
	_ store.Batcher          = (*Store)(nil)
	_ store.ConditionalBatch = (*batch)(nil)
	_ store.SplicingBatch    = (*batch)(nil)
	_ store.CopyingBatch     = (*batch)(nil)
	_ store.CloningBatch     = (*batch)(nil)
	_ store.AssemblingBatch  = (*batch)(nil)
)
