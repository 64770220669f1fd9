// SPDX-License-Identifier: Apache-2.0

// Package scanned compares what a scanner finds in the files of virtual/testdata with
// what the programs that wrote them say: places of chunks, and the values that they
// decode to.
package scanned

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/test/memtest"
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

// Labels returns the labels that stand for the variables of a file, in the order of the
// file.
func Labels(t *testing.T, name string) (labels []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder(), "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Files map[string]struct{ Variables json.RawMessage }
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(all.Files[name].Variables))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		label, err := d.Token()
		var skipped json.RawMessage
		if err == nil {
			err = d.Decode(&skipped)
		}
		if err != nil {
			t.Fatal(err)
		}
		labels = append(labels, label.(string))
	}
	return labels
}

// Labelled returns a scanner that gives arrays the labels of a file, in their order. It
// is for files without names.
func Labelled(t *testing.T, name string, s Scanner) Scanner {
	t.Helper()
	labels := Labels(t, name)
	return func(f *scan.File) (*scan.Dataset, error) {
		d, err := s(f)
		if err != nil {
			return nil, err
		}
		if len(d.Arrays) != len(labels) {
			t.Errorf("%s has %d arrays, want %q", name, len(d.Arrays), labels)
		}
		for i, a := range d.Arrays[:min(len(labels), len(d.Arrays))] {
			a.Path = labels[i]
		}
		return d, nil
	}
}

// sameChunk compares shapes of chunks. What is expected of a file without names are the
// pixels of a tile: a chunk also has the samples of each, or those of one.
func sameChunk(got, want, shape []int64) bool {
	if len(want) == len(shape)-1 {
		return slices.Equal(got, append(slices.Clone(want), shape[len(want)])) ||
			slices.Equal(got, append([]int64{1}, want...))
	}
	return slices.Equal(got, want)
}

// Values returns the elements of an array of a file in C order, little endian, by making
// an array of Zarr of its chunks.
func Values(t *testing.T, a *scan.Array, file []byte) ([]byte, error) {
	t.Helper()
	spec := zarr.Spec{Shape: a.Shape, Type: a.Type, Codecs: a.Codecs}
	for i, n := range a.Shape {
		edges := []int64{}
		for at := int64(0); a.Short && at < n; at += a.Chunk[i] {
			edges = append(edges, min(a.Chunk[i], n-at))
		}
		if len(edges) > 0 {
			spec.Chunks = append(spec.Chunks, grid.Edges(edges...))
		} else {
			spec.Chunks = append(spec.Chunks, grid.Every(a.Chunk[i]))
		}
	}
	if a.Fill != nil {
		fill, err := a.Type.FormatFill(a.Fill)
		if err != nil {
			return nil, fmt.Errorf("fill value: %w", err)
		}
		spec.FillValue = zarr.FillJSON(string(fill))
	}
	s := memtest.New()
	made, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err != nil {
		return nil, err
	}
	count := a.Count()
	for _, c := range a.Chunks {
		data := c.Data
		if data == nil {
			if c.Offset < 0 || c.Length < 0 || c.Offset+c.Length > int64(len(file)) {
				return nil, fmt.Errorf("chunk %d is at %d, beyond the file", c.Number, c.Offset)
			}
			data = file[c.Offset:][:c.Length]
		}
		key := ""
		for i, rest := len(count)-1, c.Number; i >= 0; i-- {
			key = fmt.Sprintf("/%d", rest%count[i]) + key
			rest /= count[i]
		}
		if _, err := s.Write(t.Context(), store.Put(store.MustKey("a/c"+key), data), store.Flush); err != nil {
			return nil, err
		}
	}
	elements := int64(1)
	for _, n := range a.Shape {
		elements *= n
	}
	if a.Type.Variable() {
		b, err := zarr.Read[string](t.Context(), made, nil)
		return []byte(strings.Join(b.Data, "\x00")), err
	}
	out := make([]byte, elements*int64(a.Type.Size()))
	if err := made.ReadBytes(t.Context(), nil, out); err != nil {
		return nil, err
	}
	if !byteorder.Little() {
		a.Type.Swap(out, out)
	}
	return out, nil
}

