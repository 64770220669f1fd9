// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// slow is a store that takes a second for every value, by the fake clock of a test
// bubble. It records the largest amount that was in flight at one time.
type slow struct {
	*memstore.Store
	real bool

	mu                                sync.Mutex
	bytes, chunks                     int64
	mostBytes, mostShared, mostChunks int64
}

func (s *slow) pass(n int64) {
	pause := time.Second
	if s.real {
		pause = 50 * time.Microsecond
	}
	s.count(n, 1)
	time.Sleep(pause)
	s.count(-n, -1)
}

func (s *slow) count(bytes, chunks int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += bytes
	s.chunks += chunks
	s.mostBytes, s.mostChunks = max(s.mostBytes, s.bytes), max(s.mostChunks, s.chunks)
	if s.chunks > 1 {
		s.mostShared = max(s.mostShared, s.bytes)
	}
}

func (s *slow) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	s.pass(q.Limit)
	return s.Store.Get(ctx, key, q, dst)
}

func (s *slow) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	b, err := s.Store.Batch(ctx, d)
	return slowBatch{b, s}, err
}

type slowBatch struct {
	store.Batch
	s *slow
}

func (b slowBatch) Put(ctx context.Context, key store.Key, value []byte) error {
	b.s.pass(int64(len(value)))
	return b.Batch.Put(ctx, key, value)
}

// budgets are limits, and the most chunks of 40 bytes that may be in flight under them.
var budgets = []struct {
	bytes               int64
	concurrency, chunks int64
}{
	{1, 16, 1}, {40, 16, 1}, {79, 16, 1}, {80, 16, 2}, {199, 16, 4}, {200, 3, 3}, {0, 5, 5}, {1 << 20, 7, 7},
}

// onBudgets runs an operation on chunks of 40 bytes, and one of 400 bytes, which exceeds
// most budgets. The bytes in flight must not exceed the budget. Only the large chunk may
// exceed it, while it is alone.
func onBudgets(t *testing.T, run func(t *testing.T, a *engine.Array, v strided.View), check func(t *testing.T, s *slow, chunks int64)) {
	for _, tt := range budgets {
		t.Run(fmt.Sprintf("%d bytes, %d workers", tt.bytes, tt.concurrency), func(t *testing.T) {
			lengths := slices.Repeat([]int64{10}, 40)
			lengths[20] = 100
			s := &slow{Store: memstore.New()}
			a, data := row(s.Store, plain(), lengths...)
			filled(t, a, data)
			a.Store, a.Concurrency, a.Budget = s, int(tt.concurrency), tt.bytes
			run(t, a, spread(a.Grid.Shape(), a.Size))
			if tt.bytes > 0 && s.mostShared > tt.bytes || s.mostBytes < 400 {
				t.Errorf("%d bytes in flight, %d bytes of several chunks", s.mostBytes, s.mostShared)
			}
			check(t, s, tt.chunks)
		})
	}
}

// TestReadBudget reads through buffers, and expects the budget to be used, too.
func TestReadBudget(t *testing.T) {
	onBudgets(t, func(t *testing.T, a *engine.Array, v strided.View) {
		synctest.Test(t, func(t *testing.T) {
			if _, err := a.Read(t.Context(), all(a), v, engine.Reading{}); err != nil {
				t.Error(err)
			}
		})
	}, func(t *testing.T, s *slow, chunks int64) {
		if s.mostChunks != chunks {
			t.Errorf("%d chunks in flight, want %d", s.mostChunks, chunks)
		}
	})
}

// TestWriteBudget writes through buffers, in real time: writers whose chunks share a lock
// wait for each other.
func TestWriteBudget(t *testing.T) {
	onBudgets(t, func(t *testing.T, a *engine.Array, v strided.View) {
		a.Store.(*slow).real = true
		if err := write(t.Context(), a, all(a), v); err != nil {
			t.Error(err)
		}
	}, func(t *testing.T, s *slow, chunks int64) {
		if s.mostChunks > chunks {
			t.Errorf("%d chunks in flight, at most %d are allowed", s.mostChunks, chunks)
		}
	})
}

// faulty is a store that calls a function for one value. If wait is set, requests for
// other values wait until the context ends.
type faulty struct {
	*memstore.Store
	key  string
	get  func(value []byte, dst []byte) ([]byte, error)
	wait bool
	puts atomic.Int64
}

func (f *faulty) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if key.String() != f.key {
		if f.wait {
			<-ctx.Done()
			return nil, store.Info{}, ctx.Err()
		}
		return f.Store.Get(ctx, key, q, dst)
	}
	value, info, err := f.Store.Get(ctx, key, store.Request{}, nil)
	if err != nil {
		return nil, info, err
	}
	out, err := f.get(value, dst)
	return out, info, err
}

func (f *faulty) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	b, err := f.Store.Batch(ctx, d)
	return countedBatch{b, f}, err
}

type countedBatch struct {
	store.Batch
	f *faulty
}

func (b countedBatch) Put(ctx context.Context, key store.Key, value []byte) error {
	b.f.puts.Add(1)
	return b.Batch.Put(ctx, key, value)
}

