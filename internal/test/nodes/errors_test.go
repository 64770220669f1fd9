// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// small creates a rectilinear array of 6×4 int32 in a store.
func small(t testing.TB, s store.Store, codecs ...metadata.Extension) *zarr.Array {
	t.Helper()
	spec := zarr.Spec{Shape: []int64{6, 4}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(1, 2, 3), grid.Every(4)}}
	if codecs != nil {
		spec.Codecs = codecs
	}
	a, err := zarr.At(s, "a").CreateArray(context.Background(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]int32, 24)
	for i := range data {
		data[i] = int32(i + 1)
	}
	if err := zarr.Write(context.Background(), a, nil, data); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestBadArguments(t *testing.T) {
	ctx := context.Background()
	s := memstore.New()
	a := small(t, s)
	one := make([]int32, 1)
	read := func(sel selection.Selection) error { _, err := zarr.Read[int32](ctx, a, sel); return err }
	for _, tt := range []struct {
		name  string
		err   error
		words []string
	}{
		{"rank", read(selection.Box{{0, 6}}), []string{"1 axis", "2"}},
		{"range", read(selection.Box{{0, 6}, {0, 5}}), []string{"axis 1", "extent 4"}},
		{"index", read(selection.Basic{selection.At(6)}), []string{"axis 0", "index 6", "extent 6"}},
		{"type", zarr.ReadInto(ctx, a, nil, make([]float32, 24)), []string{"int32", "float32"}},
		{"room", zarr.ReadInto(ctx, a, nil, one), []string{"1 value", "24"}},
		{"values", zarr.Write(ctx, a, nil, one), []string{"1 value", "24"}},
		{"bytes", a.WriteBytes(ctx, nil, make([]byte, 95)), []string{"95 bytes"}},
		{"element", a.FillBytes(ctx, nil, make([]byte, 3)), []string{"3 bytes", "int32"}},
		{"planes", zarr.Append(ctx, a, 0, make([]int32, 5), nil), []string{"axis 0"}},
		{"append axis", zarr.Append(ctx, a, 2, one, nil), []string{"axis 2"}},
		{"shape", a.Resize(ctx, []int64{6}, nil), []string{"1 axis"}},
		{"negative shape", a.Resize(ctx, []int64{6, -1}, nil), []string{"axis 1"}},
		{"chunk", a.WriteChunk(ctx, []int64{0, 0}, make([]byte, 5)), []string{"5 bytes"}},
		{"no chunk", a.WriteChunk(ctx, []int64{3, 0}, nil), []string{"[3 0]", "[3 1]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fixture.Expect(t, tt.err, zarr.ErrInvalidArgument, "invalid-argument", append(tt.words, "a: ")...)
		})
	}
	if got, err := zarr.Read[int32](ctx, a, selection.Basic{selection.At(5), selection.At(3)}); err != nil || got.Data[0] != 24 {
		t.Errorf("after the refused calls the last element is %v (%v)", got.Data, err)
	}
}

