// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"context"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"pgregory.net/rapid"
	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store/memstore"
)

// TestShadingCounts checks that listing and single look-ups give the correct counts.
func TestShadingCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		a, err := zarr.At(memstore.New(), "").CreateArray(ctx, zarr.Spec{
			Shape: []int64{30, 40}, Type: dtype.Int8, Chunks: []grid.Cut{grid.Every(1), grid.Every(1)},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		stored := map[[2]int64]bool{}
		for range rapid.IntRange(0, 30).Draw(t, "chunks") {
			at := [2]int64{rapid.Int64Range(0, 29).Draw(t, "row"), rapid.Int64Range(0, 39).Draw(t, "column")}
			stored[at] = true
			if err := a.WriteChunk(ctx, at[:], []byte{1}); err != nil {
				t.Fatal(err)
			}
		}
		d := OfArray("", a)
		cmd := new(cobra.Command)
		cmd.SetContext(ctx)
		listed, err := d.Stored(cmd)
		if err != nil {
			t.Fatal(err)
		}
		s := &shading{Context: ctx, Grid: d, Deadline: time.Now().Add(time.Hour)}
		for range 10 {
			box := make(grid.Box, 2)
			for i, n := range a.Shape() {
				box[i].Start = rapid.Int64Range(0, n).Draw(t, "start")
				box[i].Stop = rapid.Int64Range(box[i].Start, n).Draw(t, "stop")
			}
			want := int64(0)
			for at := range stored {
				if box.Contains(at[:]) {
					want++
				}
			}
			if got := listed(box); got != want {
				t.Fatalf("%d listed in %v, want %d", got, box, want)
			}
			if n, _ := box.Len(); n > 100 {
				continue
			}
			s.Asked = 0
			if got := s.probe(box); got != want {
				t.Fatalf("%d found in %v, want %d", got, box, want)
			}
		}
	})
}
