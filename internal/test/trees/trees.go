// SPDX-License-Identifier: Apache-2.0

// Package trees makes hierarchies for tests of copies and conversions, and compares what
// stores have.
package trees

import (
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// Tree makes a group with arrays of several kinds and consolidated metadata.
func Tree(t testing.TB, s store.Store, path string) {
	t.Helper()
	o := &zarr.CreateOptions{Options: zarr.Options{Durability: store.Flush}}
	g, err := zarr.At(s, path).CreateGroup(t.Context(), map[string]any{"title": "all", "precise": 1e300}, o)
	if err != nil {
		t.Fatal(err)
	}
	for name, spec := range map[string]zarr.Spec{
		"a":        {Shape: []int64{10, 7}, Chunks: []grid.Cut{grid.Every(3), grid.Every(4)}, DimensionNames: []string{"y", ""}},
		"deep/b":   {Shape: []int64{10, 7}, Chunks: []grid.Cut{grid.Edges(1, 2, 3, 4), grid.Every(7)}, FillValue: zarr.FillJSON("7")},
		"deep/e/c": {Shape: []int64{10, 7}, Chunks: []grid.Cut{grid.Every(8), grid.Every(8)}, InnerChunks: []grid.Cut{grid.Every(2), grid.Every(4)}},
		"scalar":   {Shape: []int64{}, Attributes: map[string]string{"units": "K"}},
		"empty":    {Shape: []int64{5}},
	} {
		spec.Type = dtype.Int32
		a, err := g.At(name).CreateArray(t.Context(), spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		if name == "empty" {
			continue
		}
		v := make([]int32, len(a.Shape())/2*69+1)
		for i := range v {
			v[i] = int32(i * len(name))
		}
		if err := zarr.Write(t.Context(), a, nil, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Consolidate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Opaque stores a tree of format 2.
func Opaque(t testing.TB, s store.Store, path string) {
	t.Helper()
	p, err := store.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	for rel, text := range map[string]string{
		".zgroup": `{"zarr_format": 2}`, ".zattrs": `{"title": "old"}`, ".zmetadata": `{"zarr_consolidated_format": 1, "metadata": {}}`,
		"a/.zarray": `{"zarr_format": 2}`, "a/.zattrs": `{"_ARRAY_DIMENSIONS": ["x"]}`, "a/0.0": "one", "a/0.1": "two", "b/.zarray": "{}", "b/0/0": "three",
	} {
		if _, err := store.Write(t.Context(), s, store.Put(p.MustKey(rel), []byte(text)), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
}

// TreeV2 makes a group of format 2 with arrays in it, and consolidated metadata.
func TreeV2(t testing.TB, s store.Store, path string) {
	t.Helper()
	o := &zarr.CreateOptions{Options: zarr.Options{Durability: store.Flush}, Format: 2}
	g, err := zarr.At(s, path).CreateGroup(t.Context(), map[string]any{"title": "two"}, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "deep/b"} {
		spec := zarr.Spec{Shape: []int64{10, 7}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Every(3), grid.Every(4)}, DimensionNames: []string{"y", "x"}}
		a, err := g.At(name).CreateArray(t.Context(), spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		v := make([]int32, 70)
		v[69] = 69 * 6
		if err := zarr.Write(t.Context(), a, nil, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Consolidate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Values returns all values below a path of a store.
func Values(t testing.TB, s store.Store, path string) map[string]string {
	t.Helper()
	p, err := store.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for e, err := range store.List(t.Context(), s, p, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		v, _, err := s.Get(t.Context(), p.MustKey(e.Name), store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name] = string(v)
	}
	return all
}

// Differ describes how two sets of values differ, or returns "".
func Differ(a, b map[string]string) string {
	a, b = maps.Clone(a), maps.Clone(b)
	TrimDocuments(a)
	TrimDocuments(b)
	var names []string
	for name, v := range a {
		if w, found := b[name]; !found || v != w {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, found := a[name]; !found {
			names = append(names, "+"+name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// Directory returns the store of a new directory.
func Directory(t testing.TB) store.Store {
	t.Helper()
	s, err := filestore.Open(filepath.Join(t.TempDir(), "x.zarr"), &filestore.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close(s) })
	return s
}

// Locate opens a place by a location.
func Locate(t testing.TB, location string, access store.Access) *zarr.Location {
	t.Helper()
	at, err := zarr.Locate(t.Context(), location, access)
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := at.Store().(io.Closer); ok {
		t.Cleanup(func() { c.Close() })
	}
	return at
}

// TrimDocuments removes the trails of documents in stores without locks.
func TrimDocuments(all map[string]string) {
	for name, v := range all {
		if strings.HasSuffix(name, "zarr.json") || strings.Contains(name, ".z") {
			all[name] = strings.TrimRight(v, " \t\n")
		}
	}
}

// Archive stores a tree of format 2 at a path: arrays of several types, orders and
// codecs, two of them in a subgroup, with consolidated metadata.
func Archive(t testing.TB, s store.Store, path string) {
	t.Helper()
	p, err := store.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	doc := func(shape, chunks, descr, fill, order, filters, compressor, separator string) string {
		return fmt.Sprintf(`{"zarr_format":2,"shape":%s,"chunks":%s,"dtype":%s,"fill_value":%s,"order":%q,"filters":%s,"compressor":%s,"dimension_separator":%q}`,
			shape, chunks, descr, fill, order, filters, compressor, separator)
	}
	for rel, text := range map[string]string{
		".zgroup": `{"zarr_format":2}`, ".zattrs": `{"title":"old","precise":1.50}`,
		"plain/.zarray":      doc("[7]", "[3]", `"<i4"`, "7", "C", "null", "null", "."),
		"turned/.zarray":     doc("[5,4]", "[2,3]", `">f8"`, `"NaN"`, "F", "null", `{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}`, "/"),
		"turned/.zattrs":     `{"_ARRAY_DIMENSIONS":["y","x"],"units":"K"}`,
		"deep/.zgroup":       `{"zarr_format":2}`,
		"deep/delta/.zarray": doc("[9]", "[4]", `"<i2"`, "null", "C", `[{"id":"delta","dtype":"<i2"}]`, `{"id":"zlib","level":1}`, "."),
		"deep/text/.zarray":  doc("[4]", "[2]", `"|O"`, `""`, "C", `[{"id":"vlen-utf8"}]`, `{"id":"zstd","level":1}`, "."),
	} {
		if _, err := store.Write(t.Context(), s, store.Put(p.MustKey(rel), []byte(text)), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	g, err := zarr.At(s, path).OpenGroup(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	Write(t, g, "plain", []int32{1, 2, 3, 4, 5, 6, 7})
	v := make([]float64, 20)
	for i := range v {
		v[i] = float64(i) / 3
	}
	Write(t, g, "turned", v)
	Write(t, g, "deep/delta", []int16{1, 4, 9, 16, 25, 36, 49, 64, 81})
	Write(t, g, "deep/text", []string{"a", "", "ccc", "…"})
	if err := g.Consolidate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Arrays makes a group of format 3. Format 2 can describe the chunks of some of its
// Arrays.
func Arrays(t testing.TB, s store.Store, path string) {
	t.Helper()
	g, err := zarr.At(s, path).CreateGroup(t.Context(), map[string]int{"n": 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, spec := range map[string]zarr.Spec{
		"even":   {Shape: []int64{10, 7}, Chunks: []grid.Cut{grid.Every(3), grid.Every(4)}, DimensionNames: []string{"y", "x"}},
		"listed": {Shape: []int64{10, 7}, Chunks: []grid.Cut{grid.Edges(1, 2, 3, 4), grid.Every(7)}, FillValue: zarr.FillJSON("7")},
		"shards": {Shape: []int64{10, 7}, Chunks: []grid.Cut{grid.Every(8), grid.Every(8)}, InnerChunks: []grid.Cut{grid.Every(2), grid.Every(4)}},
	} {
		spec.Type = dtype.Int32
		if _, err := g.At(name).CreateArray(t.Context(), spec, nil); err != nil {
			t.Fatal(err)
		}
		v := make([]int32, 70)
		for i := range v {
			v[i] = int32(i * i)
		}
		Write(t, g, name, v)
	}
	if _, err := g.At("words").CreateArray(t.Context(), zarr.Spec{Shape: []int64{3}, Type: dtype.String}, nil); err != nil {
		t.Fatal(err)
	}
	Write(t, g, "words", []string{"x", "yy", ""})
	if err := g.Consolidate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func Write[T dtype.Element](t testing.TB, g *zarr.Group, path string, v []T) {
	t.Helper()
	a, err := g.At(path).OpenArray(t.Context(), nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Sparse makes a group of format 3 whose arrays lack chunks.
func Sparse(t testing.TB, s store.Store, path string, keys metadata.KeyEncoding) {
	t.Helper()
	g, err := zarr.At(s, path).CreateGroup(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	third := []grid.Cut{grid.Every(3)}
	for name, spec := range map[string]zarr.Spec{
		"sevens": {Type: dtype.Int32, FillValue: zarr.FillJSON("7"), DimensionNames: []string{"x"}},
		"masked": {Type: dtype.Int32, FillValue: zarr.FillJSON("7"), DimensionNames: []string{"x"}, Attributes: map[string]int{"_FillValue": -1}},
		"same":   {Type: dtype.Int32, FillValue: zarr.FillJSON("7"), DimensionNames: []string{"x"}, Attributes: map[string]int{"_FillValue": 7}},
		"nan":    {Type: dtype.Float32, FillValue: zarr.FillJSON(`"NaN"`), DimensionNames: []string{"x"}},
		"words":  {Type: dtype.String, FillValue: zarr.FillJSON(`"none"`), DimensionNames: []string{"x"}},
		"scalar": {Type: dtype.Int16, FillValue: zarr.FillJSON("3")},
	} {
		if spec.KeyEncoding = keys; name != "scalar" {
			spec.Shape, spec.Chunks = []int64{10}, third
		} else {
			spec.Shape = []int64{}
		}
		a, err := g.At(name).CreateArray(t.Context(), spec, nil)
		if err == nil && spec.Type.Size() == 4 {
			err = a.FillBytes(t.Context(), selection.Box{{4, 5}}, make([]byte, 4))
		}
		if err != nil {
			t.Fatal(name, err)
		}
	}
}

// Plain is a specification without codecs that compress, so that chunks have one size.
func Plain(shape, chunk int64) zarr.Spec {
	return zarr.Spec{
		Shape: []int64{shape}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Every(chunk)}, FillValue: zarr.FillJSON("-1"),
		Codecs: []metadata.Extension{{Name: "bytes", Configuration: []byte(`{"endian":"little"}`)}},
	}
}

// Numbered makes an array of chunks of two elements, which count from 0 on.
func Numbered(t testing.TB, at *zarr.Location, n int64) *zarr.Array {
	t.Helper()
	a, err := at.CreateArray(t.Context(), Plain(n, 2), nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, Counting(0, n))
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func Counting(from, n int64) []int32 {
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(from) + int32(i)
	}
	return v
}

// Aged is a store whose values seem to have been written an hour before they were.
type Aged struct{ memtest.Store }

const age = time.Hour

func older(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(-age)
}

// Stat implements [store.Stater].
func (s Aged) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	i, err := s.Store.Stat(ctx, key)
	i.Modified = older(i.Modified)
	return i, err
}

// List implements [store.Lister].
func (s Aged) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range s.Store.List(ctx, dir, how) {
			e.Modified = older(e.Modified)
			if !yield(e, err) {
				return
			}
		}
	}
}
