// SPDX-License-Identifier: Apache-2.0

package netcdf

import (
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// TestChunks checks the chunks of files for the grids of arrays.
func TestChunks(t *testing.T) {
	sharded := zarr.Spec{Shape: []int64{4096, 4096}, Type: dtype.Int8, Chunks: grid.Chunks(4096, 4096), InnerChunks: grid.Chunks(512, 1024)}
	of := func(shape []int64, cuts ...grid.Cut) zarr.Spec {
		return zarr.Spec{Shape: shape, Type: dtype.Int32, Chunks: cuts}
	}
	for name, c := range map[string]struct {
		spec      zarr.Spec
		sel       selection.Selection
		unlimited bool
		want      []int64
	}{
		"regular":   {of([]int64{100, 721, 1440}, grid.Chunks(7, 721, 1440)...), nil, false, []int64{7, 721, 1440}},
		"months":    {of([]int64{120, 721, 1440}, grid.Edges(31, 28, 31, 30), grid.Every(721), grid.Every(1440)), nil, false, []int64{31, 721, 1440}},
		"as often":  {of([]int64{300, 1000}, grid.Edges(100, 200), grid.Every(1000)), nil, false, []int64{200, 1000}},
		"inner":     {sharded, nil, false, []int64{512, 1024}},
		"short":     {of([]int64{1000, 300}, grid.Chunks(1, 100)...), nil, false, []int64{55, 300}},
		"one":       {of([]int64{10}, grid.Every(3)), nil, false, []int64{10}},
		"grows":     {of([]int64{10}, grid.Every(1)), nil, true, []int64{16384}},
		"long":      {of([]int64{1 << 31}, grid.Every(1<<31)), nil, false, []int64{1 << 28}},
		"cube":      {of([]int64{2048, 2048, 2048}, grid.Chunks(2048, 2048, 2048)...), nil, false, []int64{512, 512, 1024}},
		"each 10th": {of([]int64{1000, 1000}, grid.Chunks(200, 1000)...), selection.Basic{selection.Stepped(0, selection.Open, 10)}, false, []int64{20, 1000}},
		"one row":   {of([]int64{1000, 100_000}, grid.Chunks(10, 50_000)...), selection.Basic{selection.At(5)}, false, []int64{50_000}},
	} {
		a, err := zarr.At(memstore.New(), "").CreateArray(t.Context(), c.spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		v, err := a.View(c.sel)
		if err != nil {
			t.Fatal(err)
		}
		s, err := export.Of(t.Context(), v, false)
		if err != nil {
			t.Fatal(err)
		}
		f, err := formOf(a.Type())
		if err != nil {
			t.Fatal(err)
		}
		array := &variable{form: f, source: s}
		for _, n := range s.Shape {
			array.dimensions = append(array.dimensions, &dimension{length: n, unlimited: c.unlimited})
		}
		if got := chunkOf(array); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
