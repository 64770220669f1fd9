// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/store"
)

// fetch reads the stored bytes of the chunk into dst, which is empty. It returns nil if
// the chunk is not stored.
func (w *worker) fetch(ctx context.Context, limit int64, dst []byte) ([]byte, error) {
	if err := w.requests.enter(ctx); err != nil {
		return nil, err
	}
	// A limit of 0 would mean no limit.
	src, info, err := w.Store.Get(ctx, w.key, store.Request{Limit: max(1, limit)}, dst)
	w.requests.leave()
	w.info = info
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, store.ErrTooLarge):
		return nil, w.Chain.TooLong(fmt.Errorf("the stored chunk is too long for its shape %v: %w", w.Cell.Encoded, err))
	case err == nil && src == nil:
		// An empty value is stored; nil means that the chunk is not.
		src = []byte{}
	}
	return src, err
}

// stored is a stored chunk in memory.
type stored struct {
	data   []byte // nil if the chunk is not stored
	buffer *budget.Buffer
	weight int64 // bytes of the budget
}

// release puts back the buffer, and returns its bytes to the budget.
func (s stored) release(b *budget.Budget) {
	s.buffer.Put()
	b.Release(s.weight)
}

// stored reads the stored bytes of a chunk of n decoded bytes. The caller puts back the
// buffer.
func (w *worker) stored(ctx context.Context, n int64) (stored, error) {
	var s stored
	err := w.fetchTo(ctx, &s, n, w.Chain.MaxEncoded(w.Cell.Encoded, n))
	return s, err
}

// fetchWithin is stored within the budget. It first takes the bytes that the chunk
// probably needs. If the chunk is longer, it takes the largest size that a chunk may have
// and requests it again.
func (w *worker) fetchWithin(ctx context.Context, n int64) (s stored, err error) {
	limit := w.Chain.MaxEncoded(w.Cell.Encoded, n)
	most := int64(0)
	if s.weight, most, err = w.reserve(ctx, func() int64 { return w.ratio.Expect(n, limit, limit) }); err != nil {
		return s, err
	}
	most = min(most, limit)
	err = w.fetchTo(ctx, &s, n, most)
	if errors.Is(err, store.ErrTooLarge) && most < limit {
		// Return all bytes before asking for more: waiting while holding some could
		// deadlock with other workers.
		s.release(w.bytes)
		s = stored{}
		if s.weight, err = w.bytes.Acquire(ctx, limit); err != nil {
			return s, err
		}
		err = w.fetchTo(ctx, &s, n, limit)
	}
	// If the chunk is shorter than expected, return the rest at once.
	if needs := max(1, int64(cap(s.data))); needs < s.weight {
		w.bytes.Release(s.weight - needs)
		s.weight = needs
	}
	return s, err
}

// fetchTo reads a chunk that has n decoded bytes and at most most stored bytes.
func (w *worker) fetchTo(ctx context.Context, s *stored, n, most int64) (err error) {
	s.buffer = budget.Get(min(most, w.ratio.Ready(n, firstBuffer, most)))
	s.data, err = w.fetch(ctx, most, s.buffer.B)
	w.ratio.Learn(int64(len(s.data)), n)
	return err
}

// firstBuffer is the size in bytes of the buffer for the first stored chunk.
const firstBuffer = 4 << 10

// reserve takes the needed bytes from the budget, at least the worker's share. It returns
// how many it took and how many were needed.
func (r *run) reserve(ctx context.Context, need func() int64) (weight, needed int64, err error) {
	least := max(1, r.share)
	needed = max(least, need())
	if weight, err = r.bytes.Acquire(ctx, needed); err != nil || needed == least {
		return weight, needed, err
	}
	// During the wait, other workers may have learned that stored chunks are shorter.
	if needed = min(needed, max(least, need())); needed < weight {
		r.bytes.Release(weight - needed)
		weight = needed
	}
	return weight, needed, nil
}
