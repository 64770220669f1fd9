// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"context"
	"sync"

	"varve.dev/zarr/store"
)

// batchLength is the number of writes of one batch: enough that a sync of the directories
// costs little, and so few that a batch holds little.
const batchLength = 4096

// batches are batches of a store, one after another. They are safe for concurrent use.
type batches struct {
	s store.Store
	d store.Durability

	mu   sync.Mutex
	last *batch // takes more writes; nil if there is none
}

// batch is one of them.
type batch struct {
	store.Batch
	begun, running int // writes
}

// do calls write with a batch. The last write of a full batch commits it.
func (b *batches) do(ctx context.Context, write func(store.Batch) error) error {
	at, err := b.enter(ctx)
	if err != nil {
		return err
	}
	err = write(at.Batch) // itself, because it may be able to copy and to gather
	if b.leave(at) {
		defer at.Discard()
		if err == nil {
			err = at.Commit(ctx)
		}
	}
	return err
}

func (b *batches) enter(ctx context.Context) (*batch, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil {
		made, err := store.NewBatch(ctx, b.s, b.d)
		if err != nil {
			return nil, err
		}
		b.last = &batch{Batch: made}
	}
	at := b.last
	at.begun, at.running = at.begun+1, at.running+1
	if at.begun == batchLength {
		b.last = nil
	}
	return at, nil
}

// leave ends a write, and reports whether it was the last one of a full batch.
func (b *batches) leave(at *batch) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	at.running--
	return at.running == 0 && at != b.last
}

// end commits the last batch, or discards it after an error. All writes have ended.
func (b *batches) end(ctx context.Context, err error) error {
	if b.last == nil {
		return err
	}
	defer b.last.Discard()
	if err == nil {
		err = b.last.Commit(ctx)
	}
	return err
}
