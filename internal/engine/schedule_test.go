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
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	_ "varve.dev/zarr/internal/codecs/sharding"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/observed"
)

var errRefused = errors.New("refused")

const kib = 1 << 10

// TestFarRounds reads 64 chunks whose encoded form has a twentieth of their size. All
// requests are in flight at one time, even if the budget has room for only four decoded
// chunks, and even if decoding takes time. Each chunk is requested once.
func TestFarRounds(t *testing.T) {
	for _, tt := range []struct {
		budget         int64
		flying, rounds int
	}{
		{0, 8, 8}, {0, 32, 2}, {0, 64, 1},
		{256 * kib, 8, 9}, {256 * kib, 16, 7}, // few at first: nobody knows how long chunks are
	} {
		t.Run(fmt.Sprintf("%d KiB, %d at a time", tt.budget/kib, tt.flying), func(t *testing.T) {
			a, f := distant(t, &tally{size: oneIn(20)}, "", slices.Repeat([]int64{64 * kib}, 64)...)
			a.Concurrency, a.Budget = tt.flying, tt.budget
			synctest.Test(t, func(t *testing.T) { readFar(t.Context(), t, a) })
			if f.most != tt.flying || f.rounds() > tt.rounds || f.asked != 64 {
				t.Errorf("%d requests in %d rounds, up to %d at a time; want 64 in %d, %d at a time", f.asked, f.rounds(), f.most, tt.rounds, tt.flying)
			}
			if tt.budget > 0 && f.held.most > tt.budget {
				t.Errorf("%d bytes were held", f.held.most)
			}
		})
	}
}

// TestFarDefault checks that a far store gets more concurrent requests than a near one.
func TestFarDefault(t *testing.T) {
	a, f := distant(t, &tally{size: oneIn(20)}, "", slices.Repeat([]int64{kib}, 64)...)
	synctest.Test(t, func(t *testing.T) { readFar(t.Context(), t, a) })
	if f.most < 32 {
		t.Errorf("%d requests at a time", f.most)
	}
}

// paced is a far store that limits its own requests.
type paced struct{ *far }

func (paced) Traits() store.Traits { return store.Traits{Requests: 100} }

func (paced) CheckKey(store.Key) error { return nil }

// TestPaced checks that a store that limits its own requests gets as many as it may send,
// through a wrapper too, unless the caller has another number.
func TestPaced(t *testing.T) {
	for asked, want := range map[int]int{0: 100, 7: 7} {
		a, f := distant(t, &tally{size: oneIn(20)}, "", slices.Repeat([]int64{kib}, 300)...)
		a.Store, a.Concurrency = observed.New(paced{f}, nil), asked
		synctest.Test(t, func(t *testing.T) { readFar(t.Context(), t, a) })
		if f.most != want {
			t.Errorf("%d requests at a time, want %d", f.most, want)
		}
	}
}

// TestFarWhileDecoding checks that decoding does not reduce the requests in flight.
func TestFarWhileDecoding(t *testing.T) {
	a, f := distant(t, &tally{size: oneIn(20), takes: 300 * time.Millisecond}, "", slices.Repeat([]int64{64 * kib}, 24)...)
	a.Concurrency, a.Budget = 2, 256*kib
	synctest.Test(t, func(t *testing.T) { readFar(t.Context(), t, a) })
	late := 0 // requests that began when no second had passed since the one before the last
	for i := 2; i < len(f.began); i++ {
		if f.began[i].Sub(f.began[i-2]) > time.Second {
			late++
		}
	}
	if f.most != 2 || late > 2 {
		t.Errorf("%d requests at a time, %d of 24 were late", f.most, late)
	}
}

