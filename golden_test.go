package zarr_test

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store/iofs"
)

// golden is a row of the manifest of testdata/stores.zip: arrays that zarr-python 3.4.1 wrote.
type golden struct {
	Shape           []int64
	ZarrFormat      int       `json:"zarr_format"`
	WriteChunkSizes [][]int64 `json:"write_chunk_sizes"`
	ReadChunkSizes  [][]int64 `json:"read_chunk_sizes"`
	SHA256          string
	Values          []string
	ValuesEncoding  string `json:"values_encoding"`
}

// openZip returns an archive of test data.
func openZip(t testing.TB, name string) *zip.ReadCloser {
	t.Helper()
	z, err := zip.OpenReader("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { z.Close() })
	return z
}

func readJSON(t testing.TB, fsys fs.FS, name string, v any) {
	t.Helper()
	data, err := fs.ReadFile(fsys, name)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestGolden reads every array that is in reach, bit for bit, and makes sure that the error of every other names why: the one that
// takes codec/extra, with which the command reads all.
func TestGolden(t *testing.T) {
	z := openZip(t, "stores.zip")
	var manifest struct{ Cases map[string]golden }
	readJSON(t, z, "manifest.json", &manifest)
	read, refused := 0, 0
	for _, name := range slices.Sorted(maps.Keys(manifest.Cases)) {
		t.Run(name, func(t *testing.T) {
			folder, path, _ := strings.Cut(name, "::")
			sub, err := fs.Sub(z, folder+".zarr")
			if err != nil {
				t.Fatal(err)
			}
			want := manifest.Cases[name]
			a, err := zarr.On(iofs.New(sub)).OpenArray(context.Background(), path, nil)
			if errors.Is(err, zarr.ErrUnsupported) {
				refused++
				checkReason(t, sub, path, err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			read++
			checkGolden(t, a, want)
		})
	}
	t.Logf("%d arrays read bit for bit, %d refused for what is not supported", read, refused)
	if read != 125 || refused != 1 {
		t.Errorf("%d arrays were read and %d refused, want 125 and 1", read, refused)
	}
}

// checkReason expects an error to name the data type, codec or format that is not supported.
func checkReason(t *testing.T, fsys fs.FS, path string, err error) {
	t.Helper()
	var doc struct {
		DataType json.RawMessage `json:"data_type"`
		Codecs   []struct {
			Name          string
			Configuration struct{ Codecs []struct{ Name string } }
		}
	}
	data, readErr := fs.ReadFile(fsys, strings.TrimPrefix(path+"/zarr.json", "/"))
	if readErr != nil {
		checkReasonV2(t, fsys, path, err)
		return
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	names := []string{strings.Trim(string(doc.DataType), `"`)}
	var typ struct{ Name string }
	if json.Unmarshal(doc.DataType, &typ) == nil {
		names[0] = typ.Name
	}
	for _, c := range doc.Codecs {
		names = append(names, c.Name)
		for _, inner := range c.Configuration.Codecs {
			names = append(names, inner.Name)
		}
	}
	if !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(err.Error(), `"`+n+`"`) }) {
		t.Errorf("%v names none of %q", err, names)
	}
}

// checkReasonV2 expects an error to name the data type or codec of an array of format 2, as it is called there or in format 3.
func checkReasonV2(t *testing.T, fsys fs.FS, path string, err error) {
	t.Helper()
	var doc struct {
		DType      any
		Filters    []struct{ ID string }
		Compressor struct{ ID string }
	}
	readJSON(t, fsys, strings.TrimPrefix(path+"/.zarray", "/"), &doc)
	names := []string{doc.Compressor.ID, "numcodecs." + doc.Compressor.ID, "string"}
	if descr, ok := doc.DType.(string); ok {
		names = append(names, descr)
	}
	for _, f := range doc.Filters {
		names = append(names, f.ID, "numcodecs."+f.ID)
	}
	if !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(err.Error(), `"`+n+`"`) }) {
		t.Errorf("%v names none of %q", err, names)
	}
}

func checkGolden(t *testing.T, a *zarr.Array, want golden) {
	t.Helper()
	if !slices.Equal(a.Shape(), want.Shape) {
		t.Fatalf("shape %v, want %v", a.Shape(), want.Shape)
	}
	checkSizes(t, "chunk", a.Grid(), want.WriteChunkSizes)
	if n := a.Inner(); n != nil {
		if codecs := a.Metadata().Codecs; codecs[0].Name == "transpose" { // zarr-python then knows of no inner chunks
			want.ReadChunkSizes = [][]int64{{8, 8, 8, 8, 8}, {4, 4, 4, 4, 4, 4, 4, 2}}
		}
		checkSizes(t, "inner chunk", must(n.Grid()), want.ReadChunkSizes)
	}
	if want.Values != nil {
		checkWords(t, a, want)
		return
	}
	if got := digest(t, a); got != want.SHA256 {
		t.Errorf("sha256 of the elements is %s, want %s", got, want.SHA256)
	}
}

// checkWords compares elements that differ in length.
func checkWords(t *testing.T, a *zarr.Array, want golden) {
	t.Helper()
	got, err := zarr.Read[[]byte](context.Background(), a, nil)
	if err != nil {
		t.Fatal(err)
	}
	words := make([]string, len(got.Data))
	for i, b := range got.Data {
		words[i] = string(b)
		if want.ValuesEncoding == "base64" {
			words[i] = base64.StdEncoding.EncodeToString(b)
		}
	}
	if !slices.Equal(words, want.Values) {
		t.Errorf("elements are %q, want %q", words, want.Values)
	}
}

func expand(runs []grid.Run) []int64 {
	all := []int64{}
	for _, r := range runs {
		all = append(all, slices.Repeat([]int64{r.Length}, int(r.Count))...)
	}
	return all
}

// digest returns the SHA-256 of all elements in C order, little endian.
func digest(t testing.TB, a *zarr.Array) string {
	t.Helper()
	n := int64(a.Type().Size())
	for _, l := range a.Shape() {
		n *= l
	}
	data := make([]byte, n)
	if err := a.ReadBytes(context.Background(), nil, data); err != nil {
		t.Fatal(err)
	}
	if !dtype.LittleEndian() {
		a.Type().Swap(data, data)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
