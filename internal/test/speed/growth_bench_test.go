// SPDX-License-Identifier: Apache-2.0

package speed_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
)

// randomEdges returns n lengths from 1 to 1000, without adjacent equal ones.
func randomEdges(n int) []int64 {
	r := rand.New(rand.NewPCG(1, 2))
	lengths := make([]int64, n)
	for i := range lengths {
		lengths[i] = 1 + r.Int64N(1000)
	}
	return lengths
}

// withEdges returns an array of float32 whose edges are all listed.
func withEdges(b *testing.B, s store.Store, lengths []int64) *zarr.Array {
	b.Helper()
	sum := int64(0)
	for _, n := range lengths {
		sum += n
	}
	a, err := zarr.At(s, "a").CreateArray(context.Background(), zarr.Spec{
		Shape: []int64{sum}, Type: dtype.Float32, Codecs: fixture.Plain(), Chunks: []grid.Cut{grid.Edges(lengths...)},
	}, nil)
	if err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	b.ReportAllocs()
	return a
}

// benchStores are the stores in which growth is measured.
func benchStores(b *testing.B) map[string]func() store.Store {
	return map[string]func() store.Store{
		"memory": func() store.Store { return memstore.New() },
		"local": func() store.Store {
			s, err := filestore.Open(b.TempDir(), nil)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { store.Close(s) })
			return s
		},
	}
}

// BenchmarkShrinkByOne removes the last of 10^7 chunks, with listed edges that all
// differ from their neighbours, and with runs. zarr-python 3.4.1 takes 17 to 20 s and
// gigabytes for either.
func BenchmarkShrinkByOne(b *testing.B) {
	ctx := context.Background()
	const chunks = int64(1e7)
	for name, cut := range map[string]grid.Cut{"listed": grid.Runs(grid.Run{Length: 2, Count: chunks}), "regular": grid.Every(2)} {
		b.Run(name, func(b *testing.B) {
			_, a := fixture.NewHuge(b, []int64{2 * chunks}, cut)
			extent := 2 * chunks
			b.ReportAllocs()
			for b.Loop() {
				if extent -= 2; extent == 0 {
					b.Fatal("the array is empty")
				}
				if err := a.Resize(ctx, []int64{extent}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAppendToEdges appends a chunk to 10^6 random listed edges. The document has 4
// MB and is written once. zarr-python 3.4.1 takes 471 ms to resize such an array by one.
func BenchmarkAppendToEdges(b *testing.B) {
	ctx := context.Background()
	for name, newStore := range benchStores(b) {
		b.Run(name, func(b *testing.B) {
			a := withEdges(b, newStore(), randomEdges(1e6))
			for b.Loop() {
				if err := zarr.Append(ctx, a, 0, []float32{1}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPublishEdges writes a document of that size and nothing else, the lower bound
// of the append.
func BenchmarkPublishEdges(b *testing.B) {
	ctx := context.Background()
	for name, newStore := range benchStores(b) {
		b.Run(name, func(b *testing.B) {
			s := newStore()
			withEdges(b, s, randomEdges(1e6))
			key := store.MustKey("a/zarr.json")
			document, _, err := s.Get(ctx, key, store.Request{}, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(len(document)), "bytes")
			for b.Loop() {
				if _, err := store.Write(ctx, s, store.Put(key, document), store.Sync); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPointOfEdges reads one element with 10^6 random listed edges. zarr-python
// 3.4.1 takes 30 to 39 ms.
func BenchmarkPointOfEdges(b *testing.B) {
	ctx := context.Background()
	a := withEdges(b, memstore.New(), randomEdges(1e6))
	at := a.Shape()[0] / 2
	if err := zarr.Write(ctx, a, selection.Box{{at, at + 1}}, []float32{1}); err != nil {
		b.Fatal(err)
	}
	one := make([]float32, 1)
	for b.Loop() {
		if err := zarr.ReadInto(ctx, a, selection.Box{{at, at + 1}}, one); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpenEdges opens an array with 10^6 random listed edges. zarr-python 3.4.1
// takes 711 ms.
func BenchmarkOpenEdges(b *testing.B) {
	ctx := context.Background()
	for name, newStore := range benchStores(b) {
		b.Run(name, func(b *testing.B) {
			s := newStore()
			withEdges(b, s, randomEdges(1e6))
			for b.Loop() {
				if _, err := zarr.At(s, "a").OpenArray(ctx, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMonths opens, searches and appends to daily data of 80 years in chunks of
// months, 960 edges. A search took 50 ns in the first prototype.
func BenchmarkMonths(b *testing.B) {
	ctx := context.Background()
	steps := fixture.Must(calendar.ParseSteps("1945-01-01", "1d", "standard"))
	buckets := steps.Buckets(calendar.Month)
	lengths, err := buckets.Edges(29_220)
	if err != nil {
		b.Fatal(err)
	}
	s := memstore.New()
	a := withEdges(b, s, lengths)
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := zarr.At(s, "a").OpenArray(ctx, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("lookup", func(b *testing.B) {
		axis, at := a.Grid().Axis(0), int64(0)
		b.ReportAllocs()
		for b.Loop() {
			at = (at + 7919) % 29_220
			if _, _, ok := axis.Locate(at); !ok {
				b.Fatal(at)
			}
		}
	})
	b.Run("append a month", func(b *testing.B) {
		grow := grid.ByBoundaries("calendar:month", buckets.Next)
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			if err := a.Resize(ctx, []int64{29_220}, &zarr.ResizeOptions{Shrink: grid.TrimEdges}); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			if err := zarr.Append(ctx, a, 0, make([]float32, 31), &zarr.AppendOptions{Grow: grow}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkAppendGroup appends a row to ten arrays of a group with consolidated
// metadata.
func BenchmarkAppendGroup(b *testing.B) {
	ctx := context.Background()
	for name, newStore := range benchStores(b) {
		b.Run(name, func(b *testing.B) {
			g, err := zarr.At(newStore(), "g").CreateGroup(ctx, nil, nil)
			if err != nil {
				b.Fatal(err)
			}
			var more []zarr.Addition
			for i := range 10 {
				path := fmt.Sprint("v", i)
				if _, err := g.At(path).CreateArray(ctx, fixture.Edges(10), nil); err != nil {
					b.Fatal(err)
				}
				more = append(more, zarr.Add(path, 0, []int32{1}, nil))
			}
			if err := g.Consolidate(ctx); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := g.Append(ctx, more...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