// compareAttributes compares the attributes that are expected.
func compareAttributes(t *testing.T, where string, found scan.Attributes, want map[string]any) {
	t.Helper()
	for name, value := range want {
		got := found.Get(name)
		if got == nil {
			t.Errorf("%s lacks the attribute %q", where, name)
			continue
		}
		text, err := scan.Attributes{{Name: "a", Value: got}}.JSON()
		if err != nil {
			t.Errorf("%s: attribute %q: %v", where, name, err)
			continue
		}
		var is struct{ A any }
		if err := json.Unmarshal([]byte(text), &is); err != nil {
			continue // NaN
		}
		if !alike(is.A, value) {
			t.Errorf("%s: attribute %q is %v, want %v", where, name, is.A, value)
		}
	}
}

// alike compares values of JSON. A float32 has shorter digits than the double that it is.
func alike(a, b any) bool {
	x, ok := a.(float64)
	y, also := b.(float64)
	if ok && also {
		return x == y || float32(x) == float32(y) || math.IsNaN(x) && math.IsNaN(y)
	}
	p, ok := a.([]any)
	q, also := b.([]any)
	if !ok || !also {
		return reflect.DeepEqual(a, b)
	}
	if len(p) != len(q) {
		return false
	}
	for i := range p {
		if !alike(p[i], q[i]) {
			return false
		}
	}
	return true
}

// Counted is a store that counts requests. It has no powers.
type Counted struct {
	below memtest.Store
	Gets  int
	Bytes int64 // that were read
}

// Get implements [store.Store].
func (c *Counted) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	c.Gets++
	out, info, err := c.below.Get(ctx, key, q, dst)
	c.Bytes += int64(len(out) - len(dst))
	return out, info, err
}

