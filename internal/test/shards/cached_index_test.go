// SPDX-License-Identifier: Apache-2.0

package shards_test

import (
	"context"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// largeShard creates an array of one shard that is long enough to be spliced, with inner
// chunks of 4 KiB, and fills it.
func largeShard(t testing.TB, s store.Store) (*zarr.Array, []uint8) {
	t.Helper()
	ctx := context.Background()
	const n = 2 << 20
	a, err := zarr.At(s, "").CreateArray(ctx, zarr.Spec{
		Shape: []int64{n}, Type: dtype.Uint8, Codecs: fixture.Plain(),
		Chunks: grid.Chunks(n), InnerChunks: grid.Chunks(4096),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]uint8, n)
	for i := range data {
		data[i] = uint8(i*7>>3) | 1
	}
	if err := zarr.Write(ctx, a, nil, data); err != nil {
		t.Fatal(err)
	}
	return a, data
}

// TestWriteAfterCachedIndex writes to a shard whose index is cached: the present
// version, and a version that another writer has replaced.
func TestWriteAfterCachedIndex(t *testing.T) {
	ctx := context.Background()
	for _, strategy := range []codec.Strategy{codec.Rewrite, codec.Append, codec.InPlace} {
		s := memstore.New()
		other, want := largeShard(t, s)
		a, err := zarr.At(s, "").OpenArray(ctx, &zarr.Options{Write: true, Shards: zarr.Shards{Strategy: strategy}})
		if err != nil {
			t.Fatal(err)
		}
		write := func(a *zarr.Array, from, to int64) {
			t.Helper()
			data := slices.Repeat([]uint8{want[from] + 1}, int(to-from))
			copy(want[from:to], data)
			if err := zarr.Write(ctx, a, selection.Box{{from, to}}, data); err != nil {
				t.Errorf("strategy %d: %v", strategy, err)
			}
		}
		for _, part := range [][2]int64{{0, 4096}, {4096, 8192}, {5000, 9000}} {
			if _, err := zarr.Read[uint8](ctx, a, selection.Box{{20_000, 20_001}}); err != nil {
				t.Fatal(err)
			}
			write(a, part[0], part[1])
			if _, err := zarr.Read[uint8](ctx, a, selection.Box{{20_000, 20_001}}); err != nil {
				t.Fatal(err)
			}
			write(other, 9000, 9010)
			write(a, part[0]+1, part[1])
		}
		if got, err := zarr.Read[uint8](ctx, a, nil); err != nil || !slices.Equal(got.Data, want) {
			t.Errorf("strategy %d: the elements differ from those written (%v)", strategy, err)
		}
	}
}

// TestDeadBytesAreBounded rewrites an inner chunk many times in a shard to which new
// inner chunks are appended. Its unused bytes stay fewer than the used ones.
func TestDeadBytesAreBounded(t *testing.T) {
	s, spec := memstore.New(), fixture.Every(8, 8)
	spec.Codecs, spec.InnerChunks = fixture.Plain(), grid.Chunks(2)
	_, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := zarr.At(s, "a").OpenArray(t.Context(), appendingShards())
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 8))
	}
	const index, live = 4*16 + 4, 8 * 4
	for i := range int32(100) {
		if err == nil {
			err = zarr.Write(t.Context(), a, selection.Box{{0, 2}}, fixture.Numbers(i, 2))
		}
		info, statErr := store.Stat(t.Context(), s, store.MustKey("a/c/0"))
		if err != nil || statErr != nil || info.Size > index+8*live {
			t.Fatalf("%d bytes after %d writes (%v, %v)", info.Size, i+1, err, statErr)
		}
	}
}
