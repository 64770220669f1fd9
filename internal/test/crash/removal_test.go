// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"fmt"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
)

// TestRemovalFinishes stops the machine before every third operation of a change of
// several arrays, and then removes or replaces one of them. The other arrays have all of
// the change or nothing, even if the journal was stored beside the removed one.
func TestRemovalFinishes(t *testing.T) {
	fixture.Sequential(t)
	ctx := context.Background()
	paths := []string{"deep/mask", "time", "value"}
	for name, c := range map[string]struct {
		gone   string
		from   int64 // the first operation
		remove func(h *zarr.Location) error
	}{
		"the first":          {"deep/mask", 0, func(h *zarr.Location) error { return h.At("g/deep/mask").Delete(ctx, &zarr.Options{Write: true}) }},
		"the group above it": {"deep/mask", 1, func(h *zarr.Location) error { return h.At("g/deep").Delete(ctx, &zarr.Options{Write: true}) }},
		"another":            {"time", 2, func(h *zarr.Location) error { return h.At("g/time").Delete(ctx, &zarr.Options{Write: true}) }},
		"replaced": {"deep/mask", 0, func(h *zarr.Location) error {
			spec := zarr.Spec{Shape: []int64{3}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(3)}}
			_, err := h.At("g/deep/mask").CreateArray(ctx, spec, &zarr.CreateOptions{Overwrite: true})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			grown := 0
			for n := c.from; ; n += 3 {
				disk := newDataset(t, true)
				stop, stopped := vfs.StopAt(n)
				g, err := openDataset(ctx, vfs.Hook(disk, stop))
				if err == nil {
					err = appendRows(ctx, g, datasetRows, 4)
				}
				if !stopped() {
					if err != nil {
						t.Fatal(err)
					}
					break
				}
				label := fmt.Sprintf("operation %d", n)
				visible := snapshot(t, disk, label)
				if err := c.remove(zarr.At(fixture.FileStore(disk), "")); err != nil {
					t.Fatalf("%s: %v", label, err)
				}
				if g, err = openDataset(ctx, disk); err != nil {
					t.Fatalf("%s: %v", label, err)
				}
				want := int64(0)
				for _, path := range paths {
					if path == c.gone {
						continue
					}
					a, err := g.At(path).OpenArray(ctx, nil)
					if err != nil {
						t.Fatalf("%s: %v", label, err)
					}
					rows := a.Shape()[0]
					wantRows(t, a, path, int(rows), label)
					if want == 0 {
						want = rows
					}
					if rows != want || rows < int64(visible[path]) {
						t.Errorf("%s: %s has %d rows, want %d; readers saw %v", label, path, rows, want, visible)
					}
				}
				if want > datasetRows {
					grown++
				}
			}
			if grown < 5 {
				t.Errorf("the change was decided at only %d operations", grown)
			}
		})
	}
}