// TestFarMemory reads chunks of equal and different lengths, with encoded forms of
// several sizes, within budgets from one byte to all of them. The bytes in memory do
// not exceed the budget. If the budget has no room for a few chunks, one more may be in
// memory, encoded and decoded.
func TestFarMemory(t *testing.T) {
	racing.Skip(t)
	uneven := slices.Repeat([]int64{4 * kib, 100 * kib, 512, 1}, 10)
	for _, tt := range []struct {
		name    string
		lengths []int64
		size    func([]byte) int
		repeats bool // some chunks may be asked for twice
	}{
		{"short", slices.Repeat([]int64{64 * kib}, 40), oneIn(20), false},
		{"noise", slices.Repeat([]int64{64 * kib}, 40), oneIn(1), false},
		{"ever longer", slices.Repeat([]int64{64 * kib}, 100), growing, true},
		{"uneven", uneven, oneIn(3), true},
		{"uneven noise", uneven, oneIn(1), true},
	} {
		for _, budget := range []int64{1, 5, 4 * kib, 64 * kib, 100 * kib, 128 * kib, 400 * kib, 8192 * kib} {
			t.Run(fmt.Sprintf("%s, %d", tt.name, budget), func(t *testing.T) {
				a, f := distant(t, &tally{size: tt.size}, "", tt.lengths...)
				a.Concurrency, a.Budget = 8, budget
				synctest.Test(t, func(t *testing.T) { readFar(t.Context(), t, a) })
				most := budget
				if largest := slices.Max(tt.lengths); budget < 4*largest {
					most += 2 * largest
				}
				if f.held.most > most || f.held.current != 0 {
					t.Errorf("%d bytes were held, %d in the end, want at most %d", f.held.most, f.held.current, most)
				}
				if again := f.asked - len(tt.lengths); again < 0 || again > 0 && !tt.repeats || again > len(tt.lengths)/2 {
					t.Errorf("%d requests for %d chunks", f.asked, len(tt.lengths))
				}
			})
		}
	}
}

// TestFarShards reads shards, and parts of shards. Together they have exactly the
// permitted number of requests in flight, and at most the bytes of the budget. The read
// ends with any budget.
func TestFarShards(t *testing.T) {
	for _, tt := range []struct {
		budget          int64
		concurrency     int
		flying, ofAPart int // requests at a time, at least
	}{
		{0, 8, 8, 8}, {0, 32, 32, 32}, {256 * kib, 8, 8, 8}, {256 * kib, 1, 1, 1}, {64 * kib, 8, 1, 1}, {kib, 8, 1, 1}, {1, 8, 1, 1},
	} {
		t.Run(fmt.Sprintf("%d KiB, %d at a time", tt.budget/kib, tt.concurrency), func(t *testing.T) {
			a, f := distant(t, &tally{size: oneIn(20)}, "4096,[16384,3],12288", slices.Repeat([]int64{64 * kib}, 64)...)
			a.Concurrency, a.Budget = tt.concurrency, tt.budget
			synctest.Test(t, func(t *testing.T) { readFar(t.Context(), t, a) })
			if f.most > tt.concurrency || f.most < tt.flying || tt.budget > kib && f.burden > tt.budget {
				t.Errorf("%d requests at a time, %d bytes", f.most, f.burden)
			}
			f.most = 0
			synctest.Test(t, func(t *testing.T) {
				part := must(selectRow(32*kib, a.Grid.Shape()[0]-32*kib))
				if _, err := a.Read(t.Context(), part, spread(part.FullShape(), a.Size), engine.Reading{}); err != nil {
					t.Error(err)
				}
			})
			if f.most > tt.concurrency || f.most < tt.ofAPart {
				t.Errorf("%d requests at a time for a part", f.most)
			}
		})
	}
}

// TestFarLongShards reads shards with a budget for five of them. It makes all permitted
// requests concurrently, for ranges of shards.
func TestFarLongShards(t *testing.T) {
	a, f := distant(t, &tally{size: oneIn(1)}, "[65536,16]", slices.Repeat([]int64{1024 * kib}, 16)...)
	a.Concurrency, a.Budget = 8, 6*1024*kib
	synctest.Test(t, func(t *testing.T) { readFar(t.Context(), t, a) })
	if f.most != 8 || f.burden > a.Budget {
		t.Errorf("%d requests at a time, %d bytes", f.most, f.burden)
	}
}

