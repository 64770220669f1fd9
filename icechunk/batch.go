// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"context"

	"varve.dev/zarr/store"
)

// putFunc makes a change that stores an object under a name that nothing has: [store.Put]
// or [store.Copy].
type putFunc func(ctx context.Context, c store.Change) (store.Written, error)

// Batch implements [store.Batcher]. The objects of its chunks become durable together.
func (s *Session) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	below, err := store.NewBatch(ctx, s.repository.store, s.repository.durability)
	if err != nil {
		return nil, err
	}
	return &batch{session: s, below: below, durability: d}, nil
}

// batch is a batch of a session.
type batch struct {
	session    *Session
	below      store.Batch
	durability store.Durability // of what is kept aside
	isOver     bool
}

// Can implements [store.Batch].
func (b *batch) Can(op store.Op) bool { return b.session.Can(op) }

// Write implements [store.Batch].
func (b *batch) Write(ctx context.Context, c store.Change) (store.Written, error) {
	return b.session.write(ctx, c, b.durability, b.below.Write)
}

// Commit implements [store.Batch].
func (b *batch) Commit(ctx context.Context) error {
	b.isOver = true
	err := b.below.Commit(ctx)
	if err != nil {
		b.session.mu.Lock()
		defer b.session.mu.Unlock()
		if b.session.failed = err; b.session.stored != nil {
			b.session.stored.clear()
		}
	}
	return err
}

// Discard implements [store.Batch]. The session has the changes and may publish them, so
// they become durable all the same. After Commit there is nothing left to do.
func (b *batch) Discard() {
	if !b.isOver {
		_ = b.Commit(context.Background())
	}
}
