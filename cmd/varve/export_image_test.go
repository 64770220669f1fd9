// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mapped makes a group with an array on a map, and its coordinates.
func mapped(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	at := filepath.Join(dir, "era.zarr")
	must(t, "", "create", at, "--group")
	for name, values := range map[string]string{"time": "[0,1]", "lat": "[45,50,55]", "lon": "[0,5]"} {
		n := strings.Count(values, ",") + 1
		attributes := `{"units":"degrees"}`
		if name == "time" {
			attributes = `{"units":"days since 2020-01-01"}`
		}
		must(t, "", "create", at+"/"+name, "--shape", string(rune('0'+n)), "--dtype", "float64", "--dimension-names", name, "--attributes", attributes)
		must(t, values, "write", at+"/"+name, "--format", "json")
	}
	must(t, "", "create", at+"/t2m", "--shape", "2,3,2", "--dtype", "int16", "--chunks", "1,3,2", "--dimension-names", "time,lat,lon",
		"--attributes", `{"scale_factor":0.5,"_FillValue":-9}`)
	must(t, "[[[1,2],[3,4],[5,6]],[[7,8],[9,10],[11,-9]]]", "write", at+"/t2m", "--format", "json")
	return dir
}

// TestExportGeoTIFF exports an array and a part of it, and shows the files again as Zarr:
// north is up.
func TestExportGeoTIFF(t *testing.T) {
	dir := mapped(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	out := must(t, "", "export", at("era.zarr/t2m"), "-o", at("a.tif"), "--json")
	if !strings.Contains(out, `"arrays": ["t2m"]`) || !strings.Contains(out, `"format": "cog"`) {
		t.Error(out)
	}
	must(t, "", "virtualize", at("a.tif"), "-o", at("a.vz"))
	must(t, "", "export", at("era.zarr"), "--select", "time=1", "--decode", "-o", at("b.tiff"), "--zstd", "3")
	must(t, "", "virtualize", at("b.tiff"), "-o", at("b.vz"))
	must(t, "", "export", at("era.zarr/t2m"), "--select", "time=0,lat=50..50", "--format", "geotiff", "-o", at("c.tif"), "--crs", "EPSG:4258")
	must(t, "", "virtualize", at("c.tif"), "-o", at("c.vz"))
	for array, want := range map[string]string{
		"a.vz/full": "[[[5,6],[3,4],[1,2]],[[11,-9],[9,10],[7,8]]]",
		"b.vz/full": "[[5.5,NaN],[4.5,5.0],[3.5,4.0]]",
		"c.vz/full": "[[3,4]]",
	} {
		if out := strings.TrimSpace(must(t, "", "export", at(array), "--format", "json")); strings.ReplaceAll(out, `"NaN"`, "NaN") != want {
			t.Errorf("%s: %s, want %s", array, out, want)
		}
	}
	out = must(t, "", "attrs", at("a.vz/full"))
	for _, want := range []string{"GDAL_NODATA", "-9", "-2.5", "57.5", "4326", "2020-01-02T00:00:00"} {
		if !strings.Contains(out, want) {
			t.Errorf("the attributes %s lack %s", out, want)
		}
	}
}

// TestExportGeoTIFFRefused checks that a refused export leaves neither a file nor a
// temporary one, and keeps the file before.
func TestExportGeoTIFFRefused(t *testing.T) {
	dir := mapped(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, "[45,50,56]", "write", at("era.zarr/lat"), "--format", "json")
	overwrite(t, at("old.tif"), "old")
	for want, args := range map[string][]string{
		"the coordinate lat is not even: element 1 is 50": {"era.zarr/t2m"},
		"the file would have more than --limit":           {"era.zarr/t2m", "--crs", "none", "--limit", "100B"},
		"--zstd 23: a level is from 1 to 22":              {"era.zarr/t2m", "--zstd", "23"},
		"--crs is for GeoTIFF":                            {"era.zarr/t2m", "--crs", "none", "--format", "netcdf4"},
		"--unlimited is for NetCDF":                       {"era.zarr/t2m", "--unlimited", "time"},
		"--header is for csv":                             {"era.zarr/t2m", "--header"},
		"no coordinate reference system":                  {"era.zarr/t2m", "--select", "lat=45..50", "--crs", "WGS84"},
		"the selection leaves 1 axis":                     {"era.zarr/t2m", "--select", "0,0"},
	} {
		args = append([]string{"export", at(args[0]), "-o", at("old.tif")}, args[1:]...)
		if _, text, status := execute(t, "", args...); status == 0 || !strings.Contains(text, want) {
			t.Errorf("%v: status %d, %s, want %q", args, status, text, want)
		}
	}
	if _, text, status := execute(t, "", "export", at("era.zarr/t2m"), "--format", "cog"); status == 0 || !strings.Contains(text, "cannot go to standard output") {
		t.Errorf("to standard output: %s", text)
	}
	if b, err := os.ReadFile(at("old.tif")); err != nil || string(b) != "old" {
		t.Errorf("the file before has %q: %v", b, err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
		t.Errorf("%v are left: %v", list, err)
	}
}
