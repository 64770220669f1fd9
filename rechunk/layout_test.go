// SPDX-License-Identifier: Apache-2.0

package rechunk_test

import (
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store/memstore"
)

// TestFewTasks checks that small chunks are staged together, because every task stores a
// record, but not more of them than fit into the memory of a task.
func TestFewTasks(t *testing.T) {
	for _, c := range []struct {
		memory, tasks int64
		cuts          []grid.Cut
	}{
		{1 << 20, 100, []grid.Cut{grid.Every(1), grid.Every(10)}}, // rows
		{1 << 20, 50, []grid.Cut{grid.Every(1), grid.Edges(1, 3, 6, 10, 30, 20, 5, 5, 20)}},
		// A task has a quarter of the memory: half of a row.
		{200, 200, []grid.Cut{grid.Every(1), grid.Every(10)}},
		// There are few blocks, each of a whole source chunk, so each is a task.
		{1 << 20, 10, []grid.Cut{grid.Every(100), grid.Every(10)}},
	} {
		a, err := zarr.At(memstore.New(), "a").CreateArray(t.Context(), zarr.Spec{
			Type: dtype.Uint8, Shape: []int64{100, 100}, Chunks: c.cuts, Codecs: fixture.Plain(),
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]uint8, 100*100)
		for i := range data {
			data[i] = uint8(1 + i%100)
		}
		if err := zarr.Write(t.Context(), a, nil, data); err != nil {
			t.Fatal(err)
		}
		r := rechunk.Rechunking{Chunks: rechunk.Cuts{c.cuts[0], grid.Every(5)}}
		p, err := rechunk.NewPlan(t.Context(), a, r, &rechunk.Options{Memory: c.memory})
		if err != nil || len(p.Stages) != 1 || p.Stages[0].Tasks != c.tasks {
			t.Errorf("within %d bytes the stages are %v, want one with %d tasks; error %v", c.memory, p.Stages, c.tasks, err)
		}
	}
}
