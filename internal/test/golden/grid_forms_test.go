// SPDX-License-Identifier: Apache-2.0

package golden_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// formDocument is the document of an unencoded array of int8.
const formDocument = `{"zarr_format": 3, "node_type": "array", "shape": %s, "data_type": "int8", "chunk_grid": %s,
	"chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": ["bytes"]}`

// TestOlderForms reads grids in the forms of older programs, notes this, and writes them
// in the specified form with the next change.
func TestOlderForms(t *testing.T) {
	for _, tt := range []struct{ name, shape, grid, written, note string }{
		{"draft", "[6]", `{"type": "rectangular", "separator": "/", "chunk_shape": [[1, 2, 3]]}`, `"chunk_shapes": [[1, 2, 3]]`, "ZEP 3"},
		{"rectangular", "[6]", `{"name": "rectangular", "configuration": {"chunk_shape": [[1, 2, 3]]}}`, `"chunk_shapes": [[1, 2, 3]]`, "zarrs"},
		{"codec", "[6]", `{"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[1, 2, 3]]}}`, `"codecs": [{"name": "bytes"`, "endian"},
		{"mixed", "[6, 1]", `{"name": "regular", "configuration": {"chunk_shape": [[1, 2, 3], 1]}}`, `"chunk_shapes": [[1, 2, 3], 1]`, "3.2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, s := t.Context(), memstore.New()
			put := func(key, value string) {
				t.Helper()
				if _, err := store.Write(ctx, s, store.Put(store.MustKey(key), []byte(value)), store.Sync); err != nil {
					t.Fatal(err)
				}
			}
			document := fmt.Sprintf(formDocument, tt.shape, tt.grid)
			if tt.name == "codec" {
				document = strings.Replace(document, `"bytes"`, `"endian"`, 1)
			}
			put("zarr.json", document)
			column := strings.Repeat("/0", strings.Count(tt.shape, ","))
			for i, chunk := range []string{"\x01", "\x02\x03", "\x04\x05\x06"} {
				put(fmt.Sprintf("c/%d%s", i, column), chunk)
			}
			a, err := zarr.At(s, "").OpenArray(ctx, &zarr.Options{Write: true})
			if err != nil {
				t.Fatal(err)
			}
			if n := a.Notes(); len(n) != 1 || !strings.Contains(n[0], tt.note) {
				t.Errorf("notes %q, want one with %q", n, tt.note)
			}
			if got, err := zarr.Read[int8](ctx, a, nil); err != nil || !slices.Equal(got.Data, []int8{1, 2, 3, 4, 5, 6}) {
				t.Errorf("%v, %v", got.Data, err)
			}
			if err := a.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte(`{"a":1}`), nil }); err != nil {
				t.Fatal(err)
			}
			doc, _, err := s.Get(ctx, store.MustKey("zarr.json"), store.Request{}, nil)
			if text := strings.Join(strings.Fields(string(doc)), ""); err != nil || !strings.Contains(text, strings.ReplaceAll(tt.written, " ", "")) || strings.Contains(text, "rectangular") {
				t.Errorf("the document is %s, want one with %s", doc, tt.written)
			}
			if a, err = zarr.At(s, "").OpenArray(ctx, nil); err != nil || a.Notes() != nil {
				t.Errorf("opening it again: %v", err)
			}
		})
	}
}

