// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"context"
	"sync"

	"varve.dev/zarr/store"
)

// A round ends after so many writes, or bytes of chunks: often enough that an
// interruption costs little work, and so rarely that records and syncs cost little.
var (
	roundWrites = 256
	roundBytes  = int64(64 << 20)
)

// rounds are batches of chunks of a result, one after another. When the chunks of a round
// are durable, they are recorded.
type rounds struct {
	*copying
	s store.Store

	mu   sync.Mutex
	last *round // takes more writes; nil if there is none
}

// round is one batch.
type round struct {
	store.Batch
	begun, running int // writes
	made
}

// made are chunks that were stored.
type made struct {
	indices [][]int64
	bytes   int64
}

// do calls write, which makes chunks by a batch. The last write of a full round ends it.
func (r *rounds) do(ctx context.Context, write func(store.Batch) (made, error)) error {
	at, err := r.enter(ctx)
	if err != nil {
		return err
	}
	m, err := write(at.Batch)
	if err != nil {
		m = made{}
	}
	if r.leave(at, m) {
		defer at.Discard()
		if err == nil {
			err = r.commit(ctx, at)
		}
	}
	return err
}

func (r *rounds) enter(ctx context.Context) (*round, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		b, err := store.NewBatch(ctx, r.s, r.work.Durability)
		if err != nil {
			return nil, err
		}
		r.last = &round{Batch: b}
	}
	at := r.last
	at.begun, at.running = at.begun+1, at.running+1
	if r.work.records && at.begun >= roundWrites {
		r.last = nil
	}
	return at, nil
}

// leave ends a write, and reports whether it was the last one of a full round.
func (r *rounds) leave(at *round, m made) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at.running--
	at.indices, at.bytes = append(at.indices, m.indices...), at.bytes+m.bytes
	if r.work.records && at.bytes >= roundBytes && at == r.last {
		r.last = nil
	}
	return at.running == 0 && at != r.last
}

// end ends the last round, or discards it after an error. All writes have ended.
func (r *rounds) end(ctx context.Context, err error) error {
	at := r.last
	if at == nil {
		return err
	}
	defer at.Discard()
	if err == nil {
		err = r.commit(ctx, at)
	}
	return err
}

// commit makes the chunks of a round durable, and records them.
func (r *rounds) commit(ctx context.Context, at *round) error {
	err := at.Commit(ctx)
	if err == nil && r.work.records {
		err = r.record(ctx, at.indices)
	}
	return err
}
