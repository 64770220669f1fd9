// SPDX-License-Identifier: Apache-2.0

package speed_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// square returns an array of n×n float32 in uncompressed chunks of c×c, or in shards
// with inner chunks of inner×inner if that is not 0.
func square(b testing.TB, n, c, inner int64) *zarr.Array {
	b.Helper()
	spec := zarr.Spec{Shape: []int64{n, n}, Type: dtype.Float32, Chunks: grid.Chunks(c, c), Codecs: fixture.Plain()}
	if inner > 0 {
		spec.InnerChunks = grid.Chunks(inner, inner)
	}
	a, err := zarr.At(memstore.New(), "").CreateArray(context.Background(), spec, nil)
	if err != nil {
		b.Fatal(err)
	}
	data := make([]float32, n*n)
	for i := range data {
		data[i] = float32(i + 1)
	}
	if err := zarr.Write(context.Background(), a, nil, data); err != nil {
		b.Fatal(err)
	}
	return a
}

// scattered returns points of an n×n array.
func scattered(n, count int64) selection.Points {
	r := rand.New(rand.NewPCG(1, 2))
	p := selection.Points{{Data: make([]int64, count)}, {Data: make([]int64, count)}}
	for i := range count {
		p[0].Data[i], p[1].Data[i] = r.Int64N(n), r.Int64N(n)
	}
	return p
}

// BenchmarkSelections reads selections of different kinds, and reports the time for each
// selected element.
func BenchmarkSelections(b *testing.B) {
	ctx := context.Background()
	all, open := selection.All(), int64(selection.Open)
	rows := make([]int64, 1000)
	odd := make([]bool, 2000)
	for i := range rows {
		rows[i] = int64(2*i + i%2)
		odd[rows[i]] = true
	}
	mask := selection.Mask{Shape: []int64{2000, 2000}, Data: make([]bool, 4e6)}
	for i := range mask.Data {
		mask.Data[i] = i%10 < 5
	}
	chunks, small, shards := square(b, 2000, 200, 0), square(b, 1000, 2, 0), square(b, 2000, 1000, 20)
	for _, bench := range []struct {
		name string
		a    *zarr.Array
		sel  selection.Selection
	}{
		{"all", chunks, nil},
		{"backwards", chunks, selection.Basic{selection.Stepped(open, open, -1), selection.Stepped(open, open, -1)}},
		{"rows backwards", chunks, selection.Basic{selection.Stepped(open, open, -1)}},
		{"every 3rd", chunks, selection.Basic{selection.Stepped(open, open, 3), selection.Stepped(open, open, 3)}},
		{"every 3rd backwards", chunks, selection.Basic{selection.Stepped(open, open, -3), selection.Stepped(open, open, -3)}},
		{"half of the rows", chunks, selection.Basic{selection.Span(0, 1000)}},
		{"list of rows", chunks, selection.Orthogonal{selection.List(rows...)}},
		{"rows where", chunks, selection.Orthogonal{selection.Where(odd...)}},
		{"list of columns", chunks, selection.Orthogonal{all, selection.List(rows...)}},
		{"lists of both", chunks, selection.Orthogonal{selection.List(rows...), selection.List(rows...)}},
		{"mask", chunks, mask},
		{"dense points", chunks, scattered(2000, 1_000_000)},
		{"sparse points", small, scattered(1000, 100_000)},
		{"list of rows of shards", shards, selection.Orthogonal{selection.List(rows...)}},
		{"dense points of shards", shards, scattered(2000, 1_000_000)},
		{"sparse points of shards", shards, scattered(2000, 5_000)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			r, err := bench.a.Select(bench.sel)
			if err != nil {
				b.Fatal(err)
			}
			data := make([]float32, r.Len())
			for b.Loop() {
				if err := zarr.ReadInto(ctx, bench.a, bench.sel, data); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(r.Len()), "ns/element")
		})
	}
}
