// SPDX-License-Identifier: Apache-2.0

package main

import (
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/selection"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	node, file := filepath.Join(dir, "a.zarr"), filepath.Join(dir, "a.png")
	a, err := zarr.CreateArray(t.Context(), node, zarr.Spec{Shape: []int64{2, 1, 3}, Type: dtype.Float32}, nil)
	if err != nil {
		t.Fatal(err)
	}
	nan := float32(math.NaN())
	if err := zarr.Write(t.Context(), a, selection.Box{{1, 2}, {0, 1}, {0, 3}}, []float32{280, 290, nan}); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), node, "1", file); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	for x, want := range []color.NRGBA{{0, 0, 0, 255}, {255, 255, 255, 255}, {}} {
		if got := color.NRGBAModel.Convert(m.At(x, 0)); got != want {
			t.Errorf("pixel %d is %v, want %v", x, got, want)
		}
	}
}
