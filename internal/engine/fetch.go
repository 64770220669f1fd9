package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/store"
)

// fetch reads the stored bytes of the chunk into dst, which is empty. It is nil where
// there is no such chunk.
func (w *worker) fetch(ctx context.Context, limit int64, dst []byte) ([]byte, error) {
	if err := w.requests.enter(ctx); err != nil {
		return nil, err
	}
	src, info, err := w.Store.Get(ctx, w.key, store.Request{Limit: max(1, limit)}, dst)
	w.requests.leave()
	w.info = info
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, store.ErrTooLarge):
		return nil, fmt.Errorf("%w: the stored chunk is too long for its shape %v: %w", codec.ErrCorrupt, w.Cell.Encoded, err)
	case err == nil && src == nil:
		src = []byte{}
	}
	return src, err
}

// stored is a stored chunk in memory.
type stored struct {
	data   []byte // nil where there is no such chunk
	buffer *budget.Buffer
	weight int64 // what the budget gave for it
}

// release gives back what the chunk took.
func (s stored) release(b *budget.Budget) {
	s.buffer.Put()
	b.Release(s.weight)
}

// stored reads the stored bytes of a chunk of n decoded bytes. The caller puts the buffer
// back.
func (w *worker) stored(ctx context.Context, n int64) (stored, error) {
	var s stored
	err := w.fetchTo(ctx, &s, n, w.Chain.MaxEncoded(w.Cell.Encoded, n))
	return s, err
}

// fetchWithin is stored within the budget, of which it takes what such a chunk probably
// needs. One that turns out to be longer is asked for again.
func (w *worker) fetchWithin(ctx context.Context, n int64) (s stored, err error) {
	limit := w.Chain.MaxEncoded(w.Cell.Encoded, n)
	most := int64(0)
	if s.weight, most, err = w.reserve(ctx, func() int64 { return w.ratio.Expect(n, limit, limit) }); err != nil {
		return s, err
	}
	most = min(most, limit)
	err = w.fetchTo(ctx, &s, n, most)
	if errors.Is(err, store.ErrTooLarge) && most < limit {
		s.release(w.bytes)
		s = stored{}
		if s.weight, err = w.bytes.Acquire(ctx, limit); err != nil {
			return s, err
		}
		err = w.fetchTo(ctx, &s, n, limit)
	}
	if needs := max(1, int64(cap(s.data))); needs < s.weight {
		w.bytes.Release(s.weight - needs)
		s.weight = needs
	}
	return s, err
}

// fetchTo reads a stored chunk of n decoded bytes that has at most so many.
func (w *worker) fetchTo(ctx context.Context, s *stored, n, most int64) (err error) {
	s.buffer = budget.Get(min(most, w.ratio.Ready(n, firstBuffer, most)))
	s.data, err = w.fetch(ctx, most, s.buffer.B)
	w.ratio.Learn(int64(len(s.data)), n)
	return err
}

// firstBuffer is how many bytes are made ready for a stored chunk as long as none was
// seen.
const firstBuffer = 4 << 10

// reserve takes as many bytes from the budget as are needed, at least the worker's share,
// or all that there may be. It returns what it took, and what was needed. That may have
// become less while it waited: others have seen meanwhile how long stored chunks are.
func (r *run) reserve(ctx context.Context, need func() int64) (weight, needed int64, err error) {
	least := max(1, r.share)
	needed = max(least, need())
	if weight, err = r.bytes.Acquire(ctx, needed); err != nil || needed == least {
		return weight, needed, err
	}
	if needed = min(needed, max(least, need())); needed < weight {
		r.bytes.Release(weight - needed)
		weight = needed
	}
	return weight, needed, nil
}