// TestBounded writes and reads chunks that are stored only up to the extent. They cannot
// grow before MakeRectilinear.
func TestBounded(t *testing.T) {
	ctx, s := t.Context(), memstore.New()
	spec := zarr.Spec{Shape: []int64{5}, Type: dtype.Int8, Codecs: fixture.Plain(), Chunks: []grid.Cut{grid.EveryTrimmed(3)}}
	a, err := zarr.At(s, "a").CreateArray(ctx, spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Write(ctx, a, nil, []int8{1, 2, 3, 4, 5}); err != nil {
		t.Fatal(err)
	}
	if info, err := store.Stat(ctx, s, store.MustKey("a/c/1")); err != nil || info.Size != 2 {
		t.Errorf("the last chunk has %d bytes, want 2 (%v)", info.Size, err)
	}
	if err := zarr.Append(ctx, a, 0, []int8{6}, nil); err == nil || !strings.Contains(err.Error(), "unlock") {
		t.Errorf("an append: %v", err)
	}
	if err := a.MakeRectilinear(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if err := zarr.Append(ctx, a, 0, []int8{6}, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := zarr.Read[int8](ctx, a, nil); err != nil || !slices.Equal(got.Data, []int8{1, 2, 3, 4, 5, 6}) {
		t.Errorf("%v, %v", got.Data, err)
	}
}

// TestEncodedShapes reads and writes chunks that are stored longer than their edges,
// where options permit it: two files of 5 elements, in chunks of 3 of which the last one
// is padded, one after the other.
func TestEncodedShapes(t *testing.T) {
	ctx, s := t.Context(), memstore.New()
	cut := grid.Edges(3, 2, 3, 2).EncodedAs(grid.Every(3))
	spec := zarr.Spec{Shape: []int64{10}, Type: dtype.Int8, Codecs: fixture.Plain(), Chunks: []grid.Cut{cut}}
	if _, err := zarr.At(s, "a").CreateArray(ctx, spec, nil); !errors.Is(err, zarr.ErrUnsupported) || !strings.Contains(err.Error(), "75") {
		t.Errorf("without permission: %v", err)
	}
	opt := zarr.Options{Write: true, Experimental: zarr.Experimental{EncodedShapes: true}}
	a, err := zarr.At(s, "a").CreateArray(ctx, spec, &zarr.CreateOptions{Options: opt})
	if err != nil {
		t.Fatal(err)
	}
	want := []int8{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	if err := zarr.Write(ctx, a, nil, want); err != nil {
		t.Fatal(err)
	}
	if info, err := store.Stat(ctx, s, store.MustKey("a/c/1")); err != nil || info.Size != 3 {
		t.Errorf("a chunk of 2 elements has %d bytes, want 3 (%v)", info.Size, err)
	}
	if err := zarr.Append(ctx, a, 0, []int8{11, 12, 13, 14}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := zarr.At(s, "a").OpenArray(ctx, nil); !errors.Is(err, zarr.ErrUnsupported) {
		t.Errorf("opened without permission: %v", err)
	}
	if a, err = zarr.At(s, "a").OpenArray(ctx, &opt); err != nil {
		t.Fatal(err)
	}
	if got, err := zarr.Read[int8](ctx, a, nil); err != nil || !slices.Equal(got.Data, append(want, 11, 12, 13, 14)) {
		t.Errorf("%v, %v", got.Data, err)
	}
}

// TestListAxes writes every axis as a list.
func TestListAxes(t *testing.T) {
	spec := zarr.Spec{Shape: []int64{3, 5}, Type: dtype.Int8, Chunks: []grid.Cut{grid.Edges(1, 2), grid.Every(2)}, ListAxes: true}
	a, err := zarr.At(memstore.New(), "a").CreateArray(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(a.Metadata().ChunkGrid.Configuration); got != `{"kind": "inline", "chunk_shapes": [[1, 2], [[2, 3]]]}` {
		t.Error(got)
	}
}

// TestSpecGrid creates arrays from given grids. Their names and their edges beyond the
// extent are kept.
func TestSpecGrid(t *testing.T) {
	ctx := t.Context()
	for _, configuration := range []string{`{"kind": "inline", "chunk_shapes": [4]}`, `{"kind": "inline", "chunk_shapes": [[4, 6, [5, 2]]]}`} {
		g, err := grid.Parse([]int64{10}, "rectilinear", []byte(configuration), nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := zarr.At(memstore.New(), "a").CreateArray(ctx, zarr.Spec{Shape: []int64{10}, Type: dtype.Int8, Grid: g}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if e := a.Metadata().ChunkGrid; e.Name != "rectilinear" || string(e.Configuration) != configuration || !a.Grid().Equal(g) {
			t.Errorf("%s is %s %s", configuration, e.Name, e.Configuration)
		}
		for _, spec := range []zarr.Spec{
			{Shape: []int64{9}, Type: dtype.Int8, Grid: g},
			{Shape: []int64{10}, Type: dtype.Int8, Grid: g, Chunks: grid.Chunks(4)},
		} {
			if _, err := zarr.At(memstore.New(), "a").CreateArray(ctx, spec, nil); !errors.Is(err, zarr.ErrInvalidArgument) {
				t.Errorf("%v: %v", spec, err)
			}
		}
	}
}
