// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	a, err := zarr.CreateArray(t.Context(), filepath.Join(dir, "a.zarr"), zarr.Spec{
		Shape: []int64{100, 3}, Type: dtype.Int16, Chunks: grid.Chunks(10, 3),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Fill[int16](t.Context(), a, nil, 7); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	var out strings.Builder
	if err := run(t.Context(), &out, []string{server.URL + "/a.zarr", "15"}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "mean of [15 3]: 7.00\n") {
		t.Error(out.String())
	}
}
