// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestFollowDescription changes units and names of dimensions of an array that is
// followed, in both formats, alone and with elements. The array that follows has them,
// and what was set in it.
func TestFollowDescription(t *testing.T) {
	for _, format := range []int{2, 3} {
		for _, appended := range []int{0, 1, 2} {
			ctx, s := context.Background(), memstore.New()
			a, err := zarr.At(s, "a").CreateArray(ctx, zarr.Spec{
				Format: format, Shape: []int64{4, 2}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Every(2), grid.Every(2)},
				DimensionNames: []string{"t", "x"}, Attributes: map[string]any{"units": "K"},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			follow := func() *Report {
				t.Helper()
				r, err := Follow(ctx, a, Rechunking{Chunks: Cuts{grid.Every(4), grid.Every(1)}}, &Options{Into: zarr.At(s, "b")})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			follow()
			b, err := zarr.At(s, "b").OpenArray(ctx, &zarr.Options{Write: true})
			if err != nil {
				t.Fatal(err)
			}
			set := func(to *zarr.Array, key, value string) {
				t.Helper()
				err := to.UpdateAttributes(ctx, func(object []byte) ([]byte, error) { return metadata.SetAttribute(object, key, []byte(value)) })
				if err != nil {
					t.Fatal(err)
				}
			}
			set(b, "note", `"mine"`)
			set(a, "units", `"degC"`)
			switch {
			case format == 2:
				set(a, "_ARRAY_DIMENSIONS", `["time","x"]`)
			default:
				rename(t, s, "a/zarr.json")
				if a, err = zarr.At(s, "a").OpenArray(ctx, &zarr.Options{Write: true}); err != nil {
					t.Fatal(err)
				}
			}
			switch appended { // an append, or chunks that have other elements
			case 1:
				err = zarr.Append(ctx, a, 0, make([]int32, 4), nil)
			case 2:
				err = zarr.Write(ctx, a, nil, []int32{1, 2, 3, 4, 5, 6, 7, 8})
			}
			if err != nil {
				t.Fatal(err)
			}
			if r := follow(); !r.Changed {
				t.Errorf("format %d, %d: nothing has changed: %+v", format, appended, r)
			}
			if b, err = zarr.At(s, "b").OpenArray(ctx, nil); err != nil {
				t.Fatal(err)
			}
			var is map[string]any
			if err := json.Unmarshal(b.Attributes(), &is); err != nil || is["units"] != "degC" || is["note"] != "mine" || !reflect.DeepEqual(b.DimensionNames(), []string{"time", "x"}) {
				t.Errorf("format %d, %d: %s and %v (%v)", format, appended, b.Attributes(), b.DimensionNames(), err)
			}
			if r := follow(); r.Changed {
				t.Errorf("format %d, %d: it was up to date: %+v", format, appended, r)
			}
		}
	}
}

// TestFollowDescriptionFails changes elements and units of an array of format 2 whose
// follower has no other keys. Neither elements nor units reach it.
func TestFollowDescriptionFails(t *testing.T) {
	ctx, s := context.Background(), memstore.New()
	a, err := zarr.At(s, "a").CreateArray(ctx, zarr.Spec{
		Format: 2, Shape: []int64{4}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Every(2)}, Attributes: map[string]any{"units": "K"},
	}, nil)
	if err == nil {
		_, err = Follow(ctx, a, Rechunking{Chunks: Cuts{grid.Every(4)}}, &Options{Into: zarr.At(s, "b")})
	}
	if err == nil {
		err = zarr.Write(ctx, a, nil, []int32{1, 2, 3, 4})
	}
	if err == nil {
		err = a.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte(`{"units": "degC"}`), nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Follow(ctx, a, Rechunking{}, &Options{Into: zarr.At(s, "b")}); err == nil {
		t.Error("an array without other keys got other elements")
	}
	b, err := zarr.At(s, "b").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if units, _, err := metadata.Attribute(b.Attributes(), "units"); err != nil || string(units) != `"K"` {
		t.Errorf("units %s (%v)", units, err)
	}
}

// rename gives the first dimension of a document another name.
func rename(t *testing.T, s store.Store, at string) {
	t.Helper()
	key := store.MustKey(at)
	data, _, err := s.Get(t.Context(), key, store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err = json.Unmarshal(data, &doc); err == nil {
		doc["dimension_names"] = []string{"time", "x"}
		data, err = json.Marshal(doc)
	}
	if err == nil {
		_, err = store.Write(t.Context(), s, store.Put(key, data), store.Sync)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// document is that of an array with two axes.
const document = `{"zarr_format":3,"node_type":"array","shape":[4,6],"data_type":"int8","fill_value":0,"attributes":{},
	"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,2]}},
	"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"codecs":[{"name":"bytes"}]}`

// FuzzOrigin parses origins. What is accepted stays the same when it is stored again, and
// has no chunk that the array does not have.
func FuzzOrigin(f *testing.F) {
	o := &origin{head: originHead{Document: "0123456789abcdef", Source: "a.zarr/t", Array: []byte(document), Region: grid.Box{{Start: 1}, {Start: 0, Stop: 2}}}}
	o.chunks = []originChunk{{number: 0, version: 7}, {number: 3, version: 9, sum: [16]byte{1, 2}, summed: true}, {number: 5, version: 11}}
	data, err := o.marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)-1])
	f.Add(append(slices.Clone(data), 1, 0, 0, 0, 0, 0, 0, 0, 0, 0))
	f.Add([]byte(originMagic + "{}\n"))
	const most = 1 << 16
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := parseOrigin(data, metadata.Limits{}, most)
		if err != nil {
			return
		}
		all, _ := o.grid.NumChunks()
		last := int64(-1)
		for _, c := range o.chunks {
			if c.number <= last || c.number >= all {
				t.Fatalf("chunk %d of %d after %d", c.number, all, last)
			}
			last = c.number
		}
		again, err := o.marshal()
		if err != nil {
			t.Fatal(err)
		}
		p, err := parseOrigin(again, metadata.Limits{}, most)
		if err != nil || !slices.Equal(p.chunks, o.chunks) || p.head.Document != o.head.Document || p.head.Source != o.head.Source {
			t.Fatalf("%+v, want %+v (%v)", p, o, err)
		}
	})
}
