// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/nonfinite"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// valueAt returns a value, or "" if it does not exist.
func valueAt(t *testing.T, s store.Store, key string) string {
	t.Helper()
	data, _, err := s.Get(t.Context(), store.MustKey(key), store.Request{}, nil)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

// storedKeys returns all keys of a store in order.
func storedKeys(t *testing.T, s store.Store) (names []string) {
	t.Helper()
	for e, err := range store.List(t.Context(), s, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names
}

// TestCreateV2 writes an array of format 2 and checks the stored objects.
func TestCreateV2(t *testing.T) {
	ctx, s := t.Context(), memstore.New()
	spec := zarr.Spec{
		Format: 2, Shape: []int64{4, 6}, Type: dtype.Int16, Chunks: grid.Chunks(4, 3), FillValue: zarr.FillJSON("-1"),
		Codecs: []metadata.Extension{
			codec.Transpose(1, 0), codec.Bytes("big"), codec.CRC32C(), codec.ZstdChecksum(3, false), codec.Gzip(1),
		},
		DimensionNames: []string{"t", "x"}, Attributes: map[string]float64{"k": 1.5},
	}
	a, err := zarr.At(s, "g/a").CreateArray(ctx, spec, nil)
	if err == nil {
		err = zarr.Write(ctx, a, nil, fixture.NumbersOf[int16](24))
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, want := storedKeys(t, s), []string{".zgroup", "g/.zgroup", "g/a/.zarray", "g/a/.zattrs", "g/a/0.0", "g/a/0.1"}; !slices.Equal(got, want) {
		t.Errorf("stored %q, want %q", got, want)
	}
	want := `{"shape":[4,6],"chunks":[4,3],"dtype":">i2","fill_value":-1,"order":"F",` +
		`"filters":[{"id":"crc32c","location":"end"},{"id":"zstd","level":3}],` +
		`"dimension_separator":".","compressor":{"id":"gzip","level":1},"zarr_format":2}`
	if got := fixture.Compact([]byte(valueAt(t, s, "g/a/.zarray"))); got != want {
		t.Errorf("the document is\n%s\nwant\n%s", got, want)
	}
	if got := fixture.Compact([]byte(valueAt(t, s, "g/a/.zattrs"))); got != `{"k":1.5,"_ARRAY_DIMENSIONS":["t","x"]}` {
		t.Errorf("attributes %s", got)
	}
	b, err := zarr.At(s, "g/a").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(b.DimensionNames(), spec.DimensionNames) || b.Format() != 2 || string(b.Metadata().FillValue) != "-1" {
		t.Errorf("dimensions %q, format %d, fill value %s", b.DimensionNames(), b.Format(), b.Metadata().FillValue)
	}
	if got, err := zarr.Read[int16](ctx, b, nil); err != nil || !slices.Equal(got.Data, fixture.NumbersOf[int16](24)) {
		t.Error(got, err)
	}
}

// TestV2Cannot refuses arrays that format 2 cannot describe, and leaves nothing behind.
func TestV2Cannot(t *testing.T) {
	ctx := t.Context()
	spec := func(change func(s *zarr.Spec)) zarr.Spec {
		s := fixture.AsV2(fixture.Every(6, 4))
		change(&s)
		return s
	}
	for words, s := range map[string]zarr.Spec{
		"regular chunks only":     spec(func(s *zarr.Spec) { s.Chunks = []grid.Cut{grid.Edges(2, 4)} }),
		"sharding_indexed":        spec(func(s *zarr.Spec) { s.InnerChunks = grid.Chunks(2) }),
		"chunk keys like":         spec(func(s *zarr.Spec) { s.KeyEncoding = metadata.DefaultDot }),
		"NumPy has no data type":  spec(func(s *zarr.Spec) { s.Type = fixture.Must(dtype.Parse("bfloat16", nil)) }),
		"there are 2 and 3":       spec(func(s *zarr.Spec) { s.Format = 4 }),
		"must be a JSON object":   spec(func(s *zarr.Spec) { s.Attributes = 1 }),
		"all dimensions have nam": spec(func(s *zarr.Spec) { s.Shape, s.Chunks, s.DimensionNames = []int64{1, 1}, nil, []string{"a", ""} }),
	} {
		store := memstore.New()
		_, err := zarr.At(store, "g/a").CreateArray(ctx, s, nil)
		if err == nil || !strings.Contains(err.Error(), words) && words != "must be a JSON object" {
			t.Errorf("%v, want one with %q", err, words)
		}
		if keys := storedKeys(t, store); keys != nil {
			t.Errorf("%s: %q was stored", words, keys)
		}
	}
	h := zarr.At(memstore.New(), "")
	a, err := h.At("a").CreateArray(ctx, fixture.AsV2(fixture.Every(8, 4)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.MakeRectilinear(ctx, nil); !errors.Is(err, zarr.ErrUnsupported) || !strings.Contains(err.Error(), "convert") {
		t.Errorf("MakeRectilinear: %v", err)
	}
	if _, err := a.Reserve(ctx, 0, 8); err != nil {
		t.Errorf("Reserve: %v", err)
	}
}

// TestFormats creates nodes below groups of both formats. They get the format of the
// group; the other format is refused.
func TestFormats(t *testing.T) {
	ctx, h := t.Context(), zarr.At(memstore.New(), "")
	for _, format := range []int{2, 3} {
		root := map[int]string{2: "two", 3: "three"}[format]
		h := zarr.At(memstore.New(), "")
		g, err := h.At(root).CreateGroup(ctx, map[string]int{"k": 1}, &zarr.CreateOptions{Format: format})
		if err != nil || g.Format() != format || string(g.Attributes()) != `{"k":1}` {
			t.Fatal(g, err)
		}
		a, err := g.At("deep/er/a").CreateArray(ctx, fixture.Every(6, 4), nil)
		if err != nil || a.Format() != format {
			t.Fatal(a, err)
		}
		if b, err := h.At(root+"/b").CreateArray(ctx, zarr.Spec{Shape: []int64{2}, Type: dtype.Int8, Format: 5 - format}, nil); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Error(b, err)
		}
		if c, err := h.At(root+"/deep/c").CreateGroup(ctx, nil, &zarr.CreateOptions{Format: 5 - format}); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Error(c, err)
		}
		if got, want := members(t, h, root, true), []string{"group deep", "group deep/er", "array deep/er/a"}; !slices.Equal(got, want) {
			t.Errorf("format %d: %q, want %q", format, got, want)
		}
		if _, err := h.At(root+"/deep/er/a/b").CreateArray(ctx, fixture.Every(6, 4), nil); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("below an array: %v", err)
		}
		if _, err := h.At(root+"/deep/er/a").CreateArray(ctx, fixture.Every(6, 4), nil); !errors.Is(err, fs.ErrExist) {
			t.Errorf("creating it again: %v", err)
		}
		if err := h.At(root).Delete(ctx, &zarr.Options{Write: true}); err != nil {
			t.Error(err)
		}
		for _, key := range storedKeys(t, h.Store()) {
			if strings.HasPrefix(key, root) {
				t.Errorf("%s is left", key)
			}
		}
	}
	if _, err := h.At("").CreateGroup(ctx, nil, &zarr.CreateOptions{Format: 1}); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Error(err)
	}
}

// TestShadowed opens a node with documents of both formats. The document of format 3 is
// used.
func TestShadowed(t *testing.T) {
	ctx, s := t.Context(), memstore.New()
	h := zarr.At(s, "")
	if _, err := h.At("").CreateArray(ctx, fixture.Every(6, 4), nil); err != nil {
		t.Fatal(err)
	}
	if names, err := tree.Shadowed(ctx, s, store.Path{}); err != nil || names != nil {
		t.Error(names, err)
	}
	fixture.Put(t, s, ".zarray", `{"zarr_format":2,"shape":[3],"chunks":[3],"dtype":"<i2","fill_value":0,"order":"C","filters":null,"compressor":null}`)
	fixture.Put(t, s, ".zattrs", `{"old":true}`)
	n, err := h.At("").Open(ctx, nil)
	if err != nil || n.Format() != 3 || string(n.Attributes()) != "{}" {
		t.Fatal(n, err)
	}
	if names, err := tree.Shadowed(ctx, s, store.Path{}); err != nil || !slices.Equal(names, []string{".zarray"}) {
		t.Error(names, err)
	}
	if _, err := h.At("").CreateArray(ctx, fixture.Every(5, 4), &zarr.CreateOptions{Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	if got := storedKeys(t, s); !slices.Equal(got, []string{"zarr.json"}) {
		t.Errorf("%q is left", got)
	}
}

// TestAttributesV2 changes the attributes of nodes of format 2. Numbers keep their
// spelling, a missing document is created, and the NaN that Python writes is kept.
func TestAttributesV2(t *testing.T) {
	ctx, s := t.Context(), memstore.New()
	h := zarr.At(s, "")
	if _, err := h.At("g/a").CreateArray(ctx, fixture.AsV2(fixture.Every(6, 4)), nil); err != nil {
		t.Fatal(err)
	}
	set := func(object []byte) ([]byte, error) { return metadata.SetAttribute(object, "n", []byte("1.10e+02")) }
	a, err := h.At("g/a").OpenArray(ctx, &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	g, err := h.At("g").OpenGroup(ctx, &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	fixture.Put(t, s, "g/.zattrs", `{"big": 12345678901234567890123, "x": [NaN]}`)
	if err := errors.Join(a.UpdateAttributes(ctx, set), g.UpdateAttributes(ctx, set)); err != nil {
		t.Fatal(err)
	}
	if got := valueAt(t, s, "g/a/.zattrs"); fixture.Compact([]byte(got)) != `{"n":1.10e+02}` || string(a.Attributes()) != `{"n":1.10e+02}` {
		t.Errorf("%s, the array has %s", got, a.Attributes())
	}
	if got := valueAt(t, s, "g/.zattrs"); strings.Join(strings.Fields(got), "") != `{"big":12345678901234567890123,"x":[NaN],"n":1.10e+02}` {
		t.Error(got)
	}
	if err := a.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte(`[1]`), nil }); !errors.Is(err, zarr.ErrInvalidMetadata) {
		t.Error(err)
	}
	if g, err = h.At("g").OpenGroup(ctx, nil); err != nil || len(g.Notes()) != 1 {
		t.Error(g, err)
	}
	if err := a.UpdateAttributes(ctx, func(o []byte) ([]byte, error) { return metadata.SetAttribute(o, "_ARRAY_DIMENSIONS", []byte(`["t"]`)) }); err != nil || !slices.Equal(a.DimensionNames(), []string{"t"}) {
		t.Errorf("dimensions %q, %v", a.DimensionNames(), err)
	}
}

// TestRefreshV2 refreshes an array after another program has published more elements and
// other attributes.
func TestRefreshV2(t *testing.T) {
	ctx, s := t.Context(), memstore.New()
	a, err := zarr.At(s, "a").CreateArray(ctx, fixture.AsV2(fixture.Every(6, 4)), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := zarr.At(s, "a").OpenArray(ctx, &zarr.Options{Write: true})
	if err == nil {
		err = zarr.Append(ctx, b, 0, fixture.Numbers(7, 3), nil)
	}
	if err == nil {
		err = b.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte(`{"k":1}`), nil })
	}
	if err == nil {
		err = a.Refresh(ctx)
	}
	if err != nil || !slices.Equal(a.Shape(), []int64{9}) || fixture.Compact(a.Attributes()) != `{"k":1}` {
		t.Errorf("shape %v, attributes %s (%v)", a.Shape(), a.Attributes(), err)
	}
}

// TestMetadataOf describes nodes that cannot be opened.
func TestMetadataOf(t *testing.T) {
	ctx, s := t.Context(), memstore.New()
	fixture.Put(t, s, ".zarray", `{"zarr_format":2,"shape":[3],"chunks":[3],"dtype":"|O","fill_value":0,"order":"C","filters":[{"id":"pickle"}],"compressor":null}`)
	h := zarr.At(s, "")
	n, err := h.At("").Metadata(ctx, nil)
	if a, ok := n.(*metadata.Array); !ok || a.Shape[0] != 3 || !errors.Is(err, zarr.ErrUnsupported) || !strings.Contains(err.Error(), `"pickle"`) {
		t.Error(n, err)
	}
	if _, err := h.At("none").Metadata(ctx, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestAttributesDuringAppendsV2 changes attributes while the array grows. Neither change
// is lost, in the store or in the open array.
func TestAttributesDuringAppendsV2(t *testing.T) {
	ctx, h := t.Context(), zarr.At(memstore.New(), "")
	a, err := h.At("a").CreateArray(ctx, fixture.AsV2(fixture.Every(0, 4)), nil)
	if err != nil {
		t.Fatal(err)
	}
	group := new(errgroup.Group)
	const times = 30
	group.Go(func() (err error) {
		for i := 0; i < times && err == nil; i++ {
			err = zarr.Append(ctx, a, 0, fixture.Numbers(int32(1+i), 1), nil)
		}
		return err
	})
	group.Go(func() (err error) {
		for i := 0; i < times && err == nil; i++ {
			err = a.UpdateAttributes(ctx, func(o []byte) ([]byte, error) {
				return metadata.SetAttribute(o, fmt.Sprint("k", i), []byte("1"))
			})
		}
		return err
	})
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	b, err := h.At("a").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]*zarr.Array{"in memory": a, "stored": b} {
		got, err := zarr.Read[int32](ctx, a, nil)
		if n := strings.Count(string(a.Attributes()), "k"); err != nil || n != times || !slices.Equal(got.Data, fixture.Numbers(1, times)) {
			t.Errorf("%s: %d attributes, elements %v, %v", name, n, got, err)
		}
	}
}

// TestReserveV2 writes parts of a reservation of an array of format 2. They are not
// visible before it is published.
func TestReserveV2(t *testing.T) {
	ctx, h := t.Context(), zarr.At(memstore.New(), "")
	a, err := h.At("a").CreateArray(ctx, fixture.AsV2(fixture.Every(4, 4)), nil)
	if err == nil {
		err = zarr.Write(ctx, a, nil, fixture.Numbers(1, 4))
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Reserve(ctx, 0, 4, 4)
	if err != nil {
		t.Fatal(err)
	}
	for part := range 2 {
		if err := zarr.WritePart(ctx, r, part, fixture.Numbers(int32(5+4*part), 4)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Publish(ctx); err != nil {
		t.Fatal(err)
	}
	b, err := h.At("a").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := zarr.Read[int32](ctx, b, nil); err != nil || !slices.Equal(got.Data, fixture.Numbers(1, 12)) {
		t.Error(got, err)
	}
}

// TestBareNumbersStayV2 keeps a bare NaN in the attributes of an array that another
// writer appends to. The document is then read again, with the known attributes.
func TestBareNumbersStayV2(t *testing.T) {
	ctx, s := t.Context(), memstore.New()
	if _, err := zarr.At(s, "a").CreateArray(ctx, zarr.Spec{Format: 2, Shape: []int64{2}, Type: dtype.Int32, Chunks: grid.Chunks(2)}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Write(ctx, s, store.Put(store.MustKey("a/.zattrs"), []byte(`{"x":NaN}`)), store.Sync); err != nil {
		t.Fatal(err)
	}
	var arrays [2]*zarr.Array
	for i := range arrays {
		a, err := zarr.At(s, "a").OpenArray(ctx, &zarr.Options{Write: true})
		if err != nil {
			t.Fatal(err)
		}
		arrays[i] = a
	}
	for _, a := range arrays {
		before := string(a.Attributes())
		if err := zarr.Append(ctx, a, 0, fixture.NumbersOf[int32](2), nil); err != nil {
			t.Fatal(err)
		}
		if got := string(a.Attributes()); got != before || string(nonfinite.Bare([]byte(got))) != `{"x":NaN}` {
			t.Errorf("attributes %s, before %s", got, before)
		}
	}
}
