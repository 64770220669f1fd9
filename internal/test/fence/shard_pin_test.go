// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// meddler is an object store that calls a function after each read of a chunk.
type meddler struct {
	stepping.ObjectStore
	after func()
}

func (m *meddler) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	out, info, err := m.ObjectStore.Get(ctx, key, q, dst)
	if m.after != nil && key.Base() != "zarr.json" {
		m.after()
	}
	return out, info, err
}

// pinSpec is one shard of 64 numbers in inner chunks of eight. With fixed, all inner
// chunks have equal stored lengths. With checksum, the index has a checksum.
func pinSpec(fixed, checksum bool) zarr.Spec {
	codecs := fixture.Plain()
	if !fixed {
		codecs = nil
	}
	s := zarr.Spec{Shape: []int64{64}, Type: dtype.Int32, Chunks: grid.Chunks(64), InnerChunks: grid.Chunks(8), Codecs: codecs}
	if checksum {
		return s
	}
	s.InnerChunks, s.Codecs = nil, []metadata.Extension{fixture.Must(codec.Shards(codec.Sharding{
		Inner: s.InnerChunks, Codecs: fixture.Plain(), IndexCodecs: fixture.Plain(),
	}))}
	return s
}

// pinned is an array that one program reads while another writes.
type pinned struct {
	store  *meddler
	quiet  *zarr.Location // for the writer: its reads call nothing
	reader *zarr.Array
}

func newPinned(t *testing.T, spec zarr.Spec, how zarr.Shards) *pinned {
	t.Helper()
	m := memtest.New()
	p := &pinned{store: &meddler{ObjectStore: stepping.Conditional(m, stepping.Hooks{})}, quiet: zarr.At(stepping.Conditional(m, stepping.Hooks{}), "")}
	if _, err := p.quiet.At("a").CreateArray(t.Context(), spec, nil); err != nil {
		t.Fatal(err)
	}
	p.reader = fixture.Must(zarr.At(p.store, "a").OpenArray(t.Context(), &zarr.Options{Write: true, Shards: how, Concurrency: 1}))
	return p
}

// write stores consecutive numbers, starting with v, in the inner chunks from to to.
func (p *pinned) write(t *testing.T, from, to int64, v int32, how zarr.Shards) {
	t.Helper()
	a := fixture.Must(p.quiet.At("a").OpenArray(t.Context(), &zarr.Options{Write: true, Shards: how}))
	if err := zarr.Write(t.Context(), a, selection.Box{{8 * from, 8 * to}}, fixture.Numbers(v, int32(8*(to-from)))); err != nil {
		t.Fatal(err)
	}
}

// rewrites are concurrent changes of a shard: to the same size, shorter, longer, and a
// deletion.
var rewrites = map[string]func(t *testing.T, p *pinned, i int32){
	"the same size": func(t *testing.T, p *pinned, i int32) { p.write(t, 0, 8, 1000*(i+2), zarr.Shards{}) },
	"shrinks": func(t *testing.T, p *pinned, i int32) {
		p.write(t, 0, 8, 1000*(i+2), zarr.Shards{})
		a := fixture.Must(p.quiet.At("a").OpenArray(t.Context(), &zarr.Options{Write: true}))
		if err := zarr.Fill[int32](t.Context(), a, selection.Box{{0, 16}}, 0); err != nil {
			t.Fatal(err)
		}
	},
	"grows": func(t *testing.T, p *pinned, i int32) {
		p.write(t, 0, 8, 1000*(i+2), zarr.Shards{})
		for k := range int64(3) {
			p.write(t, k, k+1, 1000*(i+2)+8*int32(k), zarr.Shards{Strategy: codec.Append})
		}
	},
}

// TestShardRewrittenWhileRead rewrites a shard once, after each single request of a
// reader in turn. The reader gets one version or the other.
func TestShardRewrittenWhileRead(t *testing.T) {
	runs := 0
	for _, fixed := range []bool{true, false} {
		for name, rewrite := range rewrites {
			for _, warm := range []bool{false, true} {
				t.Run(fmt.Sprint(name, fixed, warm), func(t *testing.T) {
					for n := 0; ; n++ {
						runs++
						p := newPinned(t, pinSpec(fixed, true), zarr.Shards{Gap: -1})
						p.write(t, 0, 8, 1, zarr.Shards{})
						// Inner chunks 4 and 6 are not adjacent, so they take two
						// ranges.
						read := func() []int32 {
							b, err := zarr.Read[int32](t.Context(), p.reader, selection.Basic{selection.Stepped(32, 64, 16)})
							if err != nil {
								t.Fatalf("request %d: %v", n, err)
							}
							return b.Data
						}
						if warm {
							read()
						}
						calls := 0
						p.store.after = func() {
							if calls++; calls == n+1 {
								rewrite(t, p, 0)
							}
						}
						got := read()
						if got[1]-got[0] != 16 || got[0] != 33 && got[0] != 2032 {
							t.Fatalf("request %d: read %v", n, got)
						}
						p.store.after = nil
						if calls <= n {
							return
						}
						if again := read(); again[0] != 2032 || again[1] != 2048 {
							t.Fatalf("request %d: the second read is %v, want the new version", n, again)
						}
					}
				})
			}
		}
	}
	t.Logf("%d runs", runs)
}

