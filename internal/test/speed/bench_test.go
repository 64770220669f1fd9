// SPDX-License-Identifier: Apache-2.0

package speed_test

import (
	"context"
	"fmt"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// BenchmarkSmallChunks reads 10,000 chunks of 10×10 float32 from memory. It measures the
// cost of a chunk apart from its bytes.
func BenchmarkSmallChunks(b *testing.B) {
	ctx := context.Background()
	for _, bench := range []struct {
		name   string
		codecs []metadata.Extension
	}{{"raw", fixture.Plain()}, {"zstd", fixture.Packed()}, {"zstd-checksum", append(fixture.Plain(), codec.ZstdChecksum(0, true))}} {
		b.Run(bench.name, func(b *testing.B) {
			a, err := zarr.At(memstore.New(), "").CreateArray(ctx, zarr.Spec{
				Shape: []int64{1000, 1000}, Type: dtype.Float32,
				Chunks: grid.Chunks(10, 10), Codecs: bench.codecs,
			}, nil)
			if err != nil {
				b.Fatal(err)
			}
			data := make([]float32, 1e6)
			for i := range data {
				data[i] = float32(i)
			}
			if err := zarr.Write(ctx, a, nil, data); err != nil {
				b.Fatal(err)
			}
			b.Run("read", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := zarr.ReadInto(ctx, a, nil, data); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e4, "ns/chunk")
			})
			b.Run("write", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := zarr.Write(ctx, a, nil, data); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e4, "ns/chunk")
			})
		})
	}
}

// BenchmarkPoint reads one element. It measures the cost of a call.
func BenchmarkPoint(b *testing.B) {
	ctx := context.Background()
	for _, edges := range []int64{10, 1_000_000} {
		b.Run(fmt.Sprint("chunks=", edges), func(b *testing.B) {
			a, err := zarr.At(memstore.New(), "").CreateArray(ctx, zarr.Spec{
				Shape: []int64{edges}, Type: dtype.Float32, Codecs: fixture.Plain(),
				Chunks: []grid.Cut{grid.Runs(grid.Run{Length: 1, Count: edges})},
			}, nil)
			if err != nil {
				b.Fatal(err)
			}
			if err := zarr.Write(ctx, a, selection.Box{{5, 6}}, []float32{1}); err != nil {
				b.Fatal(err)
			}
			one := make([]float32, 1)
			b.ReportAllocs()
			for b.Loop() {
				if err := zarr.ReadInto(ctx, a, selection.Box{{5, 6}}, one); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpen opens arrays with few runs and with many edges.
func BenchmarkOpen(b *testing.B) {
	ctx := context.Background()
	lengths := make([]int64, 1_000_000)
	for i := range lengths {
		lengths[i] = int64(1 + i*7919%1000)
	}
	for _, bench := range []struct {
		name  string
		shape int64
		cut   grid.Cut
	}{
		{"chunks=1e18", 1e18, grid.Runs(grid.Run{Length: 1, Count: 1e18})},
		{"edges=1e6", 1, grid.Edges(lengths...)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			h := zarr.At(memstore.New(), "")
			_, err := h.At("").CreateArray(ctx, zarr.Spec{Shape: []int64{bench.shape}, Type: dtype.Float32, Chunks: []grid.Cut{bench.cut}}, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h.At("").OpenArray(ctx, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAppend appends one element, as a chunk, to an array with few chunks or with
// many.
func BenchmarkAppend(b *testing.B) {
	ctx := context.Background()
	for _, chunks := range []int64{10, 1_000_000} {
		b.Run(fmt.Sprint("chunks=", chunks), func(b *testing.B) {
			h := zarr.At(memstore.New(), "")
			a, err := h.At("").CreateArray(ctx, zarr.Spec{
				Shape: []int64{chunks}, Type: dtype.Float32, Codecs: fixture.Plain(),
				Chunks: []grid.Cut{grid.Runs(grid.Run{Length: 1, Count: chunks})},
			}, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := zarr.Append(ctx, a, 0, []float32{1}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
