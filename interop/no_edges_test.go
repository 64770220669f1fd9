// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"path/filepath"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
)

// TestNoEdges lets zarr-python read an array without edges along its first axis, before
// and after growth, and append to it.
func TestNoEdges(t *testing.T) {
	p := startPython(t)
	path := filepath.Join(t.TempDir(), "a")
	a, err := zarr.CreateArray(t.Context(), path, zarr.Spec{
		Shape: []int64{0, 2}, Type: dtype.Uint8, Chunks: []grid.Cut{grid.Edges(), grid.Every(2)},
	}, nil)
	check(t, err)
	if s := p.read(t, path); !slices.Equal(s.Shape, []int64{0, 2}) || len(s.Data) > 0 {
		t.Errorf("before growth: %+v", s)
	}
	check(t, zarr.Append(t.Context(), a, 0, []uint8{1, 2, 3, 4, 5, 6}, nil))
	check(t, a.Close())
	if s := p.read(t, path); !slices.Equal(s.Shape, []int64{3, 2}) || !slices.Equal(s.Data, []byte{1, 2, 3, 4, 5, 6}) {
		t.Errorf("after growth: %+v", s)
	}

	// zarr-python keeps the placeholder as an edge, so its elements begin there.
	path = filepath.Join(t.TempDir(), "b")
	b, err := zarr.CreateArray(t.Context(), path, zarr.Spec{Shape: []int64{0}, Type: dtype.Uint8, Chunks: []grid.Cut{grid.Edges()}}, nil)
	check(t, err)
	check(t, b.Close())
	p.resize(t, path, []int64{5})
	if s := (varve{}).read(t, path); !slices.Equal(s.Shape, []int64{5}) || !slices.Equal(s.Data, make([]byte, 5)) {
		t.Errorf("after zarr-python resized it: %+v", s)
	}
}
