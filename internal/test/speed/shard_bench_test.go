// SPDX-License-Identifier: Apache-2.0

package speed_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// cube returns an array of one shard of n³ uncompressed inner chunks of 4³ bytes, and
// elements for it.
func cube(b *testing.B, n int64, opt zarr.Options) (*zarr.Array, []uint8) {
	b.Helper()
	side := 4 * n
	a, err := zarr.At(memstore.New(), "").CreateArray(context.Background(), zarr.Spec{
		Shape: []int64{side, side, side}, Type: dtype.Uint8, Chunks: grid.Chunks(side, side, side),
		InnerChunks: grid.Chunks(4, 4, 4), Codecs: []metadata.Extension{codec.Bytes("")},
	}, &zarr.CreateOptions{Options: opt})
	if err != nil {
		b.Fatal(err)
	}
	data := make([]uint8, side*side*side)
	for i := range data {
		data[i] = uint8(i%251) + 1
	}
	return a, data
}

// BenchmarkShard encodes and decodes many small inner chunks of one shard: all of them,
// one of them, and one element.
func BenchmarkShard(b *testing.B) {
	ctx := context.Background()
	for _, n := range []int64{16, 32, 64} {
		count := n * n * n
		a, data := cube(b, n, zarr.Options{})
		perChunk := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(count), "ns/inner")
		}
		b.Run(fmt.Sprintf("full write %d", count), func(b *testing.B) {
			for b.Loop() {
				if err := zarr.Write(ctx, a, nil, data); err != nil {
					b.Fatal(err)
				}
			}
			perChunk(b)
		})
		b.Run(fmt.Sprintf("full read %d", count), func(b *testing.B) {
			if err := zarr.Write(ctx, a, nil, data); err != nil { // the benchmark may run alone
				b.Fatal(err)
			}
			got := make([]uint8, len(data))
			for b.Loop() {
				if err := zarr.ReadInto(ctx, a, nil, got); err != nil {
					b.Fatal(err)
				}
			}
			perChunk(b)
		})
		b.Run(fmt.Sprintf("copy %d", count), func(b *testing.B) { // the lower bound for any codec
			got := make([]uint8, len(data))
			for b.Loop() {
				copy(got, data)
			}
			perChunk(b)
		})
		for _, strategy := range []zarr.Shards{{}, {Strategy: 1}, {Strategy: 2}} {
			a, _ := cube(b, n, zarr.Options{Shards: strategy})
			if err := zarr.Write(ctx, a, nil, data); err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("write one of %d, strategy %d", count, strategy.Strategy), func(b *testing.B) {
				for b.Loop() {
					if err := zarr.Write(ctx, a, selection.Box{{4, 8}, {4, 8}, {4, 8}}, data[:64]); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("element of %d", count), func(b *testing.B) {
			if err := zarr.Write(ctx, a, nil, data); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := zarr.Read[uint8](ctx, a, selection.Basic{selection.At(7), selection.At(5), selection.At(9)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSmallShards encodes and decodes many shards of few inner chunks, 4096 of 8.
func BenchmarkSmallShards(b *testing.B) {
	ctx := context.Background()
	a, err := zarr.At(memstore.New(), "").CreateArray(ctx, zarr.Spec{
		Shape: []int64{128, 128, 128}, Type: dtype.Uint16, Codecs: fixture.Plain(),
		Chunks: grid.Chunks(8, 8, 8), InnerChunks: grid.Chunks(4, 4, 4),
	}, nil)
	if err != nil {
		b.Fatal(err)
	}
	data := make([]uint16, 128*128*128)
	for i := range data {
		data[i] = uint16(i%251) + 1
	}
	for _, run := range []struct {
		name string
		work func() error
	}{
		{"write", func() error { return zarr.Write(ctx, a, nil, data) }},
		{"read", func() error { return zarr.ReadInto(ctx, a, nil, data) }},
	} {
		b.Run(run.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := run.work(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/shard")
		})
	}
}

// BenchmarkRandomInner reads random inner chunks of 64³ from shards of 256³ uint16 on
// disk. overhead-MiB is the peak memory of the process beyond that before the benchmark.
// It includes the destination slices, 0.5 MiB for each reader.
func BenchmarkRandomInner(b *testing.B) {
	ctx := context.Background()
	s := fixture.OpenStore(b, b.TempDir())
	a, err := zarr.At(s, "").CreateArray(ctx, zarr.Spec{
		Shape: []int64{512, 512, 512}, Type: dtype.Uint16, Chunks: grid.Chunks(256, 256, 256),
		InnerChunks: grid.Chunks(64, 64, 64),
		Codecs:      []metadata.Extension{codec.Bytes("little"), codec.ZstdChecksum(0, false)},
	}, &zarr.CreateOptions{Options: zarr.Options{Durability: store.Flush}})
	if err != nil {
		b.Fatal(err)
	}
	slab := make([]uint16, 256*512*512)
	for at := int64(0); at < 512; at += 256 {
		for i := range slab {
			z, y, x := at+int64(i)/(512*512), int64(i)/512%512, int64(i)%512
			slab[i] = uint16(x + y*y/32 + z*z*z)
		}
		if err := zarr.Write(ctx, a, selection.Box{{at, at + 256}, {0, 512}, {0, 512}}, slab); err != nil {
			b.Fatal(err)
		}
	}
	slab = nil
	for _, readers := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			resetPeak()
			before := peakMiB()
			b.SetBytes(64 * 64 * 64 * 2)
			b.ReportAllocs()
			var left sync.WaitGroup
			each := make(chan struct{}, readers)
			for i := range readers {
				left.Go(func() {
					r, got := rand.New(rand.NewPCG(1, uint64(i))), make([]uint16, 64*64*64)
					for range each {
						z, y, x := 64*r.Int64N(8), 64*r.Int64N(8), 64*r.Int64N(8)
						if err := zarr.ReadInto(ctx, a, selection.Box{{z, z + 64}, {y, y + 64}, {x, x + 64}}, got); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for b.Loop() {
				each <- struct{}{}
			}
			close(each)
			left.Wait()
			b.ReportMetric(peakMiB()-before, "overhead-MiB")
		})
	}
}

// BenchmarkTinyInner reads random inner chunks of 4³ from one shard of 128³. It measures
// the overhead of reading 128 bytes.
func BenchmarkTinyInner(b *testing.B) {
	ctx := context.Background()
	s := fixture.OpenStore(b, b.TempDir())
	a, err := zarr.At(s, "").CreateArray(ctx, zarr.Spec{
		Shape: []int64{128, 128, 128}, Type: dtype.Int16, Chunks: grid.Chunks(128, 128, 128),
		InnerChunks: grid.Chunks(4, 4, 4), Codecs: fixture.Plain(),
	}, nil)
	if err == nil {
		err = zarr.Write(ctx, a, nil, fixture.NumbersOf[int16](128*128*128))
	}
	if err != nil {
		b.Fatal(err)
	}
	if a, err = zarr.At(s, "").OpenArray(ctx, nil); err != nil { // a shard older than the open document needs no version check
		b.Fatal(err)
	}
	r, got := rand.New(rand.NewPCG(1, 2)), make([]int16, 64)
	b.ReportAllocs()
	for b.Loop() {
		z, y, x := 4*r.Int64N(32), 4*r.Int64N(32), 4*r.Int64N(32)
		if err := zarr.ReadInto(ctx, a, selection.Box{{z, z + 4}, {y, y + 4}, {x, x + 4}}, got); err != nil {
			b.Fatal(err)
		}
	}
}
