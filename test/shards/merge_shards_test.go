// SPDX-License-Identifier: Apache-2.0

package shards_test

import (
	"context"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/zstd"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/test/fixture"
)

// TestMergeShards merges three shards into one, row by row, by copying their encoded
// inner chunks, and reads the result as an array whose grid has the longer shard.
// zarr-python reads it as well.
func TestMergeShards(t *testing.T) {
	ctx := context.Background()
	spec := zarr.Spec{
		Shape: []int64{7, 6}, Type: dtype.Of[int32](), Codecs: append(fixture.Plain(), zstd.Extension(0, false)),
		Chunks: []grid.Cut{grid.Edges(4, 1, 1, 1), grid.Edges(6)}, InnerChunks: []grid.Cut{grid.Every(1), grid.Every(3)},
	}
	h := zarr.At(memstore.New(), "")
	a, err := h.At("a").CreateArray(ctx, spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := fixture.Numbers(1, 42)
	clear(data[5*6:][:3]) // an inner chunk that is not stored
	if err := zarr.Write(ctx, a, nil, data); err != nil {
		t.Fatal(err)
	}
	spec.Chunks = []grid.Cut{grid.Edges(4, 3), grid.Edges(6)}
	b, err := h.At("b").CreateArray(ctx, spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	var parts []coding.Fragment
	for row := range int64(4) {
		shard, err := a.ReadEncodedChunk(ctx, []int64{row, 0})
		if err != nil {
			t.Fatal(err)
		}
		if row == 0 {
			if err := b.WriteEncodedChunk(ctx, []int64{0, 0}, shard); err != nil {
				t.Fatal(err)
			}
			continue
		}
		parts = append(parts, coding.Fragment{Start: []int64{row - 1, 0}, Shape: []int64{1, 6}, Source: coding.Stored(shard)})
	}
	chain, err := coding.NewChain(new(codec.Environment), a.Metadata().Codecs, codec.Spec{Type: a.Type(), Fill: fixture.FillElement(a), Rank: 2})
	if err != nil {
		t.Fatal(err)
	}
	out, err := chain.Merge(ctx, &coding.Work{Cores: coding.NewCores(), Bytes: 1 << 20, Requests: 1}, []int64{3, 6}, parts)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Release()
	if err := b.WriteEncodedChunk(ctx, []int64{1, 0}, out.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	if got, err := zarr.Read[int32](ctx, b, nil); err != nil || !slices.Equal(got.Data, data) {
		t.Errorf("read %v (%v)", got, err)
	}
	for f, err := range b.CheckShards(ctx, nil) {
		t.Errorf("%v (%v)", f, err)
	}
}
