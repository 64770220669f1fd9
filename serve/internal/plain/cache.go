// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"container/list"
	"context"
	"sync"
	"time"

	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/store"
)

// Limits bound what the views that share a [Cache] may take.
type Limits struct {
	// Chunk is the most bytes of a decoded chunk of a view.
	Chunk int64
	// Source is the most bytes of decoded chunks of a source that one chunk of a
	// coarsened array is made from. It bounds the memory for that, too.
	Source int64
	// Arrays is the number of arrays that may be open.
	Arrays int
	// Members is the number of nodes that the consolidated metadata of a view describe at
	// most. A group with more has none.
	Members int
}

// Cache keeps decoded chunks of sources and encoded chunks of views, and bounds the
// memory of all that is in work. Several views may share one. It is safe for concurrent
// use.
type Cache struct {
	Limits Limits

	decoded, encoded Shelf
	work             *budget.Budget
	answers          *budget.Budget // chunks that are being sent
	reading          int64          // the budget of one call that reads a source, in bytes

	mu     sync.Mutex
	opened int // arrays
}

// NewCache returns a cache for views that take at most size bytes in all, at least
// [Least].
func NewCache(size int64) *Cache {
	size = max(size, Least)
	work := size / 2
	c := &Cache{Limits: Limits{Chunk: size / 16, Source: work / 2, Arrays: 10_000, Members: 1000}, reading: size / 32}
	c.work = budget.NewInTwo(work-size/8, work/2)
	c.answers = budget.New(size / 8)
	c.encoded.limit = size / 8
	c.decoded.limit = size - work - c.encoded.limit
	return c
}

// Least is the smallest size of a cache, in bytes.
const Least = 16 << 20

// open counts an array that is opened, and reports whether there may be one more.
func (c *Cache) open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opened >= c.Limits.Arrays {
		return false
	}
	c.opened++
	return true
}

// Place identifies what a [Shelf] keeps.
type Place struct {
	Array any    // a pointer, which is compared
	Where string // which chunk, or which part of the source
	// Version is that of all that the bytes were made from. "" means that it is not
	// known: the bytes are not kept.
	Version string
}

// close counts arrays that are closed.
func (c *Cache) close(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened -= n
}

// Shelf keeps bytes, which are not changed, up to a limit. Those that were used longest
// ago make room for others. Concurrent calls for one place make its bytes once.
type Shelf struct {
	limit int64

	mu      sync.Mutex
	size    int64
	entries map[Place]*entry
	order   list.List // of *entry with bytes, the last used first
}

// NewShelf returns a shelf that keeps at most so many bytes.
func NewShelf(limit int64) *Shelf { return &Shelf{limit: limit} }

// entry is what a place has, or will have.
type entry struct {
	at     Place
	made   chan struct{} // closed when data and err are set
	data   []byte
	err    error
	wanted int // calls that wait
	cancel context.CancelFunc
	used   *list.Element // nil if the entry is not kept
}

// size is the memory that an entry takes in bytes, estimated.
func (e *entry) size() int64 { return int64(len(e.data)+len(e.at.Where)) + 512 }

// Get returns the bytes of a place. If the shelf does not have them, it calls make, whose
// context ends when nobody waits any longer.
func (s *Shelf) Get(ctx context.Context, at Place, make func(context.Context) ([]byte, error)) ([]byte, error) {
	if at.Version == "" {
		return make(ctx)
	}
	for {
		e, mine := s.entry(ctx, at)
		if mine != nil {
			go s.fill(mine, e, make)
		}
		select {
		case <-e.made:
		case <-ctx.Done():
		}
		s.leave(e)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// The calls that waited for the entry may have ended before this one came.
		if e.err == nil || e.err != context.Canceled {
			return e.data, e.err
		}
	}
}

// entry returns the entry of a place, for which the caller waits. If it is new, it also
// returns the context in which its bytes are made.
func (s *Shelf) entry(ctx context.Context, at Place) (*entry, context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[at]; e != nil {
		if e.wanted++; e.used != nil {
			s.order.MoveToFront(e.used)
		}
		return e, nil
	}
	e := &entry{at: at, made: make(chan struct{}), wanted: 1}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if e.cancel = cancel; s.entries == nil {
		s.entries = map[Place]*entry{}
	}
	s.entries[at] = e
	return e, work
}

// leave ends the wait of one call.
func (s *Shelf) leave(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.wanted--; e.wanted == 0 && e.used == nil {
		e.cancel()
		if s.entries[e.at] == e {
			delete(s.entries, e.at)
		}
	}
}

// mostKept says which part of a shelf bytes may take that are kept, of one place.
const mostKept = 2

// forget drops the bytes of a place.
func (s *Shelf) forget(at Place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[at]; e != nil && e.used != nil {
		s.order.Remove(e.used)
		s.size -= e.size()
		delete(s.entries, at)
	}
}

// fill makes the bytes of an entry and keeps them if they are not too many.
func (s *Shelf) fill(ctx context.Context, e *entry, make func(context.Context) ([]byte, error)) {
	data, err := careful(ctx, make)
	if ctx.Err() != nil {
		err = context.Canceled
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(e.made)
	e.data, e.err = data, err
	if s.entries[e.at] != e {
		return
	}
	if err != nil || int64(len(data)) > s.limit/mostKept {
		delete(s.entries, e.at) // those that wait still get it
		return
	}
	e.used = s.order.PushFront(e)
	s.size += e.size()
	for s.size > s.limit {
		old := s.order.Remove(s.order.Back()).(*entry)
		s.size -= old.size()
		delete(s.entries, old.at)
	}
}

// careful returns a panic as an error: one in a goroutine would end the server.
func careful(ctx context.Context, make func(context.Context) ([]byte, error)) (data []byte, err error) {
	defer parallel.Recover(&err)
	return make(ctx)
}

// trusted is how long a version that a far store has told is taken for the present one.
// To ask for each chunk of each request would double the requests. It does not count for
// a chunk that has just been made: only a version that is told after the read proves that
// it was not another one.
const trusted = time.Second

// VersionOf returns the text of a version under which bytes are kept, or "". The time of
// a file has a coarse clock: a second write may leave a version as it was.
func VersionOf(info store.Info, now time.Time) string {
	if info.Version.IsWeak() && now.Sub(info.Modified) < 2*time.Second {
		return ""
	}
	return info.Version.String()
}