// TestFarEnds refuses one chunk, or ends the context during the read, with budgets that
// make other workers wait. The read returns the error, and all goroutines end.
func TestFarEnds(t *testing.T) {
	for _, inner := range []string{"", "[16384,4]"} {
		for _, budget := range []int64{0, 1, 100 * kib} {
			a, f := distant(t, &tally{size: oneIn(4), takes: 100 * time.Millisecond}, inner, slices.Repeat([]int64{64 * kib}, 64)...)
			a.Concurrency, a.Budget = 4, budget
			read := func(ctx context.Context) error {
				_, err := a.Read(ctx, all(a), spread(a.Grid.Shape(), a.Size), engine.Reading{})
				return err
			}
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
				defer cancel()
				if err := read(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("inner chunks %q, %d bytes: %v", inner, budget, err)
				}
			})
			f.fail = "a/c/20"
			synctest.Test(t, func(t *testing.T) {
				wantChunk(t, read(t.Context()), errRefused, "a/c/20", 20)
			})
		}
	}
}

// slow is a store that takes a second for every value, by the fake clock of a test
// bubble. It records the largest amount that was in flight at one time.
type slow struct {
	memtest.Store
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

func (b slowBatch) Write(ctx context.Context, c store.Change) (store.Written, error) {
	if c.Op == store.OpPut {
		b.s.pass(int64(len(c.Value)))
	}
	return b.Batch.Write(ctx, c)
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
			s := &slow{Store: memtest.New()}
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
	memtest.Store
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

func (b countedBatch) Write(ctx context.Context, c store.Change) (store.Written, error) {
	if c.Op == store.OpPut {
		b.f.puts.Add(1)
	}
	return b.Batch.Write(ctx, c)
}

// TestFirstError fails one chunk while all others wait. The call returns the error of the
// chunk and cancels the others.
func TestFirstError(t *testing.T) {
	for _, concurrency := range []int{2, 16} {
		f := &faulty{Store: memtest.New(), key: "a/c/1", wait: true}
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
		name   string
		get    func(value, dst []byte) ([]byte, error)
		target error
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
				f := &faulty{Store: memtest.New(), key: "a/c/1", get: tt.get}
				a, data := row(f, exts, 4, 4, 4)
				filled(t, a, data)
				f.puts.Store(0)
				wantChunk(t, read(t.Context(), a, data), tt.target, "a/c/1", 1)
				_, err := a.ReadChunk(t.Context(), []int64{1}, make([]byte, 16), nil, engine.Reading{})
				wantChunk(t, err, tt.target, "a/c/1", 1)
				_, err = a.Read(t.Context(), all(a), spread(a.Grid.Shape(), a.Size), engine.Reading{})
				wantChunk(t, err, tt.target, "a/c/1", 1)
				batch := must(store.NewBatch(t.Context(), f, store.Flush))
				if err := a.Clear(t.Context(), grid.Box{{Start: 1, Stop: 2}}, []int64{6}, batch); tt.target != codec.ErrCorrupt {
					wantChunk(t, err, tt.target, "a/c/1", 1)
				} else if err != nil {
					t.Errorf("clearing does not leave a damaged chunk alone: %v", err)
				}
				part := must(selectRow(5, 6))
				wantChunk(t, write(t.Context(), a, part, view(a, part, make([]byte, 4))), tt.target, "a/c/1", 1)
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
		f := &faulty{Store: memtest.New(), key: "a/c/30"}
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

// far is a far store: it has no powers, and answers each request after a second by the
// fake clock of a test bubble. It counts requests.
type far struct {
	*held
	below store.Store
	fail  string // the key that it refuses

	mu            sync.Mutex
	asked         int
	flying, most  int // requests now, and at one time
	bytes, burden int64
	began         []time.Time
}

// held counts the bytes of chunks in memory, encoded and decoded, and their maximum.
type held struct {
	mu            sync.Mutex
	current, most int64
}

func (h *held) add(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.current += n
	h.most = max(h.most, h.current)
}

func (f *far) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if key.String() == f.fail {
		return nil, store.Info{}, errRefused
	}
	out, info, err := f.below.Get(ctx, key, q, dst)
	f.fly(1, int64(len(out)))
	defer f.fly(-1, -int64(len(out)))
	select {
	case <-ctx.Done():
		return nil, store.Info{}, ctx.Err()
	case <-time.After(time.Second):
	}
	f.held.add(int64(len(out)))
	return out, info, err
}

// fly notes that a request begins or ends.
func (f *far) fly(n int, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flying += n
	f.bytes += bytes
	f.most, f.burden = max(f.most, f.flying), max(f.burden, f.bytes)
	if n > 0 {
		f.asked++
		f.began = append(f.began, time.Now())
	}
}

// rounds is how many groups of requests began together.
func (f *far) rounds() int {
	slices.SortFunc(f.began, time.Time.Compare)
	return len(slices.CompactFunc(f.began, time.Time.Equal))
}

// tally is a codec that encodes many bytes to few, and counts the bytes of both kinds in
// memory.
type tally struct {
	*held
	size  func(src []byte) int // of the encoded chunk
	takes time.Duration        // to decode
}

func (c *tally) MaxEncoded(n int64) int64 { return n }

func (c *tally) Encode(dst, src []byte) ([]byte, error) {
	return append(dst, src[:c.size(src)]...), nil
}

// Decode repeats the first byte.
func (c *tally) Decode(dst, src []byte, most int64) ([]byte, error) {
	c.add(most)
	time.Sleep(c.takes)
	for range most {
		dst = append(dst, src[0])
	}
	c.add(-most - int64(len(src)))
	return dst, nil
}

// oneIn is the size of chunks that are encoded to one byte in n.
func oneIn(n int) func([]byte) int { return func(src []byte) int { return max(1, len(src)/n) } }

// growing is the size of chunks that are encoded to the more bytes the later they are.
func growing(src []byte) int { return len(src) * int(src[0]) / 256 }

// distant returns the engine of a row of chunks in a far store. All elements of a chunk
// are its number, from 1.
func distant(t testing.TB, c *tally, inner string, lengths ...int64) (*engine.Array, *far) {
	t.Helper()
	registry := new(codec.Registry)
	for _, name := range []string{"bytes", "crc32c", "sharding_indexed"} {
		registry.Register(name, func(conf []byte) (any, error) {
			return codec.Default.New(metadata.Extension{Name: name, Configuration: conf})
		})
	}
	registry.Register("tally", func([]byte) (any, error) { return c, nil })
	exts := append(plain(), metadata.Extension{Name: "tally"})
	if inner != "" {
		exts = []metadata.Extension{{Name: "sharding_indexed", Configuration: []byte(`{"chunk_grid":{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[` + inner + `]]}},"codecs":[{"name":"bytes"},{"name":"tally"}],
			"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}`)}}
	}
	var data []byte
	for i, n := range lengths {
		data = append(data, slices.Repeat([]byte{byte(i + 1)}, int(n))...)
	}
	c.held = new(held)
	g := must(grid.New([]int64{int64(len(data))}, grid.Edges(lengths...)))
	below := memtest.New()
	a := newArray(below, dtype.Uint8, g, plain(), []byte{0})
	a.Chain = must(coding.NewChain(&codec.Environment{Registry: registry, Unaligned: true}, exts, codec.Spec{Type: dtype.Uint8, Fill: []byte{0}, Rank: 1}))
	filled(t, a, data)
	*c.held = held{}
	f := &far{held: c.held, below: below}
	a.Store = f
	return a, f
}

// readFar reads everything to a block in which no chunk is contiguous, and compares.
func readFar(ctx context.Context, t *testing.T, a *engine.Array) {
	t.Helper()
	v := spread(a.Grid.Shape(), a.Size)
	if _, err := a.Read(ctx, all(a), v, engine.Reading{}); err != nil {
		t.Fatal(err)
	}
	for k := range a.Grid.Chunks()[0] {
		cell, ok := a.Grid.Axis(0).Cell(k)
		if !ok {
			t.Fatalf("there is no chunk %d", k)
		}
		for i := cell.Start; i < cell.Start+cell.Edge; i++ {
			if got := v.Data[v.Strides[0]*i]; got != byte(k+1) {
				t.Fatalf("element %d is %d, want %d", i, got, k+1)
			}
		}
	}
}
