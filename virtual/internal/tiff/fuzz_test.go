// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"path/filepath"
	"testing"

	"varve.dev/zarr/internal/test/scanned"
)

func FuzzScan(f *testing.F) {
	names, err := filepath.Glob(filepath.Join(testdata, "*.tif"))
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		f.Add(fixture(f, filepath.Base(name)))
	}
	for _, name := range []string{"imagej_hyper.tif", "imagej_rgb.tif", "shaped.tif"} {
		f.Add(fixture(f, "objects/"+name))
	}
	for _, b := range hostile() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) { scanned.Sound(t, data, Scan) })
}