func TestCreateRefuses(t *testing.T) {
	ctx := context.Background()
	s := memstore.New()
	small(t, s)
	h := zarr.At(s, "")
	create := func(path string, change func(*zarr.Spec)) error {
		spec := zarr.Spec{Shape: []int64{4}, Type: dtype.Float32}
		change(&spec)
		_, err := h.At(path).CreateArray(ctx, spec, nil)
		return err
	}
	same := func(*zarr.Spec) {}
	for _, tt := range []struct {
		name   string
		err    error
		target error
		kind   zarr.Kind
		words  []string
	}{
		{"over a node", create("a", same), fs.ErrExist, "exists", []string{"create a"}},
		{"below an array", create("a/b", same), zarr.ErrInvalidArgument, "invalid-argument", []string{`"/a"`, "array"}},
		{"name", create("x/../y", same), zarr.ErrInvalidArgument, "invalid-argument", []string{`".."`}},
		{"reserved name", create("__x", same), zarr.ErrInvalidArgument, "invalid-argument", []string{"reserved"}},
		{"no type", create("x", func(s *zarr.Spec) { s.Type = dtype.Type{} }), zarr.ErrInvalidArgument, "invalid-argument", []string{"data type"}},
		{"short edges", create("x", func(s *zarr.Spec) { s.Chunks = []grid.Cut{grid.Edges(1, 2)} }), zarr.ErrInvalidArgument, "invalid-argument", []string{"axis 0", "extent 4"}},
		{"zero edge", create("x", func(s *zarr.Spec) { s.Chunks = []grid.Cut{grid.Edges(4, 0)} }), zarr.ErrInvalidArgument, "invalid-argument", []string{"axis 0", "got 0"}},
		{"fill", create("x", func(s *zarr.Spec) { s.Type, s.FillValue = dtype.Int8, zarr.FillJSON("128") }), zarr.ErrInvalidArgument, "invalid-argument", []string{"128"}},
		{"NaN for an integer", create("x", func(s *zarr.Spec) { s.Type, s.FillValue = dtype.Int8, zarr.FillJSON(`"NaN"`) }), zarr.ErrInvalidArgument, "invalid-argument", []string{"NaN"}},
		{"codec", create("x", func(s *zarr.Spec) { s.Codecs = []metadata.Extension{{Name: "nope"}} }), zarr.ErrUnsupported, "unsupported", []string{`"nope"`}},
		{"no serializer", create("x", func(s *zarr.Spec) { s.Codecs = []metadata.Extension{codec.CRC32C()} }), zarr.ErrInvalidArgument, "invalid-argument", []string{"crc32c"}},
		{"names", create("x", func(s *zarr.Spec) { s.DimensionNames = []string{"a", "b"} }), zarr.ErrInvalidArgument, "invalid-argument", []string{"2 dimension names"}},
		{"attributes", create("x", func(s *zarr.Spec) { s.Attributes = []int{1} }), zarr.ErrInvalidArgument, "invalid-argument", []string{"attributes"}},
		{"rank", create("x", func(s *zarr.Spec) { s.Shape = make([]int64, 33) }), zarr.ErrLimit, "limit", []string{"33"}},
	} {
		t.Run(tt.name, func(t *testing.T) { fixture.Expect(t, tt.err, tt.target, tt.kind, tt.words...) })
	}
	if _, err := h.At("x").Open(ctx, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused call created something: %v", err)
	}
}

func TestReadOnly(t *testing.T) {
	ctx := context.Background()
	s := memstore.New()
	small(t, s)
	a, err := zarr.At(s, "a").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"write": zarr.Write(ctx, a, nil, make([]int32, 24)), "fill": zarr.Fill[int32](ctx, a, nil, 1),
		"append": zarr.Append(ctx, a, 0, make([]int32, 4), nil), "resize": a.Resize(ctx, []int64{1, 1}, nil),
		"attributes": a.UpdateAttributes(ctx, func(o []byte) ([]byte, error) { return o, nil }),
		"delete":     zarr.At(s, "a").Delete(ctx, nil), "chunk": a.WriteChunk(ctx, []int64{0, 0}, make([]byte, 16)),
	} {
		t.Run(name, func(t *testing.T) { fixture.Expect(t, err, zarr.ErrReadOnly, "permission") })
	}
}

// TestMissingImports opens locations whose packages this program does not import.
func TestMissingImports(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, fstest.MapFS{
		"a.vz/zarr.json": {Data: []byte(`{"zarr_format": 3, "node_type": "group"}`)}, "a.vz/manifest.json": {Data: []byte("{}")},
		"b.vz/zarr.json": {Data: []byte(`{"zarr_format": 3, "node_type": "group"}`)}, "c.nc/zarr.json": {Data: []byte(`{"zarr_format": 3, "node_type": "group"}`)},
		"refs.json": {Data: []byte("{}")}, "refs.parq/.zmetadata": {Data: []byte("{}")}, "month.NC": {Data: []byte("CDF")},
	}); err != nil {
		t.Fatal(err)
	}
	for location, want := range map[string]string{
		"s3://bucket/a": "store/s3", "gs://bucket/a": "store/gcs", "abfs://container@account/a": "store/azure",
		filepath.Join(dir, "a.vz"): "virtual", filepath.Join(dir, "a.vz/t"): "virtual", filepath.Join(dir, "refs.json"): "virtual",
		filepath.Join(dir, "refs.parq"): "virtual", filepath.Join(dir, "month.NC"): "virtual", filepath.Join(dir, "month.NC/t"): "virtual",
	} {
		_, err := zarr.Open(t.Context(), location, nil)
		fixture.Expect(t, err, zarr.ErrUnsupported, "unsupported", `import _ "varve.dev/zarr/`+want+`"`)
	}
	_, err := zarr.Open(t.Context(), "foo://a", nil)
	fixture.Expect(t, err, zarr.ErrUnsupported, "unsupported", "the known schemes are file, http, https")
	// A name alone decides nothing.
	for _, name := range []string{"b.vz", "c.nc"} {
		if _, err := zarr.Open(t.Context(), filepath.Join(dir, name), nil); err != nil {
			t.Error(err)
		}
	}
}

