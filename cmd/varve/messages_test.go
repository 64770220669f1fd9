// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestMessages checks that errors say what is missing, what exists, and what to write
// instead.
func TestMessages(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	must(t, "", "create", "g.zarr/lat", "--shape", "4", "--dtype", "float64", "--dimension-names", "lat")
	must(t, "", "create", "plain.zarr/a", "--shape", "4", "--dtype", "int8")
	must(t, "", "create", "old.zarr/a", "--shape", "4", "--dtype", "int8", "--zarr-format", "2")
	must(t, "", "create", "s.zarr", "--shape", "2", "--dtype", `[["x","<i4"],["y","<f8"]]`)
	for _, c := range []struct{ stdin, line, want string }{
		{"[10.5, 20]\n", "write g.zarr/lat -", "standard input ends after 11 bytes, 32 are needed (it was read as raw elements of type float64; use --format json for lists as text"},
		{"[10.5, 20]\n", "write g.zarr/lat - --format raw", "ends after 11 bytes, 32 are needed\n"},
		{"", "resize g.zarr tiem=3", `the dimension "tiem"; the dimensions are lat` + "\n"},
		{"", "resize g.zarr latt=3", `the dimension "latt"; the dimensions are lat (did you mean lat?)`},
		{"", "resize plain.zarr x=3", `the dimension "x"; their dimensions have no names`},
		{"", "write s.zarr --value [1,2.5]", `expected an object with a value for each field, as {"x":0,"y":0.0}`},
		{"", "convert old.zarr/a old.zarr/b --to 3", `"/" in the store of the destination is of format 2 and cannot contain nodes of format 3: convert the node to format 2, or choose`},
		{"", "copy old.zarr/a g.zarr/b", `"/" in the store of the destination is of format 3 and cannot contain nodes of format 2: convert the node to format 3, or choose`},
	} {
		_, errs, status := execute(t, c.stdin, strings.Fields(c.line)...)
		if status != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: status %d, %s", c.line, status, errs)
		}
	}
	for line, want := range map[string]string{
		`cat g.zarr/lat --select {"orthogonal":{"lat":[45.0,30]}}`: "30 is an index in a list of coordinate values",
		`cat g.zarr/lat --select {"orthogonal":[[45.0]]}`:          "45.0 has a point, so it is no index",
		`cat g.zarr/lat --select lat=1..3:2`:                       "a range of values has no step",
	} {
		if _, errs, status := execute(t, "", strings.Fields(line)...); status != 2 || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s", line, status, errs)
		}
	}
}

// TestSelectListedValues selects by lists of coordinate values, numbers and dates.
func TestSelectListedValues(t *testing.T) {
	g := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", g+"/t", "--shape", "4,3", "--dtype", "int16", "--dimension-names", "lat,time")
	must(t, "", "create", g+"/lat", "--shape", "4", "--dtype", "float64", "--dimension-names", "lat")
	must(t, "", "create", g+"/time", "--shape", "3", "--dtype", "int64", "--dimension-names", "time", "--attributes", `{"units":"days since 2020-01-01"}`)
	must(t, "[10,20,30,45]", "write", g+"/lat", "--format", "json")
	must(t, "[0,31,60]", "write", g+"/time", "--format", "json")
	must(t, "[[0,1,2],[3,4,5],[6,7,8],[9,10,11]]", "write", g+"/t", "--format", "json")
	for sel, want := range map[string]string{
		`{"orthogonal":{"lat":[45.0,30.0]}}`:                                  "[[9,10,11],[6,7,8]]\n",
		`{"orthogonal":{"lat":20.0}}`:                                         "[3,4,5]\n",
		`{"orthogonal":{"lat":[3,0],"time":["2020-02-01","2020-03-01"]}}`:     "[[10,11],[1,2]]\n",
		`{"orthogonal":{"lat":[45.0],"time":["2020-03-01T00","2020-01-01"]}}`: "[[11,9]]\n",
	} {
		if got := must(t, "", "export", g+"/t", "--format", "json", "--select", sel); got != want {
			t.Errorf("%s: %s, want %s", sel, got, want)
		}
	}
}
