// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestText rechunks arrays of texts of variable length, in every way of staging.
func TestText(t *testing.T) {
	words := strings.Fields("a bb ccc dddd eeeee - ffffff ggggggg hhhhhhhh iiiiiiiii jjjjjjjjjj")
	words[5] = ""
	s := memstore.New()
	spec := zarr.Spec{Shape: []int64{11}, Type: dtype.String, Chunks: []grid.Cut{grid.Edges(1, 2, 1, 1, 1, 3, 2)}, FillValue: zarr.FillJSON(`"none"`)}
	a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, selection.BoxOf(grid.Box{{Start: 0, Stop: 9}}), words[:9])
	}
	if err != nil {
		t.Fatal(err)
	}
	words[9], words[10] = "none", "none"
	for _, q := range []rechunk.Request{
		rechunk.Compaction{UpTo: 3}, rechunk.Regularization{Chunk: []int64{4}},
		rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Edges(6, 6)}, Inner: rechunk.Cuts{grid.Every(2)}},
		rechunk.Compaction{UpTo: 12}, rechunk.Rechunking{Unpack: true},
	} {
		r, err := rechunk.Do(t.Context(), a, q, nil)
		if err != nil || !r.Changed {
			t.Fatalf("%+v: %+v (%v)", q, r, err)
		}
		b := fixture.Must(zarr.At(s, "a").OpenArray(t.Context(), nil))
		if got, err := zarr.Read[string](t.Context(), b, nil); err != nil || !slices.Equal(got.Data, words) {
			t.Errorf("%+v: %q (%v)", q, got.Data, err)
		}
		if _, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNullFill rechunks an array of format 2 without a fill value. A written chunk is
// stored, also if it has only zeros, because other programs may not read a missing one as
// zeros.
func TestNullFill(t *testing.T) {
	s := memstore.New()
	spec := fixture.AsV2(zarr.Spec{Shape: []int64{6, 2}, Type: dtype.Int32, Chunks: grid.Chunks(1, 2), FillValue: zarr.FillJSON("null")})
	a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err == nil { // rows 4 and 5 are not written
		err = zarr.Write(t.Context(), a, selection.BoxOf(grid.Box{{Start: 0, Stop: 4}, {Stop: 2}}), []int32{1, 2, 3, 4, 0, 0, 0, 0})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		q      rechunk.Request
		stored string
	}{
		{rechunk.Compaction{UpTo: 2}, "0/0 1/0"},
		{rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(1), grid.Every(2)}}, "0.0 1.0 2.0 3.0"},
		{rechunk.Regularization{Chunk: []int64{5, 1}}, "0/0 0/1"},
	} {
		if r, err := rechunk.Do(t.Context(), a, c.q, nil); err != nil || !r.Changed {
			t.Fatalf("%+v: %+v (%v)", c.q, r, err)
		}
		reads(t, s, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0)
		if _, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1}); err != nil {
			t.Fatal(err)
		}
		var chunks []string
		for name := range strings.FieldsSeq(keys(t, s)) {
			if name, ok := strings.CutPrefix(name, "a/"); ok && !strings.HasPrefix(name, ".") {
				chunks = append(chunks, name)
			}
		}
		if got := strings.Join(chunks, " "); got != c.stored {
			t.Errorf("%+v: stored %s, want %s", c.q, got, c.stored)
		}
		raw, _, err := s.Get(t.Context(), store.MustKey("a/.zarray"), store.Request{}, nil)
		if err != nil || !strings.Contains(fixture.Compact(raw), `"fill_value":null`) {
			t.Errorf("%s (%v)", raw, err)
		}
	}
}

// TestEncodedShapes asks to rechunk an array whose chunks are stored longer than their
// edges. That is refused, and nothing changes.
func TestEncodedShapes(t *testing.T) {
	s := memstore.New()
	fixture.Put(t, s, "zarr.json", `{"zarr_format": 3, "node_type": "group", "attributes": {}}`)
	fixture.Put(t, s, "a/zarr.json", `{"zarr_format": 3, "node_type": "array", "shape": [10], "data_type": "int32", "fill_value": 0,
		"chunk_grid": {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[4, 2, 4]], "encoded_chunk_shapes": [4]}},
		"chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": {}}`)
	a, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true, Experimental: zarr.Experimental{EncodedShapes: true}})
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 10))
	}
	if err != nil {
		t.Fatal(err)
	}
	before := keys(t, s)
	for _, q := range []rechunk.Request{rechunk.Compaction{UpTo: 10}, rechunk.Regularization{}, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(5)}}} {
		if _, err := rechunk.Do(t.Context(), a, q, nil); !errors.Is(err, zarr.ErrUnsupported) {
			t.Errorf("%+v: %v", q, err)
		}
		if is := keys(t, s); is != before {
			t.Errorf("%+v: left %s, want %s", q, is, before)
		}
	}
	if b, err := zarr.Read[int32](t.Context(), a, nil); err != nil || !slices.Equal(b.Data, fixture.Numbers(1, 10)) {
		t.Errorf("%v (%v)", b.Data, err)
	}
}