// TestFirstError fails one chunk while all others wait. The call returns the error of the
// chunk and cancels the others.
func TestFirstError(t *testing.T) {
	for _, concurrency := range []int{2, 16} {
		f := &faulty{Store: memstore.New(), key: "a/c/1", wait: true}
		f.get = func([]byte, []byte) ([]byte, error) { return nil, fs.ErrPermission }
		a, data := row(f, packed(), slices.Repeat([]int64{2}, 50)...)
		filled(t, a, data)
		a.Concurrency = concurrency
		err := read(t.Context(), a, data)
		wantChunk(t, err, fs.ErrPermission, "a/c/1", 1)
		if errors.Is(err, context.Canceled) {
			t.Errorf("%v is about the end that it brought", err)
		}
	}
}

// TestStoreErrors damages the bytes of one chunk. Every call returns an error that names
// the chunk, and writes nothing. Only Clear skips damaged chunks.
func TestStoreErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		get  func(value, dst []byte) ([]byte, error)
		is   error
	}{
		{"refused", func(_, _ []byte) ([]byte, error) { return nil, fs.ErrPermission }, fs.ErrPermission},
		{"too large", func(_, _ []byte) ([]byte, error) { return nil, fmt.Errorf("store: %w", store.ErrTooLarge) }, codec.ErrCorrupt},
		{"short", func(v, dst []byte) ([]byte, error) { return append(dst, v[:len(v)-1]...), nil }, codec.ErrCorrupt},
		{"empty", func(_, dst []byte) ([]byte, error) { return dst, nil }, codec.ErrCorrupt},
		{"no slice", func(_, _ []byte) ([]byte, error) { return nil, nil }, codec.ErrCorrupt},
		{"long", func(v, dst []byte) ([]byte, error) { return append(append(dst, v...), 0), nil }, codec.ErrCorrupt},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, exts := range [][]metadata.Extension{plain(), packed()} {
				f := &faulty{Store: memstore.New(), key: "a/c/1", get: tt.get}
				a, data := row(f, exts, 4, 4, 4)
				filled(t, a, data)
				f.puts.Store(0)
				wantChunk(t, read(t.Context(), a, data), tt.is, "a/c/1", 1)
				_, err := a.ReadChunk(t.Context(), []int64{1}, make([]byte, 16), nil, engine.Reading{})
				wantChunk(t, err, tt.is, "a/c/1", 1)
				_, err = a.Read(t.Context(), all(a), spread(a.Grid.Shape(), a.Size), engine.Reading{})
				wantChunk(t, err, tt.is, "a/c/1", 1)
				batch := must(store.NewBatch(t.Context(), f, store.Flush))
				if err := a.Clear(t.Context(), grid.Box{{Start: 1, Stop: 2}}, []int64{6}, batch); tt.is != codec.ErrCorrupt {
					wantChunk(t, err, tt.is, "a/c/1", 1)
				} else if err != nil {
					t.Errorf("clearing does not leave a damaged chunk alone: %v", err)
				}
				part := must(selectRow(5, 6))
				wantChunk(t, write(t.Context(), a, part, view(a, part, make([]byte, 4))), tt.is, "a/c/1", 1)
				if n := f.puts.Load(); n != 0 {
					t.Errorf("%d values were put", n)
				}
			}
		})
	}
}

// TestCancel ends the context before a call and in the middle of it.
func TestCancel(t *testing.T) {
	for _, concurrency := range []int{1, 8} {
		f := &faulty{Store: memstore.New(), key: "a/c/30"}
		a, data := row(f, packed(), slices.Repeat([]int64{2}, 50)...)
		a.Concurrency = concurrency
		filled(t, a, data)
		none, part := must(selectRow(5, 5)), must(selectRow(1, 99))
		for name, call := range map[string]func(context.Context) error{
			"read": func(ctx context.Context) error { return read(ctx, a, data) },
			"read none": func(ctx context.Context) error {
				_, err := a.Read(ctx, none, view(a, none, nil), engine.Reading{})
				return err
			},
			"write":      func(ctx context.Context) error { return write(ctx, a, all(a), view(a, all(a), data)) },
			"write part": func(ctx context.Context) error { return write(ctx, a, part, view(a, part, data[:98*4])) },
			"clear":      func(ctx context.Context) error { return a.Clear(ctx, grid.Box{{Stop: 50}}, []int64{1}, f.single(ctx)) },
			"delete":     func(ctx context.Context) error { return a.Delete(ctx, grid.Box{{Stop: 50}}, f.single(ctx)) },
		} {
			ctx, cancel := context.WithCancel(t.Context())
			f.get = func(v, dst []byte) ([]byte, error) { cancel(); return append(dst, v...), nil }
			if name == "read" {
				if err := call(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("%s, %d workers: in the middle: %v", name, concurrency, err)
				}
			}
			cancel()
			if err := call(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, %d workers: %v", name, concurrency, err)
			}
		}
	}
}

// single returns a batch that was begun before the context ended.
func (f *faulty) single(ctx context.Context) store.Batch {
	return must(store.NewBatch(context.WithoutCancel(ctx), f, store.Flush))
}
