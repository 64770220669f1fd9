// SPDX-License-Identifier: Apache-2.0

// Package scanned compares what a scanner finds in the files of virtual/testdata with
// what the programs that wrote them say: places of chunks, and the values that they
// decode to.
package scanned

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/virtual/scan"
)

// Scanner is the function of a scanner.
type Scanner func(*scan.File) (*scan.Dataset, error)

// File is what is expected of a file.
type File struct {
	Format     string
	Names      string // "free" if the names of variables are ours
	Attributes map[string]any
	Groups     []string
	Variables  map[string]Variable
	Fields     []Field // of GRIB
}

// Variable is what is expected of a variable.
type Variable struct {
	Shape, Chunks []int64
	DType         string
	BigEndian     bool `json:"big_endian"`
	Dimensions    []string
	Attributes    map[string]any
	Codecs        []string
	SHA256        string
	Stored        []json.RawMessage
	StoredCount   *int `json:"stored_count"`
	Supported     *bool
	Masked        bool
	DimensionOnly bool `json:"dimension_only"`
	Alias         string
	Layout        string
	FillValue     json.RawMessage `json:"fill_value"`
}

// Field is what is expected of a field of GRIB.
type Field struct {
	ShortName  string
	Level      float64
	Date, Step int
	Packing    string
	Shape      []int64
	Stored     [2]int64
	Values     []byte // little-endian doubles
}

// folder is the folder of the files.
func folder() string {
	for up := "."; ; up = filepath.Join(up, "..") {
		if _, err := os.Stat(filepath.Join(up, "go.work")); err == nil {
			return filepath.Join(up, "virtual", "testdata")
		}
	}
}

var expected = sync.OnceValues(func() (files map[string]File, err error) {
	text, err := os.ReadFile(filepath.Join(folder(), "expected.json"))
	if err != nil {
		return nil, err
	}
	var all struct{ Files map[string]File }
	err = json.Unmarshal(text, &all)
	return all.Files, err
})

// Files returns the names of the files whose format begins with a prefix, in order.
func Files(t *testing.T, format string) (names []string) {
	t.Helper()
	files, err := expected()
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range files {
		if strings.HasPrefix(f.Format, format) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		t.Fatalf("no files of the format %q", format)
	}
	return names
}

// Expected returns what is expected of a file.
func Expected(t *testing.T, name string) File {
	t.Helper()
	files, err := expected()
	if err != nil {
		t.Fatal(err)
	}
	return files[name]
}

// Scan scans a file of the folder.
func Scan(t *testing.T, name string, s Scanner) (*scan.Dataset, error) {
	t.Helper()
	files, err := filestore.Open(folder(), nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := scan.Open(t.Context(), files, store.MustKey(name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return s(f)
}

// Check scans a file, and compares all variables with what is expected.
func Check(t *testing.T, name string, s Scanner) {
	t.Helper()
	want := Expected(t, name)
	found, err := Scan(t, name, s)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	data, err := os.ReadFile(filepath.Join(folder(), name))
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Groups) == 0 || found.Groups[0].Path != "" {
		t.Fatalf("%s: no root", name)
	}
	compareAttributes(t, name, found.Groups[0].Attributes, want.Attributes)
	for path, v := range want.Variables {
		where := name + ": " + path
		i := slices.IndexFunc(found.Arrays, func(a *scan.Array) bool { return a.Path == path || v.Alias != "" && a.Path == v.Alias })
		switch {
		case v.DimensionOnly && (i < 0 || want.isAlias(path)): // it has no values of its own
		case i < 0:
			t.Errorf("%s was not found", where)
		default:
			v.check(t, where, found.Arrays[i], data)
		}
	}
}

// isAlias reports whether a name is the one that netCDF gives a variable.
func (f *File) isAlias(name string) bool {
	for _, v := range f.Variables {
		if v.Alias == name {
			return true
		}
	}
	return false
}

// check compares an array with what is expected of it. data is the file.
func (v *Variable) check(t *testing.T, where string, a *scan.Array, data []byte) {
	t.Helper()
	if v.Supported != nil && !*v.Supported || v.Masked {
		// It is refused by name, or right.
		if a.Refused != nil {
			if !errors.Is(a.Refused, scan.ErrUnsupported) {
				t.Errorf("%s is refused: %v, which is no ErrUnsupported", where, a.Refused)
			}
			return
		}
	}
	if a.Refused != nil {
		t.Errorf("%s is refused: %v", where, a.Refused)
		return
	}
	if !slices.Equal(a.Shape, v.Shape) {
		t.Errorf("%s has the shape %v, want %v", where, a.Shape, v.Shape)
		return
	}
	if v.Chunks != nil && !sameChunk(a.Chunk, v.Chunks, a.Shape) {
		t.Errorf("%s has chunks of %v, want %v", where, a.Chunk, v.Chunks)
	}
	if v.Dimensions != nil && !slices.Equal(a.Names, v.Dimensions) {
		t.Errorf("%s has the dimensions %q, want %q", where, a.Names, v.Dimensions)
	}
	compareAttributes(t, where, a.Attributes, v.Attributes)
	v.checkStored(t, where, a)
	got, err := Values(t, a, data)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	if v.SHA256 != "" {
		if sum := sha256.Sum256(got); hex.EncodeToString(sum[:]) != v.SHA256 {
			t.Errorf("%s has other values", where)
		}
	}
}

// checkStored compares the places of chunks. Numbers are those of chunks in C order, or
// indices of chunks.
func (v *Variable) checkStored(t *testing.T, where string, a *scan.Array) {
	t.Helper()
	if v.StoredCount != nil && len(a.Chunks) != *v.StoredCount {
		t.Errorf("%s has %d chunks, want %d", where, len(a.Chunks), *v.StoredCount)
	}
	if v.Stored == nil {
		return
	}
	places := map[int64][2]int64{}
	for _, c := range a.Chunks {
		places[c.Number] = [2]int64{c.Offset, c.Length}
	}
	if len(places) != len(v.Stored) && !slices.ContainsFunc(a.Chunks, func(c scan.Chunk) bool { return c.Data != nil }) {
		t.Errorf("%s has %d chunks, want %d", where, len(places), len(v.Stored))
	}
	for _, raw := range v.Stored {
		number, off, n, err := parseStored(raw, a.Count())
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if got := places[number]; got != [2]int64{off, n} && got != [2]int64{} {
			t.Errorf("%s: chunk %d is at %v, want %v", where, number, got, [2]int64{off, n})
		}
	}
}

// parseStored returns the number and the place of a chunk.
func parseStored(raw []byte, count []int64) (number, off, n int64, err error) {
	var parts []json.RawMessage
	if err = json.Unmarshal(raw, &parts); err != nil || len(parts) < 3 {
		return 0, 0, 0, fmt.Errorf("%s: %w", raw, err)
	}
	var index []int64
	if err := json.Unmarshal(parts[0], &number); err != nil {
		if err := json.Unmarshal(parts[0], &index); err != nil {
			return 0, 0, 0, err
		}
		number = 0
		for i, x := range index {
			number = number*count[i] + x
		}
	}
	err = errors.Join(json.Unmarshal(parts[1], &off), json.Unmarshal(parts[2], &n))
	return number, off, n, err
}
