// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// repairedDocument has all deviations that are repaired in documents of format 3.
const repairedDocument = `{"zarr_format":3,"node_type":"array","shape":[3,2],"data_type":"int16",
	"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,2]}},"chunk_key_encoding":{"name":"default"},
	"fill_value":null,"dimension_names":null,"storage_transformers":null,"attributes":null,
	"codecs":[{"name":"transpose","configuration":{"order":"F"}},{"name":"endian","configuration":{"endian":"little"}},
	{"name":"zstd","configuration":{"level":100,"checksum":false}}]}`

// TestRepairedGrows appends to an array with a repaired document, in stores without
// locks. Two writers open it before either has rewritten the document in its specified
// form. The second writer finds another document than it read, and still succeeds.
func TestRepairedGrows(t *testing.T) {
	for name, newStore := range stores {
		t.Run(name, func(t *testing.T) {
			ctx, s := t.Context(), newStore()
			if _, err := s.Write(ctx, store.Put(store.MustKey("g/a/zarr.json"), []byte(repairedDocument)), store.Sync); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Write(ctx, store.Put(store.MustKey("g/zarr.json"), []byte(`{"zarr_format":3,"node_type":"group","attributes":null}`)), store.Sync); err != nil {
				t.Fatal(err)
			}
			g, err := zarr.At(s, "g").OpenGroup(ctx, &zarr.Options{Write: true})
			if err != nil {
				t.Fatal(err)
			}
			first, firstErr := g.At("a").OpenArray(ctx, &zarr.Options{Write: true})
			second, err := g.At("a").OpenArray(ctx, &zarr.Options{Write: true})
			if err := errors.Join(firstErr, err); err != nil {
				t.Fatal(err)
			}
			if n := second.Notes(); len(n) != 7 {
				t.Errorf("%d notes, want 7: %q", len(n), n)
			}
			for i, a := range []*zarr.Array{first, second} {
				if err := zarr.Append(ctx, a, 0, []int16{int16(i), 9}, nil); err != nil {
					t.Fatal(err)
				}
			}
			if err := g.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte(`{"b":1}`), nil }); err != nil {
				t.Fatal(err)
			}
			a, err := g.At("a").OpenArray(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := zarr.Read[int16](ctx, a, nil)
			if want := []int16{0, 0, 0, 0, 0, 0, 0, 9, 1, 9}; err != nil || !slices.Equal(got.Data, want) || a.Notes() != nil || second.Notes() != nil {
				t.Errorf("%v, %v, want %v; notes %q, want none", got.Data, err, want, a.Notes())
			}
			document, _, err := s.Get(ctx, store.MustKey("g/a/zarr.json"), store.Request{}, nil)
			if err != nil || strings.Contains(string(document), "null") || !strings.Contains(fixture.Compact(document), `"order":[1,0]`) || !strings.Contains(fixture.Compact(document), `"level":22`) {
				t.Errorf("%s, %v", document, err)
			}
		})
	}
}

// TestStrictCodecs checks that no new array gets a codec that Varve reads only for
// compatibility, and that other spellings are written as specified. An array made like a
// repaired one has the specified form.
func TestStrictCodecs(t *testing.T) {
	ctx, h := t.Context(), zarr.At(memstore.New(), "")
	pair, err := dtype.StructOf(dtype.Field{Name: "a", Type: dtype.Int16}, dtype.Field{Name: "b", Type: dtype.Float32})
	if err != nil {
		t.Fatal(err)
	}
	little := metadata.Extension{Name: "bytes", Configuration: []byte(`{"endian":"little"}`)}
	for name, spec := range map[string]zarr.Spec{
		"a level":   {Shape: []int64{2}, Type: dtype.Int16, Codecs: []metadata.Extension{little, {Name: "zstd", Configuration: []byte(`{"level":100}`)}}},
		"no endian": {Shape: []int64{2}, Type: pair, Codecs: []metadata.Extension{{Name: "bytes"}}},
		"neither":   {Shape: []int64{2}, Type: dtype.Int16, Codecs: []metadata.Extension{{Name: "bytes"}}},
		"bool":      {Shape: []int64{2}, Type: dtype.Bool, FillValue: zarr.FillJSON("0")},
	} {
		if _, err := h.At("x").CreateArray(ctx, spec, nil); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	named := []metadata.Extension{{Name: "transpose", Configuration: []byte(`{"order":"F"}`)}, {Name: "endian", Configuration: []byte(`{"endian":"big"}`)}}
	for _, format := range []int{2, 3} {
		a, err := zarr.At(memstore.New(), "a").CreateArray(ctx, zarr.Spec{Shape: []int64{2, 3}, Type: dtype.Int16, Codecs: named, Format: format}, nil)
		if err != nil {
			t.Fatal(err)
		}
		order := a.Metadata().Codecs[0]
		if string(order.Configuration) != `{"order":[1,0]}` || a.Metadata().Codecs[1].Name != "bytes" || a.Notes() != nil {
			t.Errorf("format %d: got order %s and codec %s, notes %q; want [1,0], bytes, no notes", format, order.Configuration, a.Metadata().Codecs[1].Name, a.Notes())
		}
	}
	doc, err := metadata.ParseArray([]byte(repairedDocument), metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := zarr.SpecOf(doc)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := h.At("like").CreateArray(ctx, spec, nil); err != nil || a.Notes() != nil {
		t.Errorf("creating an array like the repaired one: %v", err)
	}
}
