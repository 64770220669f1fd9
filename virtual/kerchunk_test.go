// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/kerchunk"
	"varve.dev/zarr/virtual"
)

// documented are references of other programs, with what reading them has to give.
type documented struct {
	Of     []string
	Arrays map[string]struct {
		Shape  []int64
		SHA256 string
	}
	Refused *struct{ Array string }
}

func referenceFiles(t *testing.T) map[string]documented {
	t.Helper()
	text, err := os.ReadFile("testdata/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ References map[string]documented }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all.References
}

// sum reads an array, and returns its shape and the hash of its elements.
func sum(t *testing.T, location string) ([]int64, string, error) {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), location, nil)
	if err != nil {
		return nil, "", err
	}
	defer a.Close()
	hash, err := hashOf(t, a)
	return a.Shape(), hash, err
}

// hashOf returns the hash of the elements of an array.
func hashOf(t *testing.T, a *zarr.Array) (string, error) {
	t.Helper()
	n := int64(a.Type().Size())
	for _, x := range a.Shape() {
		n *= x
	}
	values := make([]byte, n)
	if err := a.ReadBytes(t.Context(), nil, values); err != nil {
		return "", err
	}
	if !byteorder.Little() {
		a.Type().Swap(values, values)
	}
	h := sha256.Sum256(values)
	return hex.EncodeToString(h[:]), nil
}

// TestKerchunk reads references that kerchunk and VirtualiZarr have written, and those
// that must not be followed.
func TestKerchunk(t *testing.T) {
	read := 0
	for name, want := range referenceFiles(t) {
		if !strings.HasSuffix(name, kerchunk.Suffix) {
			continue
		}
		for path, a := range want.Arrays {
			shape, hash, err := sum(t, filepath.Join("testdata", name, path))
			if err != nil || !slices.Equal(shape, a.Shape) || a.SHA256 != "" && hash != a.SHA256 {
				t.Errorf("%s: %s has the shape %v and other values: %v", name, path, shape, err)
			}
			read++
		}
		if r := want.Refused; r != nil {
			if _, _, err := sum(t, filepath.Join("testdata", name, r.Array)); err == nil {
				t.Errorf("%s: %s was read", name, r.Array)
			}
		}
	}
	if read < 100 {
		t.Errorf("only %d arrays were read", read)
	}
}

