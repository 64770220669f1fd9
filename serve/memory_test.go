// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/serve"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// gauge is a store that counts the reads of keys with a prefix that are in work at once.
type gauge struct {
	store.Store
	prefix    string
	stats     bool // questions for versions count, and not reads
	open, top atomic.Int64
}

// count counts a call until the function that it returns is called.
func (g *gauge) count(key store.Key, stat bool) func() {
	if !strings.HasPrefix(key.String(), g.prefix) || stat != g.stats {
		return func() {}
	}
	n := g.open.Add(1)
	for top := g.top.Load(); n > top && !g.top.CompareAndSwap(top, n); {
		top = g.top.Load()
	}
	time.Sleep(20 * time.Millisecond)
	return func() { g.open.Add(-1) }
}

func (g *gauge) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	defer g.count(key, false)()
	return g.Store.Get(ctx, key, q, dst)
}

// Stat implements [store.Stater].
func (g *gauge) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	defer g.count(key, true)()
	return store.Stat(ctx, g.Store, key)
}

// TestValuesMemory has several clients ask for little of long chunks, long coordinates
// and long tables. Those that do not fit into the memory of values together take turns,
// and none is refused.
func TestValuesMemory(t *testing.T) {
	s := memstore.New()
	if _, err := zarr.At(s, "n").CreateGroup(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	const rows = 1 << 16
	zstd := []metadata.Extension{codec.Bytes("little"), codec.Zstd(1)}
	number := make([]float64, rows)
	for i := range number {
		number[i] = float64(i)
	}
	array(t, s, "n/x", zarr.Spec{Shape: []int64{rows}, Type: dtype.Float64, DimensionNames: []string{"x"}, Chunks: grid.Chunks(rows), Codecs: zstd}, number)
	array(t, s, "n/small", zarr.Spec{Shape: []int64{rows}, Type: dtype.Uint8, DimensionNames: []string{"x"}, Chunks: grid.Chunks(rows), Codecs: zstd}, bytes.Repeat([]byte{1}, rows))
	long := func(codecs []metadata.Extension, name string) {
		spec := zarr.Spec{Shape: []int64{8, 1 << 20}, Type: dtype.Uint8, Chunks: grid.Chunks(8, 1<<20), Codecs: codecs}
		a := array(t, s, name, spec, []uint8(nil))
		if err := a.WriteChunk(t.Context(), []int64{0, 0}, bytes.Repeat([]byte{1}, 8<<20)); err != nil {
			t.Fatal(err)
		}
	}
	long(zstd, "n/long")
	long([]metadata.Extension{codec.Bytes("little")}, "n/plain")
	for _, c := range []struct {
		prefix, ask string
		alone       bool
	}{
		{"n/long/c", "long?select=3,5:9", true},
		{"n/long/c", "long?select=3:4,::4096&format=png", true},
		{"n/plain/c", "plain?select=3,5:9", false}, // a part is read without the rest
		{"n/small/c", "small?select=2:4", false},
		{"n/x/c", "small?select=x=2.0..5.0", true},
		{"n/x/c", "x?select=2:5&format=raw", false},
		{"n/small/c", "small?format=csv&header=1", true},
		{"n/small/c", "small?format=csv&header=1&select=0:8", false},
	} {
		g := &gauge{Store: s, prefix: c.prefix}
		h := handler(t, zarr.At(g, "n"), &serve.Options{Budget: 16 << 20})
		var clients sync.WaitGroup
		for range 8 {
			clients.Go(func() {
				if is := request(t, h, "GET", "/@values/n/"+c.ask); is.StatusCode != 200 {
					t.Errorf("%s: status %d", c.ask, is.StatusCode)
				}
			})
		}
		clients.Wait()
		if top := g.top.Load(); top == 0 || (top == 1) != c.alone {
			t.Errorf("%s: %d reads at once, want them alone: %v", c.ask, top, c.alone)
		}
	}
}

// TestTilesApart asks for a picture of two rows that are far apart. No chunk between them
// is read.
func TestTilesApart(t *testing.T) {
	s := memstore.New()
	array(t, s, "n", zarr.Spec{Shape: []int64{241, 64}, Type: dtype.Uint8, Chunks: grid.Chunks(1, 64)}, bytes.Repeat([]byte{1}, 241*64))
	c := &chunkReads{Store: s}
	h := handler(t, zarr.At(c, "n"), nil)
	if is := request(t, h, "GET", "/@values/n?format=png&range=0,2&select=::240,:"); is.StatusCode != 200 || c.count.Load() != 2 {
		t.Errorf("status %d, %d chunks are read, want 2", is.StatusCode, c.count.Load())
	}
}

// TestTilesMemory has several clients ask for tiles that do not fit into the memory of
// values together.
func TestTilesMemory(t *testing.T) {
	s := memstore.New()
	array(t, s, "n", zarr.Spec{Shape: []int64{512, 512}, Type: dtype.Uint8, Chunks: grid.Chunks(512, 512)}, bytes.Repeat([]byte{1}, 512*512))
	g := &gauge{Store: s, prefix: "n/c", stats: true}
	h := handler(t, zarr.At(g, "n"), &serve.Options{Budget: 16 << 20})
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			if is := request(t, h, "GET", "/@values/n?format=png&select=::2,::2"); is.StatusCode != 200 {
				t.Errorf("status %d", is.StatusCode)
			}
		})
	}
	clients.Wait()
	// Each has a box of 256 KiB, a quarter of its elements twice, and as many pixels.
	if top := g.top.Load(); top < 2 || top > 4 {
		t.Errorf("%d tiles at once, want at most 4 in 2 MiB", top)
	}
}
