// SPDX-License-Identifier: Apache-2.0

package export_test

import (
	"bytes"
	"context"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// makeArray makes an array of numbers that count in C order.
func makeArray(t *testing.T, shape []int64, chunks ...grid.Cut) *zarr.Array {
	t.Helper()
	spec := zarr.Spec{Shape: shape, Type: dtype.Int32, Chunks: chunks}
	a, err := zarr.At(memstore.New(), "").CreateArray(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := int64(1)
	for _, extent := range shape {
		n *= extent
	}
	values := make([]int32, n)
	for i := range values {
		values[i] = int32(i)
	}
	if err := zarr.Write(t.Context(), a, nil, values); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestTiles checks that tiles have each selected element once, in boxes that begin at
// whole tiles.
func TestTiles(t *testing.T) {
	a := makeArray(t, []int64{10, 7}, grid.Edges(3, 4, 3), grid.Edges(5, 2))
	for _, sel := range []selection.Selection{
		nil, selection.Basic{selection.Span(1, 9), selection.Stepped(0, 7, 2)}, selection.Basic{selection.At(4)},
		selection.Orthogonal{selection.List(9, 0, 3)},
	} {
		for _, memory := range []int64{0, 64} {
			checkTiles(t, a, sel, memory)
		}
	}
}

func checkTiles(t *testing.T, a *zarr.Array, sel selection.Selection, memory int64) {
	t.Helper()
	v, err := a.View(sel)
	if err != nil {
		t.Fatal(err)
	}
	s, err := export.Of(t.Context(), v, false)
	if err != nil {
		t.Fatal(err)
	}
	s.Memory = memory
	tile := []int64{4, 3}[2-len(s.Shape):]
	got, boxes := make([]byte, s.Bytes), 0
	err = s.Tiles(context.Background(), tile, func(box grid.Box, e export.Values) error {
		boxes++
		k := 0
		for index := range box.IndicesInto(make([]int64, len(box))) {
			place := int64(0)
			for i, at := range index {
				place = place*s.Shape[i] + at
			}
			copy(got[4*place:], e.At(k))
			k++
		}
		for i, in := range box {
			if in.Start%tile[i] != 0 {
				t.Errorf("a box begins at %d, and tiles have %d", in.Start, tile[i])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, s.Bytes)
	if err := a.ReadBytes(t.Context(), s.Selection, want); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the tiles of %v have %v, want %v", sel, got, want)
	}
	if memory == 0 && boxes != 1 {
		t.Errorf("%d boxes of few elements, want 1", boxes)
	}
}
