// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"sync"

	"varve.dev/zarr/store"
)

// Batch implements [store.Batcher]. Changes take effect immediately. Deletions wait until
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

// Can implements [store.Batch].
func (b *batch) Can(op store.Op) bool { return b.s.Can(op) }

// Write implements [store.Batch]. A change waits for a deletion of one of its keys that
// waits itself: the later one counts.
func (b *batch) Write(ctx context.Context, c store.Change) (store.Written, error) {
	if c.Op == store.OpDelete {
		return store.Written{}, b.delete(ctx, c.Key)
	}
	if err := b.settle(ctx, c); err != nil {
		return store.Written{}, err
	}
	return b.s.Write(ctx, c, b.d)
}

// settle deletes all that waits if a key of the change is one of it.
func (b *batch) settle(ctx context.Context, c store.Change) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	waits := b.waits(c.Key) || b.waits(c.Source)
	for _, p := range c.Parts {
		waits = waits || p.Data == nil && b.waits(p.Key)
	}
	if !waits {
		return nil
	}
	return b.flush(ctx)
}

// waits reports whether a deletion of the key waits. The caller holds the lock.
func (b *batch) waits(key store.Key) bool { return b.waiting[b.s.prefix+key.String()] }

// flush deletes all that waits. The caller holds the lock.
func (b *batch) flush(ctx context.Context) error {
	err := b.s.removeAll(ctx, b.deleted)
	if err == nil {
		b.deleted, b.waiting = nil, nil
	}
	return err
}

func (b *batch) delete(ctx context.Context, key store.Key) error {
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

var _ store.Batcher = (*Store)(nil)
