// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/internal/racing"
)

// era makes a group with an array, its coordinates and a group below.
func era(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	at := filepath.Join(dir, "era.zarr")
	must(t, "", "create", at, "--group")
	must(t, "", "create", at+"/time", "--shape", "4", "--dtype", "int64", "--chunks", "4", "--dimension-names", "time", "--attributes", `{"units":"days since 2020-01-01"}`)
	must(t, "[0,1,2,3]", "write", at+"/time", "--format", "json")
	must(t, "", "create", at+"/lat", "--shape", "2", "--dtype", "float64", "--chunks", "2", "--dimension-names", "lat")
	must(t, "[45,50]", "write", at+"/lat", "--format", "json")
	must(t, "", "create", at+"/t2m", "--shape", "4,2", "--dtype", "int16", "--chunks", "[[1,3],2]", "--dimension-names", "time,lat",
		"--attributes", `{"scale_factor":0.5,"varve:growth":{"policy":"append-one"}}`)
	must(t, "[[1,2],[3,4],[5,6],[7,8]]", "write", at+"/t2m", "--format", "json")
	must(t, "", "create", at+"/g/n", "--shape", "2", "--dtype", "string", "--chunks", "2", "--dimension-names", "lat")
	must(t, `["a","b"]`, "write", at+"/g/n", "--format", "json")
	return dir
}

// TestExportNetCDF exports a group, and shows the file again as Zarr.
func TestExportNetCDF(t *testing.T) {
	dir := era(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, "", "export", at("era.zarr"), "-o", at("era.nc"))
	must(t, "", "virtualize", at("era.nc"), "-o", at("era.vz"))
	for _, name := range []string{"time", "lat", "t2m", "g/n"} {
		must(t, "", "equal", at("era.zarr/"+name), at("era.vz/"+name))
	}
	must(t, "", "export", at("era.zarr"), "--select", "time=2020-01-02..2020-01-03,lat=1", "-o", at("part.nc"), "--deflate", "0")
	must(t, "", "virtualize", at("part.nc"), "-o", at("part.vz"))
	for name, want := range map[string]string{"time": "[1,2]", "lat": "50.0", "t2m": "[4,6]", "g/n": `"b"`} {
		if out := strings.TrimSpace(must(t, "", "export", at("part.vz/"+name), "--format", "json")); out != want {
			t.Errorf("%s: %s, want %s", name, out, want)
		}
	}
	// An array takes its coordinates along.
	out := must(t, "", "export", at("era.zarr/t2m"), "--select", "2:4", "--decode", "-o", at("one.nc"), "--json")
	if !strings.Contains(out, `"arrays": ["lat", "t2m", "time"]`) {
		t.Error(out)
	}
	must(t, "", "virtualize", at("one.nc"), "-o", at("one.vz"))
	for name, want := range map[string]string{"time": "[2,3]", "t2m": "[[2.5,3.0],[3.5,4.0]]"} {
		if out := strings.TrimSpace(must(t, "", "export", at("one.vz/"+name), "--format", "json")); out != want {
			t.Errorf("%s: %s, want %s", name, out, want)
		}
	}
	must(t, "", "export", at("era.zarr/t2m"), "--format", "cdf5", "--unlimited", "none", "-o", at("five.cdf"))
	must(t, "", "virtualize", at("five.cdf"), "-o", at("five.vz"))
	must(t, "", "equal", at("era.zarr/t2m"), at("five.vz/t2m"))
}

// TestExportNetCDFRefused checks that a refused export leaves neither a file nor a
// temporary one, and keeps the file before.
func TestExportNetCDFRefused(t *testing.T) {
	dir := era(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	overwrite(t, at("old.nc"), "old")
	for want, args := range map[string][]string{
		"netcdf3 has no groups":                       {"era.zarr", "--format", "netcdf3"},
		"n: elements of type string become string":    {"era.zarr/g", "--format", "netcdf3"},
		`no array of the group has a dimension "tim"`: {"era.zarr", "--select", "tim=3"},
		"each item has the name of a dimension":       {"era.zarr", "--select", "3"},
		"for a group, give items":                     {"era.zarr", "--select", `{"basic": "3"}`},
		"points and masks":                            {"era.zarr/t2m", "--select", `{"points": [[0], [0]]}`},
		"the file would have more than --limit":       {"era.zarr", "--limit", "1kB"},
		"--deflate is for netcdf4":                    {"era.zarr", "--format", "cdf5", "--deflate", "1"},
		"a level is from 0 to 9":                      {"era.zarr", "--deflate", "10"},
		"--header is for csv":                         {"era.zarr", "--header"},
		"to be unlimited: there are lat, time":        {"era.zarr", "--unlimited", "tim"},
	} {
		args = append([]string{"export", at(args[0]), "-o", at("old.nc")}, args[1:]...)
		if _, text, status := execute(t, "", args...); status == 0 || !strings.Contains(text, want) {
			t.Errorf("%v: status %d, %s, want %q", args, status, text, want)
		}
	}
	for want, args := range map[string][]string{
		"cannot go to standard output": {"era.zarr", "--format", "netcdf4"},
		"--unlimited is for NetCDF":    {"era.zarr/t2m", "--unlimited", "time", "--format", "json"},
		"is a device or a pipe":        {"era.zarr", "--format", "netcdf4", "-o", os.DevNull},
	} {
		if _, text, status := execute(t, "", append([]string{"export", at(args[0])}, args[1:]...)...); status == 0 || !strings.Contains(text, want) {
			t.Errorf("%v: status %d, %s, want %q", args, status, text, want)
		}
	}
	if b, err := os.ReadFile(at("old.nc")); err != nil || string(b) != "old" {
		t.Errorf("the file before has %q: %v", b, err)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 2 {
		t.Errorf("%v are left: %v", list, err)
	}
}

// TestMemoryOfNetCDF exports an array of 1 GiB, which takes little in its store. The
// memory does not depend on the length of the array.
func TestMemoryOfNetCDF(t *testing.T) {
	if racing.Detector {
		t.Skip("measures memory")
	}
	at := filepath.Join(t.TempDir(), "a.zarr")
	must(t, "", "create", at+"/a", "--shape", "512,512,1024", "--dtype", "int32", "--chunks", "8,512,1024")
	must(t, "", "write", at+"/a", "--value", "7")
	withoutGarbage(t)
	const most = 300 // a block, which is 128 MiB, the chunks that it is made of, and garbage
	if got := leastMiB(most, func() { must(t, "", "export", at, "-o", at+".nc", "--deflate", "1") }); got > most {
		t.Errorf("%.0f MiB, want at most %d", got, most)
	}
}
