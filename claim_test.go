// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"maps"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// claimGrids are grids of two axes whose last chunks are full or reach beyond the
// extent.
var claimGrids = []Spec{
	{Shape: []int64{4, 4}, Chunks: grid.Chunks(2, 2)},
	{Shape: []int64{3, 4}, Chunks: grid.Chunks(2, 2)},
	{Shape: []int64{3, 5}, Chunks: grid.Chunks(2, 3)},
	{Shape: []int64{4, 5}, Chunks: []grid.Cut{grid.Edges(1, 3), grid.Edges(2, 2, 4)}},
	{Shape: []int64{5, 4}, Chunks: []grid.Cut{grid.Edges(2, 4, 3), grid.Edges(3, 3)}},
}

// putBy returns the chunks that an append of n planes along an axis puts, and the state
// of the array before it.
func putBy(t *testing.T, spec Spec, axis int, n int64) (map[store.Key]bool, *snapshot.Array) {
	t.Helper()
	var mutex sync.Mutex
	put, ctx := map[store.Key]bool{}, context.Background()
	s := stepping.Conditional(memtest.New(), stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		mutex.Lock()
		defer mutex.Unlock()
		if strings.HasPrefix(op.Name, "Put") && strings.Contains(op.Key.String(), "/c/") {
			put[op.Key] = true
		}
		return nil
	}})
	spec.Type = dtype.Int32
	a, err := At(s, "a").CreateArray(ctx, spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	old := a.core.State()
	data := make([]int32, n*spec.Shape[1-axis])
	for i := range data {
		data[i] = int32(i + 1)
	}
	if err := Append(ctx, a, axis, data, nil); err != nil {
		t.Fatal(err)
	}
	return put, old
}

// TestMarker checks that every append along an axis puts the marker chunk of that axis,
// and that no append along another axis puts a chunk that the marker chunk guards.
func TestMarker(t *testing.T) {
	for i, spec := range claimGrids {
		for axis := range 2 {
			along, across := map[store.Key]bool{}, map[store.Key]bool{}
			for n := int64(1); n <= 5; n++ {
				put, s := putBy(t, spec, axis, n)
				if key := s.Engine.Key(s.Marker(axis)); !put[key] {
					t.Errorf("grid %d, axis %d: an append of %d did not put the marker chunk %s", i, axis, n, key)
				}
				maps.Copy(along, put)
				put, _ = putBy(t, spec, 1-axis, n)
				maps.Copy(across, put)
			}
			_, s := putBy(t, spec, axis, 1)
			guarded := 0
			for key := range along {
				if !s.Guarded(s, axis, key) {
					continue
				}
				if guarded++; across[key] {
					t.Errorf("grid %d: %s is guarded along axis %d, but an append along the other axis puts it", i, key, axis)
				}
			}
			if guarded == 0 {
				t.Errorf("grid %d: no chunk is guarded along axis %d", i, axis)
			}
		}
	}
}
