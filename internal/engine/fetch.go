// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync"

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

// source is a [coding.Source] that reads one version of a stored chunk.
type source struct {
	store    store.Store
	key      store.Key
	requests requests

	mu     sync.Mutex
	pinned *store.Pinned
	expect store.Info
	info   store.Info // of the version that was read
}

// source returns the source of the chunk at key.
func (w *worker) source(key store.Key) *source {
	return &source{store: w.Store, key: key, requests: w.requests}
}

// Key implements [coding.Source].
func (s *source) Key() store.Key { return s.key }

// Expect implements [coding.Source].
func (s *source) Expect(info store.Info) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pinned != nil {
		s.pinned.Close()
	}
	s.pinned, s.expect, s.info = nil, info, store.Info{}
}

// Read implements [coding.Source].
func (s *source) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, store.Info, error) {
	s.mu.Lock()
	if s.pinned == nil {
		s.pinned = store.Pin(s.store, s.key, s.expect)
	}
	// Do not hold the lock during the request.
	pinned := s.pinned
	s.mu.Unlock()
	if err := s.requests.enter(ctx); err != nil {
		return nil, store.Info{}, err
	}
	out, info, err := pinned.Read(ctx, q, dst)
	s.requests.leave()
	if err == nil {
		s.mu.Lock()
		s.info = info
		s.mu.Unlock()
	}
	return out, info, err
}

// close closes the pinned version, and returns the information about it.
func (s *source) close() (store.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pinned == nil {
		return s.info, nil
	}
	return s.info, s.pinned.Close()
}

// The smallest default concurrency. A far store answers slowly, but can answer many
// requests at once.
const (
	farRequests = 32
	nearChunks  = 8
)

// InFlight returns the concurrency of one operation: the number of requests in flight to
// a far store, or of chunks of a near store in work. It returns asked unless that is 0. A
// store that limits its own requests ([store.Traits]) gets as many as it may ever send.
func InFlight(s store.Store, asked, processors int) int {
	switch {
	case asked > 0:
		return asked
	case Near(s):
		return max(nearChunks, 2*processors)
	}
	return max(farRequests, store.TraitsOf(s).Requests, 2*processors)
}

// RequestBytes returns how many bytes a store transfers in the time of one request, which
// plans weigh against each other. A far store answers in 10 to 20 ms; a near one in less
// than a tenth of a millisecond.
func RequestBytes(s store.Store) int64 {
	if Near(s) {
		return 64 << 10
	}
	return 1 << 20
}

// Near reports whether a request to the store takes almost no time.
func Near(s store.Store) bool {
	_, ok := store.As[store.Opener](s)
	return ok
}

func (a *Array) near() bool { return Near(a.Store) }

func (a *Array) concurrency() int { return InFlight(a.Store, a.Concurrency, runtime.GOMAXPROCS(0)) }

// requests limits the number of requests to a far store that one operation has in flight.
// A worker may hold bytes and cores while it waits here without a deadlock, because
// requests in flight wait only for the store. A nil value sets no limit.
type requests chan struct{}

// enter waits until another request may be made.
func (q requests) enter(ctx context.Context) error {
	if q == nil {
		return nil
	}
	select {
	case q <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave ends a request.
func (q requests) leave() {
	if q != nil {
		<-q
	}
}

// Sizes in bytes that decide how to join ranges. farCost is the cost of a request to a
// far store: the bytes that could be read in the same time (20 ms at 200 MB/s).
const (
	farCost  = 4 << 20
	mostGap  = 1 << 20
	leastGap = 64 << 10
	nearGap  = 16 << 10
	farSmall = 1 << 20
	farGuess = 64 << 10
	span     = 16 << 20

	fewShards  = 12        // shards that share the budget
	leastRange = 512 << 10 // smallest share of a shard

	// nearBlock is the number of bytes that are read and moved at a time. They fit into
	// the L2 cache of a core.
	nearBlock = 256 << 10
)
