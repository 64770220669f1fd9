// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/ragged"
	"varve.dev/zarr/store"
)

// TestRagged has sets of rows of unequal lengths read by anndata, awkward and xarray, and
// reads what anndata and xarray write, if interop/peers/setup anndata has installed them.
func TestRagged(t *testing.T) {
	python := filepath.Join(cache(), "peers", "anndata", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Skip("anndata is missing; interop/peers/setup anndata installs it")
	}
	dir := t.TempDir()
	csr, err := ragged.CreateCSR(t.Context(), place(t, dir, "csr.zarr"), 7, dtype.Float32, nil)
	check(t, err)
	cf, err := ragged.Create(t.Context(), place(t, dir, "cf.zarr"), []ragged.Field{{Name: "lat", Type: dtype.Float32}, {Name: "id", Type: dtype.Int32, PerRow: true}}, nil)
	check(t, err)
	for range 2 {
		lengths, values := []int64{2, 0, 3}, []float32{1, 2, 3, 4, 5}
		check(t, csr.Append(t.Context(), lengths, ragged.Values("data", values), ragged.Values("indices", []int64{0, 2, 1, 3, 5})))
		check(t, cf.Append(t.Context(), lengths, ragged.Values("lat", values), ragged.Values("id", []int32{7, 8, 9})))
	}
	var got struct {
		Shape   []int64
		Indices [][]int64
		Data    [][]float32
		Lat     [][]float32
		ID      []int32
		Dims    [][]string
	}
	python3(t, python, &got, "read", dir)
	rows, columns := [][]float32{{1, 2}, {}, {3, 4, 5}}, [][]int64{{0, 2}, {}, {1, 3, 5}}
	rows, columns = append(rows, rows...), append(columns, columns...)
	for name, pair := range map[string][2]any{
		"shape": {got.Shape, []int64{6, 7}}, "indices": {got.Indices, columns}, "data": {got.Data, rows}, "lat": {got.Lat, rows},
		"id": {got.ID, []int32{7, 8, 9, 7, 8, 9}}, "dims": {got.Dims, [][]string{{"obs"}, {"row"}}},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: Python reads %v, want %v", name, pair[0], pair[1])
		}
	}

	python3(t, python, new(any), "write", dir)
	for node, fields := range map[string][2]string{"anndata.zarr/X": {"data", "indices"}, "xarray.zarr": {"lat", ""}} {
		s, err := ragged.Open(t.Context(), filepath.Join(dir, node), nil)
		check(t, err)
		values, err := ragged.Read[float32](t.Context(), s, fields[0], 0, s.Rows())
		check(t, err)
		if !reflect.DeepEqual(values, [][]float32{{1, 2}, {}, {3, 4, 5}}) {
			t.Errorf("%s: %v", node, values)
		}
		check(t, s.Close())
	}
}

// place returns the location of a new node in a folder.
func place(t *testing.T, dir, name string) *zarr.Location {
	t.Helper()
	at, err := zarr.Locate(t.Context(), filepath.Join(dir, name), store.Create)
	check(t, err)
	return at
}

// python3 runs ragged.py and reads what it prints.
func python3(t *testing.T, python string, result any, args ...string) {
	t.Helper()
	c := exec.Command(python, append([]string{"ragged.py"}, args...)...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	check(t, err)
	check(t, json.Unmarshal(out, result))
}