// TestOpenOtherThings opens places that have something other than a node.
func TestOpenOtherThings(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	for name, text := range map[string]string{"plain/notes.txt": "hello", "v2/.zarray": `{"zarr_format": 3}`, "file": "x", "bad/zarr.json": `{"zarr_format": 3,`} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name   string
		kind   zarr.Kind
		words  string
		target error
	}{
		{"nothing", "not-found", "nothing is here", fs.ErrNotExist},
		{"plain", "not-found", "notes.txt", fs.ErrNotExist},
		{"file", "not-found", "only a file", fs.ErrNotExist},
		{"v2", "unsupported", "/.zarray", zarr.ErrUnsupported},
		{"bad", "invalid-metadata", "", zarr.ErrInvalidMetadata},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := zarr.Open(ctx, filepath.Join(dir, tt.name), nil)
			fixture.Expect(t, err, tt.target, tt.kind, tt.words, tt.name)
		})
	}
}

// TestDamagedChunks expects damage to be an error that names key, chunk and codec, and
// never to read as fill value.
func TestDamagedChunks(t *testing.T) {
	ctx := context.Background()
	for _, tt := range []struct {
		name   string
		damage func([]byte) []byte
		target error
		kind   zarr.Kind
	}{
		{"short", func(b []byte) []byte { return b[:len(b)-1] }, zarr.ErrCorrupt, "checksum"},
		{"empty", func([]byte) []byte { return nil }, zarr.ErrCorrupt, "corrupt"},
		{"flipped", func(b []byte) []byte { b[3] ^= 1; return b }, zarr.ErrChecksum, "checksum"},
		{"long", func(b []byte) []byte { return append(b, make([]byte, 1000)...) }, zarr.ErrCorrupt, "corrupt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := memstore.New()
			a := small(t, s, append(fixture.Plain(), codec.CRC32C())...)
			key := store.MustKey("a/c/1/0")
			raw, _, err := s.Get(ctx, key, store.Request{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := store.Write(ctx, s, store.Put(key, tt.damage(raw)), store.Sync); err != nil {
				t.Fatal(err)
			}
			_, err = zarr.Read[int32](ctx, a, nil)
			fixture.Expect(t, err, tt.target, tt.kind, "a/c/1/0", "[1 0]", "read a")
			var at *zarr.Error
			if !errors.As(err, &at) || at.Key != "a/c/1/0" || len(at.Chunk) != 2 || at.Chunk[0] != 1 {
				t.Errorf("%+v lacks the key, the chunk or the codec", at)
			}
			err = zarr.Write(ctx, a, selection.Box{{1, 2}, {0, 4}}, make([]int32, 4))
			fixture.Expect(t, err, tt.target, tt.kind, "a/c/1/0")
			if err := zarr.Write(ctx, a, selection.Box{{1, 3}, {0, 4}}, make([]int32, 8)); err != nil {
				t.Errorf("writing a whole chunk over a damaged one: %v", err)
			}
		})
	}
}

func TestErrorAsJSONFields(t *testing.T) {
	_, err := zarr.At(memstore.New(), "x").Open(context.Background(), nil)
	var at *zarr.Error
	if !errors.As(err, &at) || at.Op != "open" || at.Path != "x" || at.Axis != -1 {
		t.Fatalf("%+v", at)
	}
	if _, err := json.Marshal(at); err != nil {
		t.Fatal(err)
	}
}
