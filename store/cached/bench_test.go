// SPDX-License-Identifier: Apache-2.0

package cached_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/cached"
	"varve.dev/zarr/store/filestore"
)

// TestAllocations checks that a hit allocates nothing in memory, and little in a folder,
// whatever the size of the value.
func TestAllocations(t *testing.T) {
	racing.Skip(t)
	for kind, cache := range caches {
		for _, n := range []int{1000, 1 << 20} {
			f := newFar()
			s := cached.New(f, cache(t, 64<<20), nil)
			f.write(t, "c/0", pattern(n, 1))
			key := store.MustKey("c/0")
			info, err := f.Stat(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, 0, n)
			read := func() {
				if _, _, err := s.Get(t.Context(), key, store.Request{Expect: info}, buf); err != nil {
					t.Fatal(err)
				}
			}
			read()
			most := 0.0
			if kind == "folder" {
				most = 4
			}
			if got := testing.AllocsPerRun(100, read); got > most {
				t.Errorf("%s, %d bytes: %v allocations, at most %v", kind, n, got, most)
			}
		}
	}
}

// BenchmarkHit compares hits with the same reads of a file store, and of a store that
// answers after 10 ms. A pinned read makes no request.
func BenchmarkHit(b *testing.B) {
	for _, n := range []int{10 << 10, 1 << 20} {
		value := pattern(n, 1)
		key := store.MustKey("c/0")
		run := func(name string, s store.Store, pinned bool) {
			b.Run(fmt.Sprintf("%s/%dKiB", name, n>>10), func(b *testing.B) {
				ctx, buf := b.Context(), make([]byte, 0, n)
				_, info, err := s.Get(ctx, key, store.Request{}, buf)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(n))
				b.ReportAllocs()
				for b.Loop() {
					if pinned {
						_, _, err = s.Get(ctx, key, store.Request{Expect: info}, buf)
					} else {
						_, _, err = s.Get(ctx, key, store.Request{}, buf)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		disk, err := filestore.Open(b.TempDir(), nil)
		if err != nil {
			b.Fatal(err)
		}
		defer store.Close(disk)
		if _, err := store.Write(b.Context(), disk, store.Put(key, value), store.Flush); err != nil {
			b.Fatal(err)
		}
		f := newFar()
		f.write(b, "c/0", value)
		f.wait = func(stepping.Op) { time.Sleep(10 * time.Millisecond) }
		run("filestore", disk, false)
		run("slow", f, false)
		for kind, cache := range caches {
			s := cached.New(f, cache(b, 64<<20), nil)
			run(kind+"/asked", s, false)
			run(kind+"/pinned", s, true)
		}
	}
}

// slowly is the time that a far store needs, by the model of the engine: 20 ms a request,
// 200 MB/s.
func slowly(requests int, bytes int64) time.Duration {
	return time.Duration(requests)*20*time.Millisecond + time.Duration(bytes)*5
}

// BenchmarkBlocks reads inner chunks of a shard of 64 MiB: at random, then again, then
// others beside them. It reports the requests and bytes of each, and the time that they
// would take one after the other.
func BenchmarkBlocks(b *testing.B) {
	for _, inner := range []int64{4 << 10, 32 << 10, 256 << 10} {
		b.Run(fmt.Sprintf("%dKiB", inner>>10), func(b *testing.B) {
			f := newFar()
			f.write(b, "c/0", pattern(64<<20, 1))
			c := cached.InMemory(256 << 20)
			s := cached.New(f, c, nil)
			info, err := f.Stat(b.Context(), store.MustKey("c/0"))
			if err != nil {
				b.Fatal(err)
			}
			pass := func(name string, of func(i int64) int64) {
				f.took()
				f.bytes = 0
				asked := int64(0)
				for i := range int64(200) {
					off := of(i*7919%(64<<20/inner)) * inner % (64 << 20)
					if _, _, err := s.Get(context.Background(), store.MustKey("c/0"), store.Request{Range: store.Span(off, inner), Expect: info}, nil); err != nil {
						b.Fatal(err)
					}
					asked += inner
				}
				gets, _ := f.took()
				b.ReportMetric(float64(gets), name+"-requests")
				b.ReportMetric(float64(f.bytes)/float64(asked), name+"-bytes/asked")
				b.ReportMetric(slowly(gets, f.bytes).Seconds()/slowly(200, asked).Seconds(), name+"-time/uncached")
			}
			for b.Loop() {
				pass("first", func(i int64) int64 { return i })
				pass("again", func(i int64) int64 { return i })
				pass("beside", func(i int64) int64 { return i + 1 })
			}
		})
	}
}