// TestShardDeletedWhileRead deletes a shard after each single request of a reader in
// turn. The reader gets the old elements or the fill value.
func TestShardDeletedWhileRead(t *testing.T) {
	for _, warm := range []bool{false, true} {
		for n := 0; ; n++ {
			p := newPinned(t, pinSpec(true, true), zarr.Shards{Gap: -1})
			p.write(t, 0, 8, 1, zarr.Shards{})
			read := func() []int32 {
				b, err := zarr.Read[int32](t.Context(), p.reader, selection.Basic{selection.Stepped(32, 64, 16)})
				if err != nil {
					t.Fatalf("request %d: %v", n, err)
				}
				return b.Data
			}
			if warm {
				read()
			}
			calls := 0
			p.store.after = func() {
				if calls++; calls == n+1 {
					a := fixture.Must(p.quiet.At("a").OpenArray(t.Context(), &zarr.Options{Write: true}))
					if err := zarr.Fill[int32](t.Context(), a, nil, 0); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got := read(); !slices.Equal(got, []int32{33, 49}) && !slices.Equal(got, []int32{0, 0}) {
				t.Fatalf("request %d: read %v", n, got)
			}
			if calls <= n {
				break
			}
			if got := read(); !slices.Equal(got, []int32{0, 0}) {
				t.Fatalf("request %d: the second read is %v, want the fill value", n, got)
			}
		}
	}
}

// TestShardRewrittenForever rewrites a shard after every request. The reader gives up
// with ErrConflict.
func TestShardRewrittenForever(t *testing.T) {
	p := newPinned(t, pinSpec(true, true), zarr.Shards{Gap: -1})
	p.write(t, 0, 8, 1, zarr.Shards{})
	calls := int32(0)
	p.store.after = func() { calls++; p.write(t, 0, 8, 1000*calls, zarr.Shards{}) }
	_, err := zarr.Read[int32](t.Context(), p.reader, selection.Basic{selection.Stepped(32, 64, 16)})
	if !errors.Is(err, zarr.ErrConflict) || !strings.Contains(err.Error(), "a/c/0 was replaced") {
		t.Errorf("error is %v, want ErrConflict that names the replaced shard", err)
	}
	if calls < 20 || calls > 100 {
		t.Errorf("%d requests, want 20 to 100", calls)
	}
	p.store.after = nil
	if b, err := zarr.Read[int32](t.Context(), p.reader, selection.Box{{0, 1}}); err != nil || b.Data[0] != 1000*calls {
		t.Errorf("the second read is %v (%v), want %d", b.Data, err, 1000*calls)
	}
}

// TestStaleIndex changes a shard in every way while another array has its index cached,
// and reads and writes with that array. It reads new elements, and its writes undo no
// concurrent change.
func TestStaleIndex(t *testing.T) {
	for strategy, how := range fixture.Strategies {
		for _, checksum := range []bool{true, false} {
			for name, rewrite := range rewrites {
				t.Run(fmt.Sprint(strategy, checksum, name), func(t *testing.T) {
					p := newPinned(t, pinSpec(true, checksum), zarr.Shards{Gap: -1, Strategy: how})
					p.write(t, 0, 8, 1, zarr.Shards{})
					for i := range int32(3) {
						if _, err := zarr.Read[int32](t.Context(), p.reader, selection.Box{{40, 41}}); err != nil {
							t.Fatal(err)
						}
						rewrite(t, p, i)
						if err := zarr.Write(t.Context(), p.reader, selection.Box{{60, 64}}, []int32{i, i, i, i}); err != nil {
							t.Fatal(err)
						}
						for _, a := range []*zarr.Array{p.reader, fixture.Must(p.quiet.At("a").OpenArray(t.Context(), nil))} {
							b, err := zarr.Read[int32](t.Context(), a, selection.Box{{40, 64}})
							want := append(fixture.Numbers(1000*(i+2)+40, 20), i, i, i, i)
							if err != nil || !slices.Equal(b.Data, want) {
								t.Fatalf("read %v (%v)\nwant %v", b.Data, err, want)
							}
						}
					}
				})
			}
		}
	}
}

// TestStaleTail writes the fill value to the last stored inner chunk, and then a shorter
// form of another one, on every kind of store. A writer that does not truncate the
// object would leave the old index at its end.
func TestStaleTail(t *testing.T) {
	racing.Skip(t) // one writer at a time; other tests share shards
	for strategy, how := range fixture.Strategies {
		for kind, newStore := range map[string]func() store.Store{
			"memory":      func() store.Store { return memtest.New() },
			"conditional": func() store.Store { return stepping.Conditional(memtest.New(), stepping.Hooks{}) },
			"file":        func() store.Store { return fixture.OpenStore(t, t.TempDir()) },
		} {
			for _, large := range []bool{false, true} {
				t.Run(fmt.Sprint(strategy, kind, large), func(t *testing.T) {
					inner := int64(1 << 8)
					if large {
						inner = 1 << 16
					}
					h := zarr.At(newStore(), "")
					a, err := h.At("a").CreateArray(t.Context(), zarr.Spec{
						Shape: []int64{8 * inner}, Type: dtype.Int32, Chunks: grid.Chunks(8 * inner), InnerChunks: grid.Chunks(inner),
					}, &zarr.CreateOptions{Options: zarr.Options{Shards: zarr.Shards{Strategy: how}}})
					if err != nil {
						t.Fatal(err)
					}
					want := make([]int32, 8*inner)
					for i := range want {
						want[i] = int32(uint32(i) * 2654435761) // compresses badly
					}
					write := func(from, to int64) {
						if err := zarr.Write(t.Context(), a, selection.Box{{from, to}}, want[from:to]); err != nil {
							t.Fatal(err)
						}
						for _, r := range []*zarr.Array{a, fixture.Must(h.At("a").OpenArray(t.Context(), &zarr.Options{Shards: zarr.Shards{Gap: -1}}))} {
							for k := range int64(8) {
								b, err := zarr.Read[int32](t.Context(), r, selection.Box{{k * inner, k*inner + 3}})
								if err != nil || !slices.Equal(b.Data, want[k*inner:k*inner+3]) {
									t.Fatalf("inner chunk %d: %v (%v), want %v", k, b.Data, err, want[k*inner:k*inner+3])
								}
							}
						}
					}
					write(0, 8*inner)
					clear(want[7*inner:])
					write(7*inner, 8*inner)
					for i := range inner {
						want[i] = 5
					}
					write(0, inner)
					for i := range inner {
						want[3*inner+i] = 6
					}
					write(3*inner, 4*inner)
				})
			}
		}
	}
}

// TestStaleIndexOfLargeShards is [TestStaleIndex] for shards that are long enough to
// read only the index, in all kinds of stores, with two programs that take turns.
func TestStaleIndexOfLargeShards(t *testing.T) {
	racing.Skip(t) // one writer at a time; other tests share shards
	const inner, n = 40_000, 400_000
	for strategy, how := range fixture.Strategies {
		for kind, newStore := range map[string]func() store.Store{
			"memory":      func() store.Store { return memtest.New() },
			"conditional": func() store.Store { return stepping.Conditional(memtest.New(), stepping.Hooks{}) },
			"file":        func() store.Store { return fixture.OpenStore(t, t.TempDir()) },
		} {
			t.Run(strategy+" in "+kind, func(t *testing.T) {
				h := zarr.At(newStore(), "")
				spec := fixture.Every(n, n)
				spec.InnerChunks, spec.Codecs = grid.Chunks(inner), fixture.Plain()
				opt := zarr.Options{Write: true, Shards: zarr.Shards{Strategy: how}, Durability: store.Flush}
				a, err := h.At("a").CreateArray(t.Context(), spec, &zarr.CreateOptions{Options: opt})
				if err != nil {
					t.Fatal(err)
				}
				b := fixture.Must(h.At("a").OpenArray(t.Context(), &opt))
				want := make([]int32, n)
				for i, part := range [][2]int64{
					{0, n}, {0, inner}, {0, inner}, {100, 200}, {2 * inner, 3 * inner}, {0, inner}, {2*inner + 5, 2*inner + 9}, {10, 20}, {9 * inner, n}, {10, 20}, {9*inner + 7, n}, {3, 4},
				} {
					from, to := part[0], part[1]
					if i == 8 {
						clear(want[from:to]) // the shard becomes shorter
					} else {
						copy(want[from:to], fixture.Numbers(int32(1000*i), int32(to-from)))
					}
					if err := zarr.Write(t.Context(), []*zarr.Array{a, b}[i/2%2], selection.Box{{from, to}}, want[from:to]); err != nil {
						t.Fatalf("write %d: %v", i, err)
					}
					for _, r := range []*zarr.Array{a, b} {
						got, err := zarr.Read[int32](t.Context(), r, selection.Box{{from, from + 1}})
						if err != nil || got.Data[0] != want[from] {
							t.Fatalf("after write %d: %v (%v), want %d", i, got.Data, err, want[from])
						}
					}
				}
				got, err := zarr.Read[int32](t.Context(), a, nil)
				if err != nil || !slices.Equal(got.Data, want) {
					t.Errorf("the elements differ from those written (%v)", err)
				}
			})
		}
	}
}
