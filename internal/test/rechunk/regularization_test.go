// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store/memstore"
)

// TestRegularTarget regularizes arrays, most of whose elements have short chunks, with a
// target and without one.
func TestRegularTarget(t *testing.T) {
	ones := grid.Runs(grid.Run{Length: 1, Count: 400})
	for name, test := range map[string]struct {
		spec   zarr.Spec
		target int64
		want   []int64
	}{
		"without a target":      {zarr.Spec{Chunks: []grid.Cut{ones, grid.Every(10)}}, 0, []int64{1, 10}},
		"daily appends":         {zarr.Spec{Chunks: []grid.Cut{ones, grid.Every(10)}}, 4000, []int64{100, 10}},
		"the nearest multiple":  {zarr.Spec{Chunks: []grid.Cut{ones, grid.Every(10)}}, 4190, []int64{105, 10}},
		"no longer than all":    {zarr.Spec{Chunks: []grid.Cut{ones, grid.Every(10)}}, 1 << 20, []int64{400, 10}},
		"long enough":           {zarr.Spec{Chunks: []grid.Cut{grid.Edges(100, 100, 150, 50), grid.Every(10)}}, 4000, []int64{100, 10}},
		"whole chunks":          {zarr.Spec{Chunks: []grid.Cut{grid.Edges(150, 150, 100), grid.Every(10)}}, 1 << 20, []int64{300, 10}},
		"whole inner chunks":    {zarr.Spec{Chunks: []grid.Cut{grid.Runs(grid.Run{Length: 4, Count: 100}), grid.Every(10)}, InnerChunks: grid.Chunks(2, 10)}, 4100, []int64{104, 10}},
		"regular already":       {zarr.Spec{Chunks: grid.Chunks(1, 10)}, 4000, []int64{1, 10}},
		"variable length":       {zarr.Spec{Type: dtype.String, Chunks: []grid.Cut{ones, grid.Every(10)}}, 4000, []int64{1, 10}},
		"along the second axis": {zarr.Spec{Chunks: []grid.Cut{grid.Every(10), grid.Edges(2, 2, 2, 2, 2)}}, 320, []int64{10, 8}},
	} {
		t.Run(name, func(t *testing.T) {
			test.spec.Shape = []int64{400, 10}
			if test.spec.Type == (dtype.Type{}) {
				test.spec.Type = dtype.Int32
			}
			a, err := zarr.At(memstore.New(), "a").CreateArray(t.Context(), test.spec, nil)
			if err != nil {
				t.Fatal(err)
			}
			r := rechunk.Regularization{Target: test.target}
			p, err := r.Propose(t.Context(), a)
			if regular := a.Grid().IsRegular(); err != nil || (p == nil) != regular || p != nil && !slices.Equal(p.Chunk, test.want) {
				t.Errorf("it proposes %+v (%v)", p, err)
			}
			if _, err := rechunk.Do(t.Context(), a, r, nil); err != nil {
				t.Fatal(err)
			}
			for i, n := range test.want {
				if is := a.Grid().Axis(i); !is.IsRegular() || is.Step() != n {
					t.Errorf("axis %d: %v", i, is)
				}
			}
			// Then nothing is left to do.
			if again, err := rechunk.Do(t.Context(), a, r, nil); err != nil || again.Changed {
				t.Errorf("again: %+v (%v)", again, err)
			}
		})
	}
}
