// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goType matches a Go type in a message, such as *http.Store.
var goType = regexp.MustCompile(`\*[a-z]+\.[A-Z]`)

// TestErrorsNameNextStep makes mistakes whose errors say what to do, without naming a
// Go type.
func TestErrorsNameNextStep(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	web := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer web.Close()
	must(t, "", "create", "a.zarr", "--group")
	must(t, "", "create", "a.zarr/t", "--shape", "4", "--dtype", "int8", "--chunks", "2", "--dimension-names", "x")
	must(t, "1", "write", "a.zarr/t", "--select", "0", "--format", "json")
	must(t, "", "copy", "a.zarr", "a.zip")
	overwrite(t, filepath.Join(dir, "b.zarr", "zarr.json"), `{"hello": 1}`)
	overwrite(t, filepath.Join(dir, "a.zarr", "c", "zarr.json"), `no`)
	for _, c := range []struct {
		line, want string
		status     int
	}{
		{"append a.zarr/t x.nc", "x.nc: there is no such file", 1},
		{"export a.zarr/t -o x.grib", ".raw or .bin, or give --format", 2},
		{"rm a.zip", "remove that file", 1},
		{"rm a.zip --yes", "remove that file", 1},
		{"rm a.zip/t --dry-run", "copy it to a directory", 1},
		{"copy a.zarr a.zip", "--overwrite replaces it", 1},
		{"info " + web.URL + "/a.zarr", "the http store cannot list; it finds the members of a group by consolidated metadata, which this group does not have: " +
			"consolidate it where it can be written (varve consolidate), or open an array by its full path", 1},
		{"tree " + web.URL + "/a.zarr", "(varve consolidate)", 1},
		{"resize a.zarr/t --shape 3 --expect 5 --yes", "changed by another writer, or by this very change before: the shape is [4], [5] was expected", 1},
		{"info b.zarr", `open b.zarr: zarr.json: member "zarr_format" is missing`, 1},
		{"info b.zarr --json", `"key": "zarr.json"`, 1},
		{"info a.zarr/c --json", `"key": "c/zarr.json"`, 1},
		{"check a.zarr/t --complete", "check a.zarr/t: 1 fault (1 chunk missing)\n", 1},
	} {
		_, errs, status := execute(t, "", strings.Fields(c.line)...)
		if status != c.status || !strings.Contains(errs, c.want) || goType.MatchString(errs) {
			t.Errorf("%s: status %d, %s", c.line, status, errs)
		}
	}
	if out := must(t, "", "rm", "a.zarr/t", "--dry-run"); strings.Contains(out, "0 documents") {
		t.Error(out)
	}
}
