// SPDX-License-Identifier: Apache-2.0

package speed_test

import (
	"context"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
)

// manyInner creates an array of one shard of 64³ uncompressed inner chunks of 4³ bytes,
// 16 MiB.
func manyInner(b *testing.B, s store.Store) {
	b.Helper()
	ctx := context.Background()
	cuts := func(n int64) []grid.Cut { return grid.Chunks(n, n, n) }
	a, err := zarr.At(s, "").CreateArray(ctx, zarr.Spec{
		Shape: []int64{256, 256, 256}, Type: dtype.Uint8, Chunks: cuts(256), InnerChunks: cuts(4), Codecs: fixture.Plain(),
	}, nil)
	data := make([]uint8, 256*256*256)
	for i := range data {
		data[i] = uint8(i>>3) | 1
	}
	if err == nil {
		err = zarr.Write(ctx, a, nil, data)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCompactShards compacts a shard of 262,144 inner chunks that is in order, and
// one in another order, so that every inner chunk moves. It also checks all of them.
func BenchmarkCompactShards(b *testing.B) {
	ctx := context.Background()
	local, err := filestore.Open(b.TempDir(), &filestore.Options{Create: true})
	if err != nil {
		b.Fatal(err)
	}
	for name, s := range map[string]store.Store{"memory": memstore.New(), "far": fixture.Conditional(memstore.New()), "local": local} {
		manyInner(b, s)
		open := func(order codec.Order) *zarr.Array {
			a, err := zarr.At(s, "").OpenArray(ctx, &zarr.Options{Write: true, Shards: zarr.Shards{Order: order}})
			if err != nil {
				b.Fatal(err)
			}
			return a
		}
		inTurn := []*zarr.Array{open(codec.Fortran), open(codec.Morton)}
		compact := func(b *testing.B, a *zarr.Array, changed int64) {
			report, err := a.CompactShards(ctx, nil)
			if err != nil || report.Changed != changed {
				b.Fatalf("%+v (%v)", report, err)
			}
		}
		b.Run(name+"/in order", func(b *testing.B) {
			compact(b, inTurn[1], 0)
			b.ReportAllocs()
			for b.Loop() {
				compact(b, inTurn[1], 0)
			}
		})
		b.Run(name+"/check", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for f, err := range inTurn[0].CheckShards(ctx, nil) {
					b.Fatal(f, err)
				}
			}
		})
		b.Run(name+"/in another order", func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				compact(b, inTurn[i%2], 1)
				i++
			}
			compact(b, inTurn[1], int64(i%2))
		})
	}
}