// TestKerchunkWholeFile has a reference to a whole file that is not there: that is an
// error, and no missing chunk.
func TestKerchunkWholeFile(t *testing.T) {
	dir := t.TempDir()
	text := `{"a/.zarray":{"zarr_format":2,"shape":[2],"chunks":[1],"dtype":"|u1","compressor":null,"filters":null,"order":"C","fill_value":9},"a/0":["none"]}`
	if err := os.WriteFile(filepath.Join(dir, "r.json"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := sum(t, filepath.Join(dir, "r.json/a")); !errors.Is(err, zarr.ErrSourceChanged) {
		t.Errorf("%v", err)
	}
}

// TestWriteKerchunk joins files, and writes the references for other programs.
func TestWriteKerchunk(t *testing.T) {
	for _, d := range datasets(t) {
		if d.Name != "runs_of_ten" && d.Name != "last_padded" && d.Name != "yearly_contiguous" {
			continue
		}
		dir := copied(t, d.Files...)
		out := filepath.Join(dir, "refs"+kerchunk.Suffix)
		j, err := virtual.NewJoined(d.how())
		if err != nil {
			t.Fatal(err)
		}
		c, err := virtual.NewCollector(out)
		if err != nil {
			t.Fatal(err)
		}
		var files []string
		for _, f := range d.Files {
			files = append(files, filepath.Join(dir, f))
		}
		if err := c.Collect(t.Context(), j, files); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		m, err := j.Finish()
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		err = m.WriteKerchunk(t.Context(), &text)
		if d.Name == "yearly_contiguous" {
			if !errors.Is(err, zarr.ErrUnsupported) || !strings.Contains(err.Error(), "t has chunks of unequal length") {
				t.Errorf("%s: %v", d.Name, err)
			}
			continue
		}
		if err == nil {
			err = os.WriteFile(out, text.Bytes(), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		if shape, hash, err := sum(t, filepath.Join(out, d.Variable)); err != nil || hash != d.SHA256 || !slices.Equal(shape, d.Shape) {
			t.Errorf("%s: the shape %v and other values (%v)", d.Name, shape, err)
		}
	}
}

// TestWriteKerchunkFile writes the references of files with an array of rank 0, and with
// missing chunks, whose fill value is not zero.
func TestWriteKerchunkFile(t *testing.T) {
	for _, c := range []struct{ file, like, array string }{
		{"nc4_basic.nc", "nc4_basic.v1.json", "scalar"}, {"h5_holes.h5", "h5_holes.v1.json", "holes"},
	} {
		dir := copied(t, c.file)
		out := filepath.Join(dir, "refs"+kerchunk.Suffix)
		m := alone(t, out, filepath.Join(dir, c.file))
		var text bytes.Buffer
		if err := m.WriteKerchunk(t.Context(), &text); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(out, text.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		want := referenceFiles(t)[c.like].Arrays
		for path, a := range want {
			if shape, hash, err := sum(t, filepath.Join(out, path)); err != nil || hash != a.SHA256 || !slices.Equal(shape, a.Shape) {
				t.Errorf("%s: %s: the shape %v and other values (%v)", c.file, path, shape, err)
			}
		}
		if _, ok := want[c.array]; !ok {
			t.Errorf("%s is not among the arrays", c.array)
		}
	}
}

// alone returns the manifest of one file for a location.
func alone(t *testing.T, at, file string) *virtual.Manifest {
	t.Helper()
	j, err := virtual.NewJoined(virtual.Join{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := virtual.NewCollector(at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Collect(t.Context(), j, []string{file}); err != nil {
		t.Fatal(err)
	}
	m, err := j.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestWriteKerchunkSparse has an array with missing chunks whose fill value is not the
// one that marks missing values: format 2 has only one of them.
func TestWriteKerchunkSparse(t *testing.T) {
	dir := t.TempDir()
	document := `{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"int16","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
		"chunk_key_encoding":{"name":"default"},"fill_value":7,"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"attributes":{"_FillValue":-1},"dimension_names":["x"]}`
	for name, text := range map[string]string{"g.zarr/zarr.json": `{"zarr_format":3,"node_type":"group"}`, "g.zarr/a/zarr.json": document, "g.zarr/a/c/0": "abcd"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	m := alone(t, filepath.Join(dir, "r.json"), filepath.Join(dir, "g.zarr"))
	if _, err := m.Kerchunk(t.Context()); !errors.Is(err, zarr.ErrUnsupported) || !strings.Contains(err.Error(), "whose elements are 7") {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "g.zarr/a/c/1"), []byte("efgh"), 0o666); err != nil {
		t.Fatal(err)
	}
	m = alone(t, filepath.Join(dir, "r.json"), filepath.Join(dir, "g.zarr"))
	r, err := m.Kerchunk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if x, ok := r.Find("a/1"); !ok || x.URL != filepath.ToSlash(filepath.Join(dir, "g.zarr/a/c/1")) {
		t.Errorf("%v, where an absolute path is needed", x)
	}
}

// TestWriteKerchunkMissing has chunks that are not stored, and no attribute that names
// their fill value. The references name it all the same.
func TestWriteKerchunkMissing(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"g.zarr/zarr.json": `{"zarr_format":3,"node_type":"group"}`,
		"g.zarr/a/zarr.json": `{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"float32","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
			"chunk_key_encoding":{"name":"default"},"fill_value":7,"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"dimension_names":["x"]}`,
		"g.zarr/a/c/0": "abcdefgh",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, err := alone(t, filepath.Join(dir, "r.json"), filepath.Join(dir, "g.zarr")).Kerchunk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if array, _ := r.Find("a/.zarray"); !strings.Contains(string(array.Data), `"fill_value": 7.0`) {
		t.Errorf("%s", array.Data)
	}
}

// TestWriteKerchunkScalar has a grid mapping whose element is not stored. References have
// it, so that it is no missing value.
func TestWriteKerchunkScalar(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"g.zarr/zarr.json": `{"zarr_format":3,"node_type":"group"}`,
		"g.zarr/crs/zarr.json": `{"zarr_format":3,"node_type":"array","shape":[],"data_type":"int16","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[]}},
			"chunk_key_encoding":{"name":"default"},"fill_value":-32767,"codecs":[{"name":"bytes","configuration":{"endian":"big"}}],"attributes":{"grid_mapping_name":"mercator"}}`,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	at := filepath.Join(dir, "r.json")
	m := alone(t, at, filepath.Join(dir, "g.zarr"))
	r, err := m.Kerchunk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if x, ok := r.Find("crs/0"); !ok || string(x.Data) != "\x01\x80" {
		t.Errorf("the chunk is %q", x.Data)
	}
	if x, _ := r.Find("crs/.zattrs"); strings.Contains(string(x.Data), "_FillValue") {
		t.Errorf("attributes %s", x.Data)
	}
	if codec := m.Array("crs").Document.Codecs[0]; !strings.Contains(string(codec.Configuration), "big") {
		t.Errorf("the manifest has changed: its codec is %s", codec.Configuration)
	}
}

// TestWriteKerchunkOfMessages has a codec that format 2 cannot name. The error says what
// can have its chunks, and nothing of a conversion that nobody has asked for.
func TestWriteKerchunkOfMessages(t *testing.T) {
	dir := copied(t, "grib_simple.grib2")
	m := alone(t, filepath.Join(dir, "r.json"), filepath.Join(dir, "grib_simple.grib2"))
	_, err := m.Kerchunk(t.Context())
	if !errors.Is(err, zarr.ErrUnsupported) || !strings.HasPrefix(err.Error(), "t_isobaric cannot be in references") ||
		!strings.Contains(err.Error(), `"varve.grib2"; write a manifest (.vz)`) || strings.Contains(err.Error(), "convert") {
		t.Error(err)
	}
}

// TestKerchunkOfImages writes references to images with predictors, which need the shape
// and the byte order of chunks, and reads them.
func TestKerchunkOfImages(t *testing.T) {
	const lzw = `{"id":"imagecodecs_lzw"}`
	for name, want := range map[string][2]string{
		"cog_lzw.tif":             {`[{"id":"imagecodecs_delta","axis":-1,"dist":1,"shape":[32,32],"dtype":"<i2"}]`, lzw},
		"geotiff_lzw_floats.tif":  {`[{"id":"imagecodecs_delta","axis":-1,"dist":1,"shape":[8,21],"dtype":">f4"}]`, lzw},
		"geotiff_lzw_bands.tif":   {`[{"id":"imagecodecs_floatpred","shape":[1,16,16],"dtype":"<f8","axis":-1,"dist":1}]`, lzw},
		"geotiff_zstd_pixels.tif": {`[{"id":"imagecodecs_delta","axis":-2,"dist":1,"shape":[16,16,3],"dtype":"<u2"}]`, `{"id":"zstd","level":0}`},
	} {
		dir := copied(t, name)
		out := filepath.Join(dir, "refs"+kerchunk.Suffix)
		j, err := virtual.NewJoined(virtual.Join{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := virtual.NewCollector(out)
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
		var text bytes.Buffer
		if err := m.WriteKerchunk(t.Context(), &text); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r, err := kerchunk.Parse(text.Bytes(), kerchunk.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var document struct{ Filters, Compressor json.RawMessage }
		x, _ := r.Find("full/.zarray")
		var plain bytes.Buffer
		if err := json.Compact(&plain, x.Data); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(plain.Bytes(), &document); err != nil {
			t.Fatal(err)
		}
		if got := [2]string{string(document.Filters), string(document.Compressor)}; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if err := os.WriteFile(out, text.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		of := referenceFiles(t)[strings.Replace(name, ".tif", ".v1.json", 1)].Arrays["full"]
		if shape, hash, err := sum(t, filepath.Join(out, "full")); err != nil || hash != of.SHA256 || !slices.Equal(shape, of.Shape) {
			t.Errorf("%s: the shape %v and other values (%v)", name, shape, err)
		}
	}
}
