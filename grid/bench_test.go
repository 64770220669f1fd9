// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"varve.dev/zarr/grid"
)

func randomEdges(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := []byte(`{"kind": "inline", "chunk_shapes": [[`)
	for i := range n {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendInt(b, 1+r.Int64N(100_000), 10)
	}
	return append(b, "]]}"...)
}

func BenchmarkParseHugeRun(b *testing.B) {
	config := []byte(`{"kind":"inline","chunk_shapes":[[[1,1000000000000000000]]]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := grid.Parse([]int64{1e18}, "rectilinear", config, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	const many = 1000
	grids := make([]*grid.Grid, many)
	for i := range grids {
		grids[i], _ = grid.Parse([]int64{1e18}, "rectilinear", config, nil)
	}
	b.ReportMetric(float64(heldBytes(&grids))/many, "held-B")
}

func BenchmarkParseMillionEdges(b *testing.B) {
	config := randomEdges(1_000_000)
	b.SetBytes(int64(len(config)))
	b.ReportAllocs()
	var g *grid.Grid
	for b.Loop() {
		var err error
		if g, err = grid.Parse([]int64{1}, "rectilinear", config, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(heldBytes(&g))/1e6, "held-B/edge")
}

func BenchmarkParseMonths(b *testing.B) {
	config := grid.OfAxis(axisOf(b, months(1950, time.January, 960))).AppendConfiguration(nil)
	b.SetBytes(int64(len(config)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := grid.Parse([]int64{29220}, "rectilinear", config, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	const many = 1000
	grids := make([]*grid.Grid, many)
	for i := range grids {
		grids[i], _ = grid.Parse([]int64{29220}, "rectilinear", config, nil)
	}
	b.ReportMetric(float64(heldBytes(&grids))/many, "held-B")
}

func axisOf(b *testing.B, edges []int64) grid.Axis {
	a, err := grid.NewAxis(sumOf(edges), grid.Edges(edges...))
	if err != nil {
		b.Fatal(err)
	}
	return a
}

// BenchmarkGrow adds an edge to many: to the same list each time, or to the last result.
func BenchmarkGrow(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	edges := make([]int64, 1_000_000)
	for i := range edges {
		edges[i] = 1 + r.Int64N(100_000)
	}
	a := axisOf(b, edges)
	for _, again := range []bool{true, false} {
		name := "edges=1e6/first"
		if !again {
			name = "edges=1e6/next"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			grown := a
			for i := int64(1); b.Loop(); i++ {
				next, err := grown.Resized(grown.Extent() + 1 + i%1000)
				if err != nil {
					b.Fatal(err)
				}
				if !again {
					grown = next
				}
			}
		})
	}
}

// heldBytes returns the number of bytes that only *v keeps in memory.
func heldBytes[V any](v *V) uint64 {
	var with, without runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&with)
	var none V
	*v = none
	runtime.GC()
	runtime.ReadMemStats(&without)
	return with.HeapAlloc - without.HeapAlloc
}

func BenchmarkLocate(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	runs := func(n int) grid.Cut {
		var list []grid.Run
		for i := range n {
			list = append(list, grid.Run{Length: int64(100 + i%7), Count: 1 + r.Int64N(50)})
		}
		return grid.Runs(list...)
	}
	edges := func(n int) grid.Cut {
		list := make([]int64, n)
		for i := range list {
			list[i] = 1 + r.Int64N(100_000)
		}
		return grid.Edges(list...)
	}
	for _, bench := range []struct {
		name string
		cut  func() grid.Cut
	}{
		{"every", func() grid.Cut { return grid.Every(100) }},
		{"runs=4", func() grid.Cut { return runs(4) }},
		{"runs=1000", func() grid.Cut { return runs(1000) }},
		{"months=80y", func() grid.Cut { return grid.Edges(months(1950, time.January, 960)...) }},
		{"months+days", func() grid.Cut {
			return grid.Edges(slices.Concat([]int64{7, 9}, months(1950, time.January, 960), slices.Repeat([]int64{1}, 100))...)
		}},
		{"edges=1e6", func() grid.Cut { return edges(1_000_000) }},
		{"edges=1e7", func() grid.Cut { return edges(10_000_000) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			a, err := grid.NewAxis(1, bench.cut())
			if err != nil {
				b.Fatal(err)
			}
			if extent := a.Covered(); extent > 1 {
				if a, err = a.Resized(extent); err != nil {
					b.Fatal(err)
				}
			} else {
				a, _ = a.Resized(1 << 40)
			}
			places := make([]int64, 1<<12)
			for i := range places {
				places[i] = r.Int64N(a.Extent())
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if _, _, ok := a.Locate(places[i&(1<<12-1)]); !ok {
					b.Fatal("not found")
				}
				i++
			}
		})
	}
}
