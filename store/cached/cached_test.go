// SPDX-License-Identifier: Apache-2.0

package cached_test

import (
	"context"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"varve.dev/zarr/internal/test/filetest"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/cached"
	"varve.dev/zarr/store/observed"
	"varve.dev/zarr/store/storetest"
)

func TestMain(m *testing.M) {
	child()
	goleak.VerifyTestMain(m)
}

// caches are the kinds of caches.
var caches = map[string]func(t testing.TB, limit int64) *cached.Cache{
	"memory": func(_ testing.TB, limit int64) *cached.Cache { return cached.InMemory(limit) },
	"folder": func(t testing.TB, limit int64) *cached.Cache { return folder(t, t.TempDir(), limit) },
}

// folder opens a cache in a folder.
func folder(t testing.TB, dir string, limit int64) *cached.Cache {
	t.Helper()
	c, err := cached.Open(dir, limit)
	if err != nil {
		t.Fatal(err)
	}
	c.Warn = func(err error) { t.Errorf("warning: %v", err) }
	t.Cleanup(func() { c.Close() })
	return c
}

// TestStore is the suite of drivers, with both kinds of caches, on stores with different
// powers.
func TestStore(t *testing.T) {
	below := map[string]func(t *testing.T) store.Store{
		"memory": func(*testing.T) store.Store { return memtest.New() },
		"file": func(t *testing.T) store.Store {
			s := filetest.On(vfs.NewDisk())
			t.Cleanup(func() { s.Close() })
			return s
		},
		"object store": func(*testing.T) store.Store { return stepping.Conditional(memtest.New(), stepping.Hooks{}) },
	}
	options := map[string]*cached.Options{
		"default": {Place: "here"}, "immutable": {Place: "here", Immutable: true},
	}
	for kind, cache := range caches {
		for name, open := range below {
			for trust, opt := range options {
				if kind == "folder" && trust == "immutable" && name != "object store" {
					continue // slow, and no other code
				}
				t.Run(kind+"/"+name+"/"+trust, func(t *testing.T) {
					storetest.Run(t, func(t *testing.T) store.Store {
						return cached.New(open(t), cache(t, 8<<20), opt)
					})
				})
			}
		}
	}
}

// far is an object store that counts requests and can wait.
type far struct {
	stepping.ObjectStore
	mu    sync.Mutex
	count map[string]int
	bytes int64
	wait  func(op stepping.Op)
	late  func(op stepping.Op) // after an operation
}

func newFar() *far {
	f := &far{count: map[string]int{}}
	f.ObjectStore = stepping.Conditional(memtest.New(), stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		f.mu.Lock()
		f.count[op.Name]++
		wait := f.wait
		f.mu.Unlock()
		if wait != nil {
			wait(op)
		}
		return nil
	}, After: func(op stepping.Op, err error) error {
		f.mu.Lock()
		late := f.late
		f.mu.Unlock()
		if late != nil {
			late(op)
		}
		return err
	}})
	return f
}

func (f *far) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	out, info, err := f.ObjectStore.Get(ctx, key, q, dst)
	f.mu.Lock()
	f.bytes += int64(len(out) - len(dst))
	f.mu.Unlock()
	return out, info, err
}

// Traits implements [store.Describer].
func (f *far) Traits() store.Traits { return store.Traits{Place: "far://place"} }

// CheckKey implements [store.Describer].
func (f *far) CheckKey(store.Key) error { return nil }

// took returns the counts of Get and Stat since it was called last.
func (f *far) took() (gets, stats int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	gets, stats = f.count["Get"], f.count["Stat"]
	clear(f.count)
	return gets, stats
}

// pattern returns bytes that differ from block to block and by seed.
func pattern(n, seed int) []byte {
	b := make([]byte, n)
	x := uint32(seed)*2654435761 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x)
	}
	return b
}

func (f *far) write(t testing.TB, key string, value []byte) {
	t.Helper()
	if _, err := f.Write(context.Background(), store.Put(store.MustKey(key), value), store.Flush); err != nil {
		t.Fatal(err)
	}
	f.took()
}

// reads reads a range and checks the bytes and the requests that it took.
func reads(t *testing.T, f *far, s store.Store, key string, r store.Range, value []byte, gets, stats int) {
	t.Helper()
	f.took()
	got, info, err := s.Get(t.Context(), store.MustKey(key), store.Request{Range: r}, []byte("x"))
	off, n, _ := r.Resolve(int64(len(value)))
	if err != nil || string(got) != "x"+string(value[off:off+n]) || info.Size != int64(len(value)) {
		t.Fatalf("%s of %s: %d bytes of size %d, error %v", r, key, len(got), info.Size, err)
	}
	if g, st := f.took(); g != gets || st != stats {
		t.Errorf("%s of %s: %d Get and %d Stat, want %d and %d", r, key, g, st, gets, stats)
	}
}

