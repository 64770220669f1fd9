// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/virtual"
)

// TestImagesRecut gives images with predictors other chunks, in a new array. A predictor
// whose configuration has the shape of chunks would not fit them.
func TestImagesRecut(t *testing.T) {
	for _, name := range []string{"cog_lzw.tif", "geotiff_lzw_bands.tif", "geotiff_deflate_floats.tif", "geotiff_zstd_pixels.tif"} {
		at := joinedImages(t, virtual.Join{}, name)
		for _, references := range []string{at, filepath.Join("testdata", strings.Replace(name, ".tif", ".v1.json", 1))} {
			if name == "geotiff_deflate_floats.tif" && references != at {
				continue // its last strip is short
			}
			recut(t, filepath.Join(references, "full"))
		}
	}
}

// joinedImages copies files to a folder, the same one several times if it is named so,
// and returns the location of their manifest.
func joinedImages(t *testing.T, how virtual.Join, names ...string) (at string) {
	t.Helper()
	dir := copied(t, names...)
	at = filepath.Join(dir, "all"+virtual.Suffix)
	var files []string
	for i, name := range names {
		files = append(files, filepath.Join(dir, fmt.Sprint(i)+name))
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(files[i], data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	j, err := virtual.NewJoined(how)
	if err != nil {
		t.Fatal(err)
	}
	c, err := virtual.NewCollector(at)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Collect(t.Context(), j, files)
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
	return at
}

// TestImagesJoined joins images with predictors, whose last strips are short, one below
// the other, and stacks those of tiles.
func TestImagesJoined(t *testing.T) {
	for _, tt := range []struct {
		name string
		how  virtual.Join
	}{
		{"geotiff_deflate_floats.tif", virtual.Join{Concat: "y"}},
		{"geotiff_lzw_floats.tif", virtual.Join{Concat: "y"}},
		{"geotiff_lzw_bands.tif", virtual.Join{Stack: "time"}},
		{"geotiff_zstd_pixels.tif", virtual.Join{Stack: "time"}},
	} {
		one := elementsOf(t, filepath.Join(joinedImages(t, virtual.Join{}, tt.name), "full"))
		two := elementsOf(t, filepath.Join(joinedImages(t, tt.how, tt.name, tt.name), "full"))
		if !bytes.Equal(two, slices.Concat(one, one)) {
			t.Errorf("%s: %d bytes are not twice %d", tt.name, len(two), len(one))
		}
	}
}

// TestVirtualTIFF reads references with documents of format 3, which virtual-tiff has
// written with codecs of its own. Samples are the first axis there.
func TestVirtualTIFF(t *testing.T) {
	if got, want := elementsOf(t, "testdata/cog_lzw.virtualtiff.json/0"), elementsOf(t, "testdata/cog_lzw.v1.json/full"); !bytes.Equal(got, want) {
		t.Error("other elements of one sample")
	}
	const samples, size = 3, 2
	pixels := elementsOf(t, "testdata/geotiff_zstd_pixels.v1.json/full")
	var want []byte
	for sample := range samples {
		for at := sample * size; at < len(pixels); at += samples * size {
			want = append(want, pixels[at:at+size]...)
		}
	}
	if got := elementsOf(t, "testdata/geotiff_zstd_pixels.virtualtiff.json/0"); !bytes.Equal(got, want) {
		t.Error("other elements of three samples")
	}
}

// elementsOf returns the bytes of an array.
func elementsOf(t *testing.T, location string) []byte {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), location, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	n := a.Type().Size()
	for _, x := range a.Shape() {
		n *= int(x)
	}
	b := make([]byte, n)
	if err := a.ReadBytes(t.Context(), nil, b); err != nil {
		t.Fatal(err)
	}
	return b
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
	sevens, outer := rechunk.Cuts{}, rechunk.Cuts{}
	for range a.Shape() {
		sevens, outer = append(sevens, grid.Every(7)), append(outer, grid.Every(21))
	}
	for _, r := range []rechunk.Rechunking{{Chunks: sevens}, {Chunks: outer, Inner: sevens}} {
		if r.Inner != nil && a.Format() == 2 {
			continue
		}
		into := zarr.At(memstore.New(), "a")
		if _, err := rechunk.Do(t.Context(), a, r, &rechunk.Options{Into: into}); err != nil {
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
