// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store/memstore"
)

// TestSetAttribute sets attributes of arrays and groups of both formats one by one, and
// decodes them all. The others stay as they are.
func TestSetAttribute(t *testing.T) {
	for _, format := range []int{2, 3} {
		at := zarr.At(memstore.New(), "g")
		opt := &zarr.CreateOptions{Format: format}
		g := fixture.Must(at.CreateGroup(t.Context(), map[string]any{"title": "first"}, opt))
		a := fixture.Must(g.At("a").CreateArray(t.Context(), zarr.Spec{Shape: []int64{4, 6}, Type: dtype.Int8, Chunks: grid.Chunks(2, 3)}, opt))
		for _, n := range []zarr.Node{g, a} {
			for name, value := range map[string]any{"units": "K < 300", "levels": []int{1, 2}} {
				if err := n.SetAttribute(t.Context(), name, value); err != nil {
					t.Fatal(err)
				}
			}
			if err := n.SetAttribute(t.Context(), "x", math.NaN()); !errors.Is(err, zarr.ErrInvalidArgument) {
				t.Errorf("a value that JSON has not: %v", err)
			}
			again := fixture.Must(n.Location().Open(t.Context(), nil))
			var v struct {
				Title, Units string
				Levels       []int
			}
			if err := again.DecodeAttributes(&v); err != nil || v.Units != "K < 300" || !slices.Equal(v.Levels, []int{1, 2}) || (v.Title == "first") != (n == zarr.Node(g)) {
				t.Errorf("format %d, %s: %+v, %v", format, n.Path(), v, err)
			}
			if err := again.DecodeAttributes(new(int)); err == nil {
				t.Error("an object is decoded as a number")
			}
		}
	}
}
