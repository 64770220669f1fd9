// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store/memstore"
)

// TestSlabToWrite checks that slabs end where inner chunks end, so that none is encoded
// twice, as long as the memory permits.
func TestSlabToWrite(t *testing.T) {
	for _, c := range []struct {
		shape, shards, chunks []int64
		want                  int64
	}{
		{[]int64{1 << 33}, nil, []int64{1 << 20}, export.SlabBytes},
		{[]int64{1 << 33}, nil, []int64{500_000_000}, 500_000_000},
		{[]int64{1 << 33}, []int64{1 << 30}, []int64{1 << 28}, 1 << 28},
		{[]int64{1 << 33}, []int64{1 << 33}, []int64{1 << 26}, export.SlabBytes},
		{[]int64{1 << 15, 1 << 15}, nil, []int64{1 << 13, 1 << 13}, 1 << 28},                  // all four side by side
		{[]int64{1 << 20, 1 << 20}, nil, []int64{1 << 14, 1 << 14}, 1 << 28},                  // which here would be 16 GiB
		{[]int64{1 << 40}, nil, []int64{1 << 31}, export.SlabBytes},                           // more than the limit: it is written in parts
		{[]int64{9, 9, 1 << 28}, nil, []int64{1, 1, 1 << 28}, 1 << 28},                        // one is a layer
		{[]int64{1 << 12, 1 << 14, 4}, nil, []int64{1 << 12, 1 << 12, 4}, 1 << 28},            // the whole array
		{[]int64{1 << 20, 1 << 8}, []int64{1 << 20, 1 << 8}, []int64{1, 1}, export.SlabBytes}, // next to nothing each
	} {
		spec := zarr.Spec{Shape: c.shape, Type: dtype.Uint8}
		for _, n := range c.chunks {
			spec.Chunks = append(spec.Chunks, grid.Every(n))
		}
		if c.shards != nil {
			spec.Chunks, spec.InnerChunks = nil, spec.Chunks
			for _, n := range c.shards {
				spec.Chunks = append(spec.Chunks, grid.Every(n))
			}
		}
		a, err := zarr.At(memstore.New(), "").CreateArray(t.Context(), spec, &zarr.CreateOptions{Options: zarr.Options{Limits: zarr.Limits{InnerChunks: 1 << 30}}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.Select(nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := export.SlabToWrite(0, a, r, a.Type()); n != c.want {
			t.Errorf("%+v: %d bytes", c, n)
		}
	}
}

// TestChunksAreDecodedOnce reads arrays of which one layer of chunks is larger than a
// slab: all elements, for a copy into another array, and a part.
func TestChunksAreDecodedOnce(t *testing.T) {
	racing.Skip(t)
	const rows = 40
	for name, c := range map[string]struct {
		columns, chunk int64
		shard          bool
		sel            string
		want           int64
	}{
		"side by side": {4 << 20, 1 << 20, false, "", 4},
		"part":         {4 << 20, 1 << 20, false, "1:39,5:", 4},
		"one chunk":    {5 << 20, 5 << 20, false, "", 1},
		"shards":       {4 << 20, 1 << 20, true, "", 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := memstore.New()
			spec := zarr.Spec{Shape: []int64{rows, c.columns}, Type: dtype.Uint8, Chunks: []grid.Cut{grid.Every(rows), grid.Every(c.chunk)}}
			if c.shard {
				spec.Chunks, spec.InnerChunks = []grid.Cut{grid.Every(rows), grid.Every(2 * c.chunk)}, spec.Chunks
			}
			counter := new(observe.Counter)
			a, err := zarr.At(s, "").CreateArray(t.Context(), spec, nil)
			if err == nil {
				err = zarr.Fill(t.Context(), a, nil, uint8(7))
			}
			if err == nil {
				a, err = zarr.At(s, "").OpenArray(t.Context(), &zarr.Options{Observer: counter})
			}
			if err != nil {
				t.Fatal(err)
			}
			src, err := source.New(t.Context(), a, c.sel, false)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0
			if err := src.Blocks(t.Context(), func(e export.Values) error { sum += e.Len(); return nil }); err != nil || int64(sum) != src.Selection.Len() {
				t.Errorf("%d elements, %v", sum, err)
			}
			if n := counter.Stats().Of(observe.Decode).Times; n != c.want {
				t.Errorf("%d chunks were decoded, want %d", n, c.want)
			}
		})
	}
}
