// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
)

func TestRun(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.zarr")
	a, err := zarr.CreateArray(t.Context(), name, zarr.Spec{Shape: []int64{3, 2}, Type: dtype.Int16}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Write(t.Context(), a, nil, []int16{3, 0, 0, 4, 0, 0}); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run(t.Context(), &out, name); err != nil || out.String() != "[4 3]\n" {
		t.Errorf("%q: %v", out.String(), err)
	}
}
