// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/regrid"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/virtual"
)

// TestImagesRecut gives images with predictors other chunks, in a new array. A predictor
// whose configuration has the shape of chunks would not fit them.
func TestImagesRecut(t *testing.T) {
	for _, name := range []string{"cog_lzw.tif", "geotiff_lzw_bands.tif", "geotiff_deflate_floats.tif", "geotiff_zstd_pixels.tif"} {
		dir := copied(t, name)
		at := filepath.Join(dir, "all"+virtual.Suffix)
		j, err := virtual.NewJoined(virtual.Join{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := virtual.NewCollector(at)
		if err != nil {
			t.Fatal(err)
		}
		err = c.Collect(t.Context(), j, []string{filepath.Join(dir, name)})
		if err := errors.Join(err, c.Close()); err != nil {
			t.Fatal(err)
		}
		m, err := j.Finish()
		if err != nil {
			t.Fatal(err)
		}
		s, err := filestore.Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		path, err := store.ParsePath("all" + virtual.Suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Create(t.Context(), s, path); err != nil {
			t.Fatal(err)
		}
		for _, references := range []string{at, filepath.Join("testdata", strings.Replace(name, ".tif", ".v1.json", 1))} {
			if name == "geotiff_deflate_floats.tif" && references != at {
				continue // its last strip is short
			}
			recut(t, filepath.Join(references, "full"))
		}
	}
}

// recut gives an array chunks of seven elements along every axis, in shards and without.
func recut(t *testing.T, location string) {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), location, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	_, want, err := sum(t, location)
	if err != nil {
		t.Fatal(err)
	}
	sevens, outer := regrid.Cuts{}, regrid.Cuts{}
	for range a.Shape() {
		sevens, outer = append(sevens, grid.Every(7)), append(outer, grid.Every(21))
	}
	for _, r := range []regrid.Rechunking{{Chunks: sevens}, {Chunks: outer, Inner: sevens}} {
		if r.Inner != nil && a.Format() == 2 {
			continue
		}
		into := zarr.At(memstore.New(), "a")
		if _, err := regrid.Do(t.Context(), a, r, &regrid.Options{Into: into}); err != nil {
			t.Errorf("%s: %v", location, err)
			continue
		}
		b, err := into.OpenArray(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := hashOf(t, b); err != nil || got != want || !slices.Equal(b.Shape(), a.Shape()) {
			t.Errorf("%s: other elements in chunks of 7: %v", location, err)
		}
	}
}
