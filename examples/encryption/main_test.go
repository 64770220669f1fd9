// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"path/filepath"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
)

const key = "000102030405060708090a0b0c0d0e0f"

func TestCodec(t *testing.T) {
	t.Setenv("VARVE_EXAMPLE_KEY", key)
	codectest.Run(t, func() any {
		c, err := newSealed(nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}, &codectest.Options{Checksum: true})
}

func TestRun(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	source, result := filepath.Join(dir, "a.zarr"), filepath.Join(dir, "b.zarr")
	a, err := zarr.CreateArray(ctx, source, zarr.Spec{
		Shape: []int64{5}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(2, 3)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Write(ctx, a, nil, []int32{1, 2, 3, 4, 5}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VARVE_EXAMPLE_KEY", key)
	if err := run(ctx, source, result); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VARVE_EXAMPLE_KEY", "ff"+key[2:])
	b, err := zarr.OpenArray(ctx, result, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := zarr.Read[int32](ctx, b, nil); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("with another key: %v", err)
	}
}
