// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/virtual"
)

// libraryFile is a file that another library has written, with what it reads from it.
type libraryFile struct {
	File   string
	Arrays map[string]libraryArray
}

// libraryArray is an array by its name in Varve.
type libraryArray struct {
	Shape    []int64
	Type     string // such as "f4"
	Elements string // the file that has them, least significant byte first
}

// libraries returns the Python that has GDAL, ecCodes and cfgrib. Without one it skips
// the test, unless all peers have to be there.
func libraries(t *testing.T) string {
	t.Helper()
	path := filepath.Join(cache(), "peers/formats/bin/python")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		missing := "no Python with rasterio, eccodes and cfgrib, so no file of GDAL and ecCodes is read; run interop/peers/setup formats"
		if os.Getenv("VARVE_PEERS") == "all" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	return path
}

// libraryFiles runs formats.py, which writes files into a folder.
func libraryFiles(t *testing.T, kind, dir string) (files []libraryFile) {
	t.Helper()
	c := exec.Command(libraries(t), "formats.py", kind, dir)
	c.Stderr = os.Stderr
	out, err := c.Output()
	check(t, err)
	check(t, json.Unmarshal(out, &files))
	if len(files) == 0 {
		t.Fatal("no files")
	}
	return files
}

// TestGDAL reads TIFF files that GDAL has written through a manifest: with every codec
// and predictor, in strips and tiles, in both byte orders, as BigTIFF and COG, with
// overviews and without some tiles. The elements are those that GDAL reads.
func TestGDAL(t *testing.T) { readLibraryFiles(t, "tiff") }

// TestECCodes reads GRIB2 files that ecCodes and cfgrib have written through a manifest:
// in every packing, with bitmaps, levels, steps and members. The elements are those that
// cfgrib reads, which has them as float32.
func TestECCodes(t *testing.T) { readLibraryFiles(t, "grib") }

func readLibraryFiles(t *testing.T, kind string) {
	dir := t.TempDir()
	files, arrays := libraryFiles(t, kind, dir), 0
	for _, f := range files {
		at := filepath.Join(dir, f.File+virtual.Suffix)
		m := collected(t, at, "", []string{filepath.Join(dir, f.File)})
		check(t, m.Create(t.Context(), openFolder(t, dir), storePath(t, filepath.Base(at))))
		for name, want := range f.Arrays {
			if m.Array(name) == nil {
				t.Errorf("%s: there is no %s, but %v", f.File, name, pathsOf(m))
				continue
			}
			compareWithLibrary(t, dir, at, name, want)
			arrays++
		}
	}
	t.Logf("%d arrays of %d files", arrays, len(files))
}

// pathsOf returns the paths of the arrays of a manifest.
func pathsOf(m *virtual.Manifest) (paths []string) {
	for _, a := range m.Arrays {
		paths = append(paths, a.Path)
	}
	return paths
}

// compareWithLibrary compares the elements of an array.
func compareWithLibrary(t *testing.T, dir, at, name string, want libraryArray) {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), filepath.Join(at, name), nil)
	check(t, err)
	defer a.Close()
	if !slices.Equal(a.Shape(), want.Shape) {
		t.Errorf("%s: %s has the shape %v, want %v", at, name, a.Shape(), want.Shape)
		return
	}
	data, err := os.ReadFile(filepath.Join(dir, want.Elements))
	check(t, err)
	switch want.Type {
	case "u1":
		equalElements[uint8](t, a, data)
	case "i2":
		equalElements[int16](t, a, data)
	case "u2":
		equalElements[uint16](t, a, data)
	case "i4":
		equalElements[int32](t, a, data)
	case "u4":
		equalElements[uint32](t, a, data)
	case "f4":
		equalElements[float32](t, a, data)
	case "f8":
		equalElements[float64](t, a, data)
	default:
		t.Fatal(want.Type)
	}
}

// equalElements compares the elements of an array with those in data. NaN is equal to any
// other NaN.
func equalElements[T interface {
	uint8 | int16 | uint16 | int32 | uint32 | float32 | float64
}](t *testing.T, a *zarr.Array, data []byte) {
	t.Helper()
	want := make([]T, len(data)/binary.Size(T(0)))
	if _, err := binary.Decode(data, binary.LittleEndian, want); err != nil {
		t.Fatal(err)
	}
	got := make([]T, len(want))
	if a.Type().String() == "float64" { // GRIB2; the other library has rounded them
		b, err := zarr.Read[float64](t.Context(), a, nil)
		check(t, err)
		for i, x := range b.Data {
			got[i] = T(x)
		}
	} else {
		b, err := zarr.Read[T](t.Context(), a, nil)
		check(t, err)
		got = b.Data
	}
	for i := range want {
		if got[i] != want[i] && !(math.IsNaN(float64(got[i])) && math.IsNaN(float64(want[i]))) {
			t.Errorf("%s: element %d is %v, want %v", a.Path(), i, got[i], want[i])
			return
		}
	}
}
