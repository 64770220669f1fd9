// SPDX-License-Identifier: Apache-2.0

package growth_test

import (
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store/memstore"
)

// TestAppendToNoEdges creates an array without edges along its first axis, opens it
// again and appends. Only the appended planes have chunks.
func TestAppendToNoEdges(t *testing.T) {
	for name, tt := range map[string]struct {
		how  grid.Growth
		want string
	}{
		"append-one": {grid.AppendOne(), `{"kind": "inline", "chunk_shapes": [[3, 2], 2]}`},
		"fixed":      {grid.Fixed(2), `{"kind": "inline", "chunk_shapes": [[[2, 3]], 2]}`},
		"repeat":     {grid.RepeatLast(), `{"kind": "inline", "chunk_shapes": [[[3, 2]], 2]}`},
	} {
		t.Run(name, func(t *testing.T) {
			at := zarr.At(memstore.New(), "a")
			_, err := at.CreateArray(t.Context(), zarr.Spec{Shape: []int64{0, 2}, Type: dtype.Int16, Chunks: []grid.Cut{grid.Edges(), grid.Every(2)}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			a, err := at.OpenArray(t.Context(), &zarr.Options{Write: true})
			if err != nil {
				t.Fatal(err)
			}
			if n := a.Grid().Axis(0).Cells(); n != 0 {
				t.Fatalf("%d cells", n)
			}
			for _, values := range [][]int16{{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10}} {
				if err := zarr.Append(t.Context(), a, 0, values, &zarr.AppendOptions{Grow: tt.how}); err != nil {
					t.Fatal(err)
				}
			}
			b, err := zarr.Read[int16](t.Context(), a, nil)
			if err != nil || !slices.Equal(b.Data, []int16{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) {
				t.Errorf("%v, %v", b.Data, err)
			}
			if got := string(a.Grid().AppendConfiguration(nil)); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}
