// SPDX-License-Identifier: Apache-2.0

package parquet_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/kerchunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
	"varve.dev/zarr/virtual/parquet"
	"varve.dev/zarr/virtual/scan"
)

const (
	groupDocument = `".zgroup":{"zarr_format":2},".zattrs":{"missing":NaN},`
	document      = `{"zarr_format":2,"shape":[25],"chunks":[1],"dtype":"|u1","compressor":null,"filters":null,"order":"C","fill_value":9}`
)

// put stores a file below a folder.
func put(t testing.TB, dir, name string, data []byte) {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// refs returns a file of records.
func refs(t testing.TB, rows int, list map[int]kerchunk.Reference) []byte {
	t.Helper()
	r := kerchunk.NewRecords(rows)
	for i, x := range list {
		if err := r.Set(i, x); err != nil {
			t.Fatal(err)
		}
	}
	file, err := parquet.Format{}.Append(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// folder returns the location of a folder with the array a of 25 chunks of one byte, of
// which some are missing: all from 10 to 19, because they have no file.
func folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, "bytes", []byte{0, 1, 2, 3, 4, 5})
	put(t, dir, "one", []byte{42})
	put(t, dir, "r.parq/.zmetadata", []byte(`{"metadata":{`+groupDocument+`"a/.zarray":`+document+`},"record_size":10}`))
	put(t, dir, "r.parq/a/refs.0.parq", refs(t, 10, map[int]kerchunk.Reference{
		0: {URL: "bytes", Offset: 3, Length: 1}, 1: {URL: "one", Length: kerchunk.Whole}, 2: {Data: []byte{77}}, 9: {URL: "file://" + filepath.ToSlash(dir) + "/bytes", Offset: 5, Length: 1},
	}))
	put(t, dir, "r.parq/a/refs.2.parq", refs(t, 10, map[int]kerchunk.Reference{4: {Data: []byte{78}}}))
	return filepath.Join(dir, "r.parq")
}

// elementsOf reads an array of bytes.
func elementsOf(t testing.TB, location string) ([]uint8, error) {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), location, nil)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	b, err := zarr.Read[uint8](t.Context(), a, nil)
	return b.Data, err
}

