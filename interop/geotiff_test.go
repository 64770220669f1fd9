// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGeoTIFF exports arrays of xarray as GeoTIFF and COG: of all types, packed, with
// bands along any axis, on maps of several projections. rasterio and tifffile read the
// same pixels, and rasterio the place, missing values, scales, units and overviews.
// rio-cogeo takes the files for COG. What has no place in a GeoTIFF is refused, and
// leaves no file.
func TestGeoTIFF(t *testing.T) {
	python := interpreter(t)
	if out, err := exec.Command(python, "-c", "import rasterio, rio_cogeo, tifffile, imagecodecs, pyproj, xarray").CombinedOutput(); err != nil {
		missing := "no rasterio, rio-cogeo, tifffile or imagecodecs; run interop/setup: " + strings.TrimSpace(string(out))
		if os.Getenv("CI") == "true" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	judge := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(python, append([]string{"geotiff.py"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("geotiff.py %.200q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	dir := t.TempDir()
	varve := commandOf(t, dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	for line := range strings.Lines(judge("write", dir)) {
		name, reason, found := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !found {
			continue // a message of a library
		}
		array := at(name + ".zarr/v")
		if reason == "" {
			varve("export", array, "-o", at(name+".cog.tif"), "--zstd", "3")
			varve("export", array, "-o", at(name+".geotiff.tif"), "--format", "geotiff")
			continue
		}
		out, err := exec.Command(at("varve"), "export", array, "-o", at("refused.tif")).CombinedOutput()
		if err == nil || !strings.Contains(string(out), reason) {
			t.Errorf("%s: %v: %s, want a refusal with %q", name, err, out, reason)
		}
	}
	if left, err := filepath.Glob(at("*refused*")); err != nil || len(left) > 0 {
		t.Errorf("a refused export has left %v: %v", left, err)
	}
	if left, err := filepath.Glob(at(".*")); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v: %v", left, err)
	}
	judge("read", dir, "cog")
	judge("read", dir, "geotiff")
}