// Memory opens a file of these bytes.
func Memory(t testing.TB, data []byte) (*scan.File, *Counted) {
	t.Helper()
	s, key := &Counted{below: memtest.New()}, store.MustKey("file")
	if _, err := s.below.Write(t.Context(), store.Put(key, data), store.Flush); err != nil {
		t.Fatal(err)
	}
	f, err := scan.Open(t.Context(), s, key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, s
}

// Sound scans any bytes: the scanner returns a reason, or arrays that keep the contract
// of package scan.
func Sound(t *testing.T, data []byte, s Scanner) {
	t.Helper()
	f, _ := Memory(t, data)
	d, err := s(f)
	if err != nil {
		if !errors.Is(err, scan.ErrCorrupt) && !errors.Is(err, scan.ErrUnsupported) {
			t.Errorf("%v, want ErrCorrupt or ErrUnsupported", err)
		}
		return
	}
	names := map[string]bool{}
	for _, a := range d.Arrays {
		if names[a.Path] {
			t.Errorf("two arrays are %q", a.Path)
		}
		names[a.Path] = true
		if _, err := a.Attributes.JSON(); err != nil {
			t.Errorf("%s: %v", a.Path, err)
		}
		if a.Refused == nil {
			soundChunks(t, a, int64(len(data)))
		} else if !errors.Is(a.Refused, scan.ErrUnsupported) {
			t.Errorf("%s is refused: %v, want ErrUnsupported", a.Path, a.Refused)
		}
	}
}

// soundChunks checks the chunks of an array in a file of a size.
func soundChunks(t *testing.T, a *scan.Array, size int64) {
	t.Helper()
	n, ok := checked.Product(a.Count()...)
	if !ok || len(a.Chunk) != len(a.Shape) || len(a.Codecs) == 0 || a.Type.IsZero() || a.Names != nil && len(a.Names) != len(a.Shape) {
		t.Fatalf("%s has the shape %d, chunks of %d, the names %q, %d codecs and the type %s", a.Path, a.Shape, a.Chunk, a.Names, len(a.Codecs), a.Type)
	}
	seen := map[int64]bool{}
	for _, c := range a.Chunks {
		if c.Number < 0 || c.Number >= n || seen[c.Number] {
			t.Errorf("%s: chunk %d is one of %d, or there twice", a.Path, c.Number, n)
		}
		seen[c.Number] = true
		if c.Offset < 0 || c.Length < 0 || c.Length > size-c.Offset {
			t.Errorf("%s: chunk %d has %d bytes at %d, in a file of %d", a.Path, c.Number, c.Length, c.Offset, size)
		}
	}
}

// Read returns the bytes of a file of the folder.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder(), name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Bytes scans a file in memory, and returns the number of requests.
func Bytes(t testing.TB, data []byte, s Scanner) (d *scan.Dataset, requests int, err error) {
	t.Helper()
	m := &counter{Store: memtest.New()}
	if _, err := m.Store.(memtest.Store).Write(t.Context(), store.Put(store.MustKey("file"), data), store.Flush); err != nil {
		t.Fatal(err)
	}
	f, err := scan.Open(t.Context(), m, store.MustKey("file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err = s(f)
	return d, m.requests, err
}

// counter counts reads. It has no other powers.
type counter struct {
	store.Store
	requests int
}

// Get implements [store.Store].
func (c *counter) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	c.requests++
	return c.Store.Get(ctx, key, q, dst)
}

// Fuzz is a fuzz target with the files whose format begins with a prefix. What a scanner
// returns has to be consistent and to lie within the file.
func Fuzz(f *testing.F, format string, s Scanner) {
	files, err := expected()
	if err != nil {
		f.Fatal(err)
	}
	for name, file := range files {
		if strings.HasPrefix(file.Format, format) {
			f.Add(Read(f, name))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, _, err := Bytes(t, data, s)
		switch {
		case err == nil:
			Consistent(t, d, int64(len(data)))
		case !errors.Is(err, scan.ErrCorrupt) && !errors.Is(err, scan.ErrUnsupported):
			t.Errorf("%v, which is neither ErrCorrupt nor ErrUnsupported", err)
		}
	})
}

// Consistent checks that a data set keeps the contract of package scan. size is the size
// of the file.
func Consistent(t testing.TB, d *scan.Dataset, size int64) {
	t.Helper()
	if d.Format == "" || len(d.Groups) == 0 || d.Groups[0].Path != "" {
		t.Errorf("the format %q, %d groups", d.Format, len(d.Groups))
	}
	seen := map[string]bool{}
	for _, g := range d.Groups {
		if seen[g.Path] {
			t.Errorf("two groups %q", g.Path)
		}
		seen[g.Path] = true
		checkAttributes(t, g.Path, g.Attributes)
	}
	for _, a := range d.Arrays {
		if seen[a.Path] {
			t.Errorf("two nodes %q", a.Path)
		}
		seen[a.Path] = true
		checkAttributes(t, a.Path, a.Attributes)
		if a.Refused == nil {
			checkArray(t, a, size)
		} else if !errors.Is(a.Refused, scan.ErrCorrupt) && !errors.Is(a.Refused, scan.ErrUnsupported) {
			t.Errorf("%s: %v", a.Path, a.Refused)
		}
	}
}

func checkAttributes(t testing.TB, where string, list scan.Attributes) {
	t.Helper()
	seen := map[string]bool{}
	for _, a := range list {
		if seen[a.Name] {
			t.Errorf("%s: two attributes %q", where, a.Name)
		}
		seen[a.Name] = true
	}
	if _, err := list.JSON(); err != nil {
		t.Errorf("%s: %v", where, err)
	}
}

func checkArray(t testing.TB, a *scan.Array, size int64) {
	t.Helper()
	if a.Type.IsZero() || len(a.Codecs) == 0 || len(a.Chunk) != len(a.Shape) || a.Names != nil && len(a.Names) != len(a.Shape) ||
		a.Fill != nil && len(a.Fill) != a.Type.Size() {
		t.Fatalf("%s: %+v", a.Path, a)
	}
	if _, err := store.ParsePath(a.Path); err != nil || a.Path == "" {
		t.Errorf("the path %q: %v", a.Path, err)
	}
	most := int64(1)
	for i, n := range a.Shape {
		if n < 0 || a.Chunk[i] < 1 {
			t.Fatalf("%s: the shape %d and chunks of %d", a.Path, a.Shape, a.Chunk)
		}
		// A product that overflows checks nothing, which is fine for a fuzz target.
		most *= a.Count()[i]
	}
	seen := map[int64]bool{}
	for _, c := range a.Chunks {
		if seen[c.Number] || c.Number < 0 || most >= 0 && c.Number >= most {
			t.Fatalf("%s: chunk %d of %d", a.Path, c.Number, most)
		}
		seen[c.Number] = true
		if c.Offset < 0 || c.Length < 0 || c.Offset > size || c.Length > size-c.Offset {
			t.Fatalf("%s: chunk %d is %d bytes at %d, in a file of %d", a.Path, c.Number, c.Length, c.Offset, size)
		}
	}
}