// each runs a test with both kinds of caches.
func each(t *testing.T, test func(t *testing.T, c *cached.Cache)) {
	for kind, cache := range caches {
		t.Run(kind, func(t *testing.T) { test(t, cache(t, 64<<20)) })
	}
}

func TestChunk(t *testing.T) {
	each(t, func(t *testing.T, c *cached.Cache) {
		f := newFar()
		s := cached.New(f, c, nil)
		// Only the first time is there nothing to compare with the version of the store.
		for i, n := range []int{3, 100, 64 << 10, 64<<10 + 1, 4 << 20, 9<<20 + 5} {
			value := pattern(n, n)
			f.write(t, "a/c/0", value)
			reads(t, f, s, "a/c/0", store.Whole(), value, 1, min(i, 1))
			reads(t, f, s, "a/c/0", store.Whole(), value, 0, 1)
			reads(t, f, s, "a/c/0", store.From(int64(n/2)), value, 0, 1)
			reads(t, f, s, "a/c/0", store.Span(int64(n/3), int64(n/3)), value, 0, 1)
		}
	})
}

// TestDocument checks that documents are always those of the store.
func TestDocument(t *testing.T) {
	each(t, func(t *testing.T, c *cached.Cache) {
		f := newFar()
		s := cached.New(f, c, &cached.Options{Immutable: true})
		for _, n := range []int{300, 100 << 10} {
			for seed := range 3 {
				value := pattern(n, seed)
				f.write(t, "a/zarr.json", value)
				if n < 64<<10 {
					reads(t, f, s, "a/zarr.json", store.Whole(), value, 1, 0)
					reads(t, f, s, "a/zarr.json", store.Whole(), value, 1, 0)
					continue
				}
				reads(t, f, s, "a/zarr.json", store.Whole(), value, 1, min(seed, 1))
				reads(t, f, s, "a/zarr.json", store.Whole(), value, 0, 1)
			}
		}
		f.write(t, "a/__varve/pending.json", pattern(100<<10, 0))
		for range 2 {
			reads(t, f, s, "a/__varve/pending.json", store.Whole(), pattern(100<<10, 0), 1, 0)
		}
	})
}

// TestShard reads the index of a shard and then inner chunks, as the engine does.
func TestShard(t *testing.T) {
	each(t, func(t *testing.T, c *cached.Cache) {
		f := newFar()
		s := observed.New(cached.New(f, c, nil), new(observe.Counter))
		value := pattern(20<<20+77, 1)
		f.write(t, "c/0", value)
		shard := func(gets, stats int, spans ...store.Range) {
			t.Helper()
			f.took()
			p := store.Pin(s, store.MustKey("c/0"), store.Info{})
			defer p.Close()
			for _, r := range append([]store.Range{store.Suffix(16 * 1000)}, spans...) {
				got, _, err := p.Read(t.Context(), store.Request{Range: r}, nil)
				off, n, _ := r.Resolve(int64(len(value)))
				if err != nil || string(got) != string(value[off:off+n]) {
					t.Fatalf("%s: %d bytes, error %v", r, len(got), err)
				}
			}
			if g, st := f.took(); g != gets || st != stats {
				t.Errorf("%d Get and %d Stat, want %d and %d", g, st, gets, stats)
			}
		}
		shard(3, 0, store.Span(1_000_000, 10_000), store.Span(8_000_000, 100_000))
		// Another selection, in the same blocks: the Stat of the first read is all.
		shard(0, 1, store.Span(1_005_000, 10_000), store.Span(8_050_000, 20_000), store.Span(8_000_000, 1))
		// One more inner chunk is read, and not again.
		shard(1, 1, store.Span(1_000_000, 10_000), store.Span(12_000_000, 10_000))
		shard(0, 1, store.Span(12_000_000, 10_000))
		// Missing blocks between others are read with one request.
		shard(1, 1, store.Span(8_000_000, 4_010_000))
		shard(0, 1, store.Span(8_000_000, 4_010_000))
		value = pattern(20<<20, 2)
		f.write(t, "c/0", value)
		shard(2, 1, store.Span(1_000_000, 10_000))
	})
}
