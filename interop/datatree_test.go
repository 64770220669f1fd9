// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/pyramid"
)

// TestDatatree makes levels of several arrays of a hierarchy, in the root and below, with
// coordinates, of different factors, and makes them again after appends. xarray opens all
// of it as a tree each time.
func TestDatatree(t *testing.T) {
	python, dir := interpreter(t), t.TempDir()
	for _, format := range []int{3, 2} {
		store := filepath.Join(dir, fmt.Sprintf("%d.zarr", format))
		add := func(path string, shape []int64, names ...string) *zarr.Array {
			spec := zarr.Spec{Shape: shape, Type: dtype.Int32, DimensionNames: names, Chunks: make([]grid.Cut, len(shape)), Format: format}
			for i := range shape {
				spec.Chunks[i] = grid.Every(16)
			}
			a, err := zarr.CreateArray(t.Context(), store+path, spec, &zarr.CreateOptions{Format: format})
			check(t, err)
			check(t, zarr.Fill(t.Context(), a, nil, int32(1)))
			return a
		}
		for _, in := range []string{"", "/r10m", "/a/b"} {
			add(in+"/y", []int64{60}, "y")
			add(in+"/x", []int64{40}, "x")
		}
		times := add("/time", []int64{3}, "time")
		factors := map[string][]int64{"/t2m": {1, 2, 2}, "/r10m/b02": {2, 2}, "/r10m/b03": {3, 2}, "/a/b/mask": {1, 2}}
		arrays := map[string]*zarr.Array{
			"/t2m": add("/t2m", []int64{3, 60, 40}, "time", "y", "x"), "/r10m/b02": add("/r10m/b02", []int64{60, 40}, "y", "x"),
			"/r10m/b03": add("/r10m/b03", []int64{60, 40}, "y", "x"), "/a/b/mask": add("/a/b/mask", []int64{60, 40}, "y", "x"),
		}
		g, err := zarr.OpenGroup(t.Context(), store, &zarr.Options{Write: true})
		check(t, err)
		check(t, g.Consolidate(t.Context()))
		for round := range int64(2) {
			want := map[string][]int64{}
			for path, a := range arrays {
				plan, err := pyramid.Make(t.Context(), a, &pyramid.Options{Factors: factors[path]})
				check(t, err)
				want[path] = a.Shape()
				for _, l := range plan.Levels {
					want[filepath.Join(filepath.Dir(path), l.Path)] = l.Grid.Shape()
				}
			}
			for _, found := range opened(t, python, store) {
				for path, shape := range want {
					if got := found[path]; !slices.Equal(got, shape) {
						t.Errorf("round %d of format %d: %s has the shape %v in xarray, want %v", round, format, path, got, shape)
					}
				}
				if len(found) != len(want) {
					t.Errorf("round %d of format %d: xarray has %v, want %v", round, format, found, want)
				}
			}
			check(t, arrays["/t2m"].Resize(t.Context(), []int64{4 + round, 60, 40}, nil))
			check(t, times.Resize(t.Context(), []int64{4 + round}, nil))
		}
	}
}

// opened returns the shapes of all variables but coordinates, with and without
// consolidated metadata.
func opened(t *testing.T, python, store string) (found []map[string][]int64) {
	t.Helper()
	c := exec.Command(python, "datatree.py", store)
	c.Stderr = os.Stderr
	out, err := c.Output()
	check(t, err)
	check(t, json.Unmarshal(out, &found))
	return found
}