// TestMissing reads chunks that are null, that have no file, and that are given.
func TestMissing(t *testing.T) {
	at := folder(t)
	want := slices.Repeat([]uint8{9}, 25)
	want[0], want[1], want[2], want[9], want[24] = 3, 42, 77, 5, 78
	got, err := elementsOf(t, at+"/a")
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v (%v), want %v", got, err, want)
	}
	s, path, err := store.OpenLocation(t.Context(), at, store.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for e, err := range store.List(t.Context(), s, path, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, e.Name)
	}
	if want := []string{".zattrs", ".zgroup", "a/.zarray", "a/0", "a/1", "a/2", "a/9", "a/24"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	g, err := zarr.OpenGroup(t.Context(), at, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(g.Attributes()); !strings.Contains(text, "missing") {
		t.Error(text)
	}
	if _, err := zarr.OpenArray(t.Context(), at+"/b", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestDamagedFolders has files that must be errors, and never missing chunks.
func TestDamagedFolders(t *testing.T) {
	sound := refs(t, 10, nil)
	for name, c := range map[string]struct {
		file []byte
		want error
		text string
	}{
		"cut":               {sound[:len(sound)-9], scan.ErrCorrupt, "copy it again"},
		"no parquet":        {[]byte("not found"), scan.ErrCorrupt, "a/refs.0.parq"},
		"empty":             {[]byte{}, scan.ErrCorrupt, "a/refs.0.parq"},
		"too few rows":      {refs(t, 5, nil), scan.ErrCorrupt, "is needed; copy it again"},
		"too many rows":     {refs(t, 11, nil), scan.ErrCorrupt, "at most 10"},
		"a chunk too short": {refs(t, 10, map[int]kerchunk.Reference{5: {}}), nil, "chunk"},
		"a range too far":   {refs(t, 10, map[int]kerchunk.Reference{5: {URL: "bytes", Offset: 6, Length: 1}}), nil, "bytes"},
		"no such source":    {refs(t, 10, map[int]kerchunk.Reference{5: {URL: "none", Length: kerchunk.Whole}}), zarr.ErrSourceChanged, "none"},
	} {
		at := folder(t)
		put(t, at, "a/refs.0.parq", c.file)
		data, err := elementsOf(t, at+"/a")
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v (%v), want %v, %s", name, data, err, c.want, c.text)
		}
	}
}

// TestDocuments has documents of folders that are refused, and what the error says.
func TestDocuments(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"two dots":          {`{"metadata":{"../b/.zarray":` + document + `},"record_size":10}`, ".."},
		"an absolute key":   {`{"metadata":{"/b/.zarray":` + document + `},"record_size":10}`, "/b"},
		"an empty segment":  {`{"metadata":{"a//.zarray":` + document + `},"record_size":10}`, "a//"},
		"a key twice":       {`{"metadata":{"a/.zarray":{},"a/.zarray":{}},"record_size":10}`, "a~1.zarray"},
		"format 3":          {`{"metadata":{"a/zarr.json":{}},"record_size":10}`, "format 3"},
		"no records":        {`{"metadata":{},"record_size":0}`, "record_size is 0"},
		"negative records":  {`{"metadata":{},"record_size":-1}`, "record_size is -1"},
		"half a record":     {`{"metadata":{},"record_size":1.5}`, "record_size is 1.5"},
		"too many records":  {`{"metadata":{},"record_size":1000000000}`, "at most"},
		"text":              {`{"metadata":{},"record_size":"10"}`, "record_size"},
		"no metadata":       {`{"record_size":10}`, "metadata"},
		"a list":            {`{"metadata":[],"record_size":10}`, "metadata is"},
		"a document of one": {`{"metadata":{"a/.zarray":1},"record_size":10}`, "object is needed"},
		"no JSON":           {`{"metadata":`, "damaged"},
		"empty":             {``, "damaged"},
	} {
		dir := t.TempDir()
		put(t, dir, "r.parq/.zmetadata", []byte(c.text))
		_, err := zarr.Open(t.Context(), filepath.Join(dir, "r.parq"), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "r.parq/.zmetadata") {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestAbsent has an array of four million chunks and one file of references. To put it
// together with others takes memory for each chunk, which a file must have earned: by its
// records, and by their bytes.
func TestAbsent(t *testing.T) {
	const rows = 1 << 16
	for name, c := range map[string]struct {
		reference func(i int) kerchunk.Reference
		want      error
	}{
		"null":  {nil, virtual.ErrLimit},
		"equal": {func(int) kerchunk.Reference { return kerchunk.Reference{URL: "bytes", Length: 1} }, virtual.ErrLimit},
		"different": {func(i int) kerchunk.Reference {
			return kerchunk.Reference{URL: "bytes", Offset: int64(i) * 999, Length: 1}
		}, nil},
	} {
		list := map[int]kerchunk.Reference{}
		for i := 0; c.reference != nil && i < rows; i++ {
			list[i] = c.reference(i)
		}
		dir := t.TempDir()
		put(t, dir, "r.parq/.zmetadata", fmt.Appendf(nil, `{"metadata":{%s"a/.zarray":%s},"record_size":%d}`, groupDocument, strings.Replace(document, "[25]", "[4000000]", 1), rows))
		put(t, dir, "r.parq/a/refs.0.parq", refs(t, rows, list))
		j, err := virtual.NewJoined(virtual.Join{})
		if err != nil {
			t.Fatal(err)
		}
		collector, err := virtual.NewCollector(filepath.Join(dir, "x.vz"))
		if err != nil {
			t.Fatal(err)
		}
		defer collector.Close()
		if err := collector.Collect(t.Context(), j, []string{filepath.Join(dir, "r.parq")}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestOneArray has documents of arrays that cannot be read beside one that can.
func TestOneArray(t *testing.T) {
	at := folder(t)
	put(t, at, ".zmetadata", []byte(`{"metadata":{".zgroup":{"zarr_format":2},"a/.zarray":`+document+`,"b/.zarray":{"zarr_format":2},
		"c/.zarray":`+strings.Replace(document, "[25]", fmt.Sprint([]int64{math.MaxInt64}), 1)+`},"record_size":10}`))
	if _, err := elementsOf(t, at+"/a"); err != nil {
		t.Error(err)
	}
	if _, err := elementsOf(t, at+"/b"); err == nil {
		t.Error("a document without a shape was read")
	}
	a, err := zarr.OpenArray(t.Context(), at+"/c", nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := zarr.Read[uint8](t.Context(), a, selection.Basic{selection.Span(math.MaxInt64-7, math.MaxInt64)}); err != nil || b.Data[0] != 9 {
		t.Errorf("%v (%v)", b.Data, err)
	}
	// To put it together with others takes memory for each chunk.
	c, err := virtual.NewCollector(filepath.Join(t.TempDir(), "x.vz"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	j, err := virtual.NewJoined(virtual.Join{})
	if err == nil {
		err = c.Collect(t.Context(), j, []string{at})
	}
	if err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestConsolidated opens a hierarchy of format 2 whose folder has the name of references:
// its consolidated metadata have no record_size.
func TestConsolidated(t *testing.T) {
	for _, suffix := range []string{kerchunk.ParquetSuffix, kerchunk.LongParquetSuffix} {
		dir := t.TempDir()
		name := "hierarchy" + suffix
		put(t, dir, name+"/.zgroup", []byte(`{"zarr_format":2}`))
		put(t, dir, name+"/a/.zarray", []byte(document))
		put(t, dir, name+"/a/3", []byte{1})
		put(t, dir, name+"/.zmetadata", []byte(`{"zarr_consolidated_format":1,"metadata":{".zgroup":{"zarr_format":2},"a/.zarray":`+document+`}}`))
		data, err := elementsOf(t, filepath.Join(dir, name, "a"))
		if err != nil || data[3] != 1 {
			t.Errorf("%v (%v)", data, err)
		}
	}
}

// TestForms reads arrays of rank 0, in groups, and with slashes in the keys of chunks.
func TestForms(t *testing.T) {
	dir := t.TempDir()
	scalar := strings.NewReplacer("[25]", "[]", "[1]", "[]").Replace(document)
	matrix := strings.NewReplacer("[25]", "[3,5]", "[1]", "[2,2]", `"order"`, `"dimension_separator":"/","order"`).Replace(document)
	put(t, dir, "r.parquet/.zmetadata", []byte(`{"metadata":{"g/.zgroup":{"zarr_format":2},"g/s/.zarray":`+scalar+`,"g/m/.zarray":`+matrix+`},"record_size":4}`))
	put(t, dir, "r.parquet/g/s/refs.0.parq", refs(t, 4, map[int]kerchunk.Reference{0: {Data: []byte{5}}}))
	put(t, dir, "r.parquet/g/m/refs.1.parq", refs(t, 4, map[int]kerchunk.Reference{0: {Data: []byte{1, 2, 3, 4}}}))
	if data, err := elementsOf(t, filepath.Join(dir, "r.parquet/g/s")); err != nil || !slices.Equal(data, []uint8{5}) {
		t.Errorf("%v (%v)", data, err)
	}
	// Chunk 4 of 2 × 3 is the one of the index (1, 1).
	want := []uint8{9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 1, 2, 9}
	if data, err := elementsOf(t, filepath.Join(dir, "r.parquet/g/m")); err != nil || !slices.Equal(data, want) {
		t.Errorf("%v (%v)", data, err)
	}
}

// TestPlaces has references to places that the reader has not allowed, and to other
// references, which are never followed.
func TestPlaces(t *testing.T) {
	secret := t.TempDir()
	put(t, secret, "secret", []byte{1})
	put(t, secret, "s.json", []byte(`{"x":"1"}`))
	for _, url := range []string{
		filepath.Join(secret, "secret"), "file://" + filepath.ToSlash(secret) + "/secret", "../" + filepath.Base(secret) + "/secret", "bytes/../../secret",
		"http://127.0.0.1:1/x", "http://169.254.169.254/latest/meta-data", "s3://bucket/key", "unknown://x/y", "a\\b", "\x00",
		filepath.Join(secret, "s.json/x"),
	} {
		at := folder(t)
		put(t, at, "a/refs.0.parq", refs(t, 10, map[int]kerchunk.Reference{3: {URL: url, Length: kerchunk.Whole}}))
		ctx := t.Context()
		want := virtual.ErrNotAllowed
		if strings.Contains(url, "s.json") { // there is no such file
			ctx, want = virtual.WithAllowed(ctx, secret), zarr.ErrSourceChanged
		}
		a, err := zarr.OpenArray(ctx, at+"/a", nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := zarr.Read[uint8](ctx, a, nil); !errors.Is(err, want) {
			t.Errorf("%q: %v (%v), want %v", url, b.Data, err, want)
		}
	}
	at := folder(t)
	put(t, at, "a/refs.0.parq", refs(t, 10, map[int]kerchunk.Reference{3: {URL: filepath.Join(secret, "secret"), Length: kerchunk.Whole}}))
	ctx := virtual.WithAllowed(t.Context(), secret)
	a, err := zarr.OpenArray(ctx, at+"/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := zarr.Read[uint8](ctx, a, nil); err != nil || b.Data[3] != 1 {
		t.Errorf("allowed: %v", err)
	}
}
