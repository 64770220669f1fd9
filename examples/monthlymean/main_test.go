// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
)

func TestRun(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	source, result := filepath.Join(dir, "a.zarr"), filepath.Join(dir, "b.zarr")
	a, err := zarr.CreateArray(ctx, source, zarr.Spec{
		Shape: []int64{5, 4}, Type: dtype.Int16, Chunks: []grid.Cut{grid.Edges(2, 3), grid.Every(3)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]int16, 20)
	for i := range data {
		data[i] = int16(i)
	}
	if err := zarr.Write(ctx, a, nil, data); err != nil {
		t.Fatal(err)
	}
	if err := run(ctx, source, result); err != nil {
		t.Fatal(err)
	}
	b, err := zarr.OpenArray(ctx, result, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := zarr.Read[float32](ctx, b, nil)
	if want := []float32{2, 3, 4, 5, 12, 13, 14, 15}; err != nil || !slices.Equal(got.Data, want) {
		t.Errorf("%v, want %v: %v", got.Data, want, err)
	}
	if err := run(ctx, source, result); err == nil {
		t.Error("an array that exists is overwritten")
	}
}
