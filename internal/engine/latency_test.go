// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	_ "varve.dev/zarr/internal/codecs/sharding"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

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
	mu        sync.Mutex
	now, most int64
}

func (h *held) add(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now += n
	h.most = max(h.most, h.now)
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
	below := memstore.New()
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
