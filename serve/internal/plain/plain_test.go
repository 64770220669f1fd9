// SPDX-License-Identifier: Apache-2.0

package plain_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/serve/internal/plain"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/fsstore"
	"varve.dev/zarr/store/memstore"
)

func TestMain(m *testing.M) { fixture.Main(m) }

// settings parses the settings of a view.
func settings(t testing.TB, text string) plain.Settings {
	t.Helper()
	s, others, err := plain.ParseSettings(text)
	if err != nil || others != nil {
		t.Fatal(s, others, err)
	}
	return s
}

// viewOf returns the view of a node in a store.
func viewOf(t testing.TB, s store.Store, text string) *plain.View {
	t.Helper()
	return plain.New(zarr.At(s, ""), settings(t, text), plain.NewCache(plain.Least))
}

// shown opens the array that a view shows.
func shown(t testing.TB, v *plain.View, path string) *zarr.Array {
	t.Helper()
	a, err := zarr.At(v, path).OpenArray(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// text returns all elements as JSON, one for each.
func text(t testing.TB, a *zarr.Array) []string {
	t.Helper()
	var list []string
	if a.Type().Variable() {
		b, err := zarr.Read[[]byte](context.Background(), a, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range b.Data {
			list = append(list, string(e))
		}
		return list
	}
	data := make([]byte, fixture.Count(a.Shape())*int64(a.Type().Size()))
	if err := a.ReadBytes(context.Background(), nil, data); err != nil {
		t.Fatal(err)
	}
	for e := range slices.Chunk(data, a.Type().Size()) {
		list = append(list, string(a.Type().AppendJSON(nil, e)))
	}
	return list
}

// TestFixtures shows every array that zarr-python has written in each view, and reads the
// same elements.
func TestFixtures(t *testing.T) {
	z := fixture.OpenZip(t, "stores.zip")
	entries, err := fs.ReadDir(z, ".")
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, e := range entries {
		if !e.IsDir() || strings.Contains(e.Name(), "lzma") {
			continue
		}
		sub := fixture.Must(fs.Sub(z, e.Name()))
		s := fsstore.New(sub)
		node, err := zarr.At(s, "").Open(t.Context(), nil)
		if err != nil {
			t.Fatal(e.Name(), err)
		}
		arrays := map[string]*zarr.Array{}
		if g, ok := node.(*zarr.Group); ok {
			for m, err := range g.Members(t.Context(), true) {
				if a, ok := m.Node.(*zarr.Array); ok && err == nil {
					arrays[m.Path] = a
				}
			}
		} else {
			arrays[""] = node.(*zarr.Array)
		}
		for _, view := range []string{"regular", "regular,codec=gzip", "v2", "v2,codec=none"} {
			v := viewOf(t, s, view)
			for path, a := range arrays {
				t.Run(e.Name()+"/"+path+"/"+view, func(t *testing.T) {
					b, err := zarr.At(v, path).OpenArray(t.Context(), nil)
					if errors.Is(err, zarr.ErrUnsupported) && strings.HasPrefix(view, "v2") {
						count["refused"]++
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					count["shown"]++
					if !b.Grid().IsRegular() || b.Grid().Name() != "regular" {
						t.Errorf("the grid is %s", b.Grid())
					}
					if a.Type().Kind() == dtype.KindDatetime && b.Type() == dtype.Int64 {
						return // TestTypes compares them
					}
					if was, is := text(t, a), text(t, b); !slices.Equal(was, is) {
						t.Errorf("elements are %.200q, want %.200q", is, was)
					}
				})
			}
		}
	}
	if count["shown"] < 480 || count["refused"] > 10 {
		t.Errorf("%v", count)
	}
}

// cut returns random edges of an axis.
func cut(r *rand.Rand, extent int64) grid.Cut {
	if r.IntN(2) == 0 {
		return grid.Every(1 + r.Int64N(extent))
	}
	var edges []int64
	for at := int64(0); at < extent; {
		n := 1 + r.Int64N(extent)
		edges = append(edges, n)
		at += n
	}
	return grid.Edges(edges...)
}

// TestRandomArrays compares views of arrays of random types, grids and shards with the
// arrays, for random chunk shapes of the views.
func TestRandomArrays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	types := fixture.Types(t)
	for i := range 300 {
		shape := []int64{1 + r.Int64N(9), 1 + r.Int64N(9)}[:r.IntN(3)]
		spec := zarr.Spec{Shape: shape, Type: types[r.IntN(len(types))]}
		var chunks []string
		for _, n := range shape {
			spec.Chunks = append(spec.Chunks, cut(r, n))
			chunks = append(chunks, fmt.Sprint(1+r.Int64N(n)))
		}
		if r.IntN(3) == 0 && len(shape) > 0 {
			spec.Chunks, spec.InnerChunks = nil, nil
			for range shape {
				n := 1 + r.Int64N(3)
				spec.Chunks = append(spec.Chunks, grid.Every(n*(1+r.Int64N(3))))
				spec.InnerChunks = append(spec.InnerChunks, grid.Every(n))
			}
		}
		s := memstore.New()
		a, err := zarr.At(s, "a/b").CreateArray(t.Context(), spec, &zarr.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if fixture.Count(shape) > 1 && !spec.Type.Variable() {
			half := selection.Box{}
			elements := int64(1)
			for _, n := range shape {
				half = append(half, [2]int64{n / 3, n})
				elements *= n - n/3
			}
			var data []byte
			for range elements {
				data = append(data, fixture.Element(r, spec.Type)...)
			}
			if err := a.WriteBytes(t.Context(), half, data); err != nil {
				t.Fatal(err)
			}
		} else if spec.Type.Variable() {
			data := make([][]byte, fixture.Count(shape))
			for j := range data {
				data[j] = fixture.Element(r, spec.Type)
			}
			if err := zarr.Write(t.Context(), a, nil, data); err != nil {
				t.Fatal(err)
			}
		}
		name := "regular"
		if chunks != nil && r.IntN(3) > 0 {
			name += ",chunks=" + strings.Join(chunks, "x")
		}
		b := shown(t, viewOf(t, s, name), "a/b")
		if b.Type() == dtype.Int64 && a.Type() != b.Type() {
			continue // TestTypes
		}
		if b.Type() == dtype.Float32 && a.Type() != b.Type() {
			was, is := fixture.Must(zarr.ReadAs[float64](t.Context(), a, nil)), fixture.Must(zarr.ReadAs[float64](t.Context(), b, nil))
			if !slices.EqualFunc(was.Data, is.Data, func(x, y float64) bool { return x == y || x != x && y != y }) {
				t.Fatalf("%d: %s as %s: elements are %v, want %v", i, a, name, is.Data, was.Data)
			}
			continue
		}
		if was, is := text(t, a), text(t, b); !slices.Equal(was, is) {
			t.Fatalf("%d: %s as %s: elements are %q, want %q", i, a, name, is, was)
		}
	}
}

// TestTypes says what becomes of each data type.
func TestTypes(t *testing.T) {
	names := map[string]string{"int2": "int8", "int4": "int8", "uint2": "uint8", "uint4": "uint8", "bfloat16": "float32"}
	for _, typ := range fixture.Types(t) {
		s := memstore.New()
		a, err := zarr.At(s, "").CreateArray(t.Context(), zarr.Spec{Shape: []int64{2}, Type: typ}, nil)
		if err != nil {
			t.Fatal(err)
		}
		b := shown(t, viewOf(t, s, "regular"), "")
		want, mapped := names[typ.Name()]
		if strings.HasPrefix(typ.Name(), "float") && typ.Size() == 1 {
			want, mapped = "float32", true
		}
		if typ.Kind() == dtype.KindDatetime && b.Type() != typ {
			continue // below
		}
		if !mapped {
			want = typ.Name()
		}
		if b.Type().Name() != want {
			t.Errorf("%s is shown as %s", a.Type(), b.Type())
		}
		if noted := strings.Contains(string(b.Attributes()), "is shown as"); noted != mapped {
			t.Errorf("%s: attributes are %s", typ, b.Attributes())
		}
	}
}

// TestMoments shows dates as the numbers that xarray decodes.
func TestMoments(t *testing.T) {
	s := memstore.New()
	typ, err := dtype.DatetimeOf("D", 1)
	if err != nil {
		t.Fatal(err)
	}
	a, err := zarr.At(s, "").CreateArray(t.Context(), zarr.Spec{Shape: []int64{3}, Type: typ, Attributes: map[string]any{"long_name": "day"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	elem := make([]byte, 16)
	elem[0], elem[8] = 1, 2
	if err := a.WriteBytes(t.Context(), selection.Box{{0, 2}}, elem); err != nil {
		t.Fatal(err)
	}
	b := shown(t, viewOf(t, s, "regular"), "")
	got, err := zarr.Read[int64](t.Context(), b, nil)
	if err != nil || !slices.Equal(got.Data, []int64{1, 2, -1 << 63}) {
		t.Error(got.Data, err)
	}
	var attributes struct {
		Units     string
		Calendar  string
		FillValue int64  `json:"_FillValue"`
		LongName  string `json:"long_name"`
	}
	if err := b.DecodeAttributes(&attributes); err != nil || attributes.Units != "days since 1970-01-01" || attributes.FillValue != -1<<63 || attributes.LongName != "day" {
		t.Errorf("%+v %v", attributes, err)
	}
}

// decodes counts the chunks that are decoded.
type decodes struct {
	mu   sync.Mutex
	keys map[string]int
}

func (d *decodes) Observe(_ context.Context, e observe.Event) {
	if e.Op == observe.Decode {
		d.mu.Lock()
		d.keys[e.Key.String()]++
		d.mu.Unlock()
	}
}

// TestDecodesOnce reads whole views in C order with a cache that holds one slab, and
// expects that each chunk, or inner chunk, of the source is decoded once.
func TestDecodesOnce(t *testing.T) {
	for name, spec := range map[string]zarr.Spec{
		"rectilinear": {Chunks: []grid.Cut{grid.Edges(7, 9, 5, 43), grid.Edges(100, 28, 72)}},
		"shards":      {Chunks: grid.Chunks(32, 100), InnerChunks: grid.Chunks(16, 20)},
	} {
		t.Run(name, func(t *testing.T) {
			spec.Shape, spec.Type = []int64{64, 200}, dtype.Int32
			s := memstore.New()
			a, err := zarr.At(s, "").CreateArray(t.Context(), spec, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 64*200)); err != nil {
				t.Fatal(err)
			}
			seen := &decodes{keys: map[string]int{}}
			v := plain.New(zarr.At(s, "").With(&zarr.Options{Observer: seen}), settings(t, "regular,chunks=10x30"), plain.NewCache(plain.Least))
			b := shown(t, v, "")
			units := a.Grid()
			if n := a.Inner(); n != nil {
				units = fixture.Must(n.Grid())
			}
			clear(seen.keys)
			for i := range b.Grid().Cells()[0] {
				for j := range b.Grid().Cells()[1] {
					if _, err := b.ReadChunk(t.Context(), []int64{i, j}); err != nil {
						t.Fatal(err)
					}
				}
			}
			total := 0
			for _, n := range seen.keys {
				total += n
			}
			if n, _ := units.NumChunks(); int64(total) != n {
				t.Errorf("%d chunks were decoded, want %d: %v", total, n, seen.keys)
			}
		})
	}
}

// unversioned is a store that does not tell versions.
type unversioned struct{ store.Store }

func (u unversioned) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	data, info, err := u.Store.Get(ctx, key, q, dst)
	info.Version = store.Version{}
	return data, info, err
}

// TestGrowthWithoutVersions appends to the source of a view several times. Its store has
// no versions, so the document is read each time.
func TestGrowthWithoutVersions(t *testing.T) {
	s := memstore.New()
	a, err := zarr.At(s, "").CreateArray(t.Context(), zarr.Spec{Shape: []int64{0}, Type: dtype.Int32, Chunks: grid.Chunks(3)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := viewOf(t, unversioned{s}, "regular,chunks=3")
	for n := int32(0); n < 12; n += 3 {
		if err := zarr.Append(t.Context(), a, 0, fixture.Numbers(n, 3), nil); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got, err := zarr.Read[int32](t.Context(), shown(t, v, ""), nil)
			if err != nil || !slices.Equal(got.Data, fixture.Numbers(0, n+3)) {
				t.Fatal(n, got.Data, err)
			}
		}
	}
}

// TestGrowth appends to the source of a view: its grid stays, and what is new is shown.
func TestGrowth(t *testing.T) {
	for name, s := range map[string]store.Store{"near": memstore.New(), "far": fixture.Conditional(memstore.New())} {
		t.Run(name, func(t *testing.T) {
			a, err := zarr.At(s, "").CreateArray(t.Context(), zarr.Spec{Shape: []int64{5}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(4, 4)}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := zarr.Write(t.Context(), a, nil, fixture.Numbers(0, 5)); err != nil {
				t.Fatal(err)
			}
			v := viewOf(t, s, "regular,chunks=3")
			b := shown(t, v, "")
			if got := text(t, b); len(got) != 5 {
				t.Fatal(got)
			}
			for n := 5; n < 40; n += 3 {
				if err := zarr.Append(t.Context(), a, 0, fixture.Numbers(int32(n), 3), nil); err != nil {
					t.Fatal(err)
				}
				if err := b.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
				got, err := zarr.Read[int32](t.Context(), b, nil)
				if err != nil || !slices.Equal(got.Data, fixture.Numbers(0, int32(n+3))) {
					t.Fatal(n, got.Data, err)
				}
			}
			// Another grid of the source changes nothing.
			if _, err := rechunk.Do(t.Context(), a, rechunk.Compaction{Axis: 0, UpTo: 16}, nil); err != nil {
				t.Fatal(err)
			}
			if err := b.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got, err := zarr.Read[int32](t.Context(), b, nil); err != nil || !slices.Equal(got.Data, fixture.Numbers(0, 41)) || v.Moved() {
				t.Error(got.Data, err)
			}
		})
	}
}

// TestWrites overwrites elements of the source, which a view shows at once if the store
// is near.
func TestWrites(t *testing.T) {
	s := memstore.New()
	a := fixture.Must(zarr.At(s, "").CreateArray(t.Context(), zarr.Spec{Shape: []int64{6}, Type: dtype.Int32, Chunks: grid.Chunks(4)}, nil))
	v := viewOf(t, s, "regular,chunks=3")
	b := shown(t, v, "")
	key := store.MustKey("c/0")
	var last store.Version
	for i := range int32(5) {
		if err := zarr.Write(t.Context(), a, nil, fixture.Numbers(i, 6)); err != nil {
			t.Fatal(err)
		}
		got, err := zarr.Read[int32](t.Context(), b, nil)
		if err != nil || !slices.Equal(got.Data, fixture.Numbers(i, 6)) {
			t.Fatal(got.Data, err)
		}
		version, err := v.Version(t.Context(), key)
		o := fixture.Must(v.Open(t.Context(), key))
		if err != nil || version != o.Info().Version || version == last {
			t.Error(version, o.Info().Version, last, err)
		}
		last = version
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestGone changes a source so that a view no longer shows what it did.
func TestGone(t *testing.T) {
	create := func(t *testing.T, s store.Store, typ dtype.Type, opt *zarr.CreateOptions) *zarr.Array {
		a, err := zarr.At(s, "").CreateArray(t.Context(), zarr.Spec{Shape: []int64{8}, Type: typ, Chunks: grid.Chunks(2)}, opt)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for name, change := range map[string]func(t *testing.T, s store.Store, a *zarr.Array) error{
		"dropped": func(t *testing.T, _ store.Store, a *zarr.Array) error {
			_, err := rechunk.Do(t.Context(), a, rechunk.Removal{Axis: 0, Range: grid.Interval{Start: 0, Stop: 2}}, nil)
			return err
		},
		"deleted": func(t *testing.T, s store.Store, _ *zarr.Array) error {
			return zarr.At(s, "").Delete(t.Context(), &zarr.Options{Write: true})
		},
		"replaced": func(t *testing.T, s store.Store, _ *zarr.Array) error {
			create(t, s, dtype.Int16, &zarr.CreateOptions{Overwrite: true})
			return nil
		},
		"another fill value": func(t *testing.T, s store.Store, _ *zarr.Array) error {
			spec := zarr.Spec{Shape: []int64{8}, Type: dtype.Int32, Chunks: grid.Chunks(2), FillValue: zarr.FillOf(int32(7))}
			_, err := zarr.At(s, "").CreateArray(t.Context(), spec, &zarr.CreateOptions{Overwrite: true})
			return err
		},
		"a group": func(t *testing.T, s store.Store, _ *zarr.Array) error {
			_, err := zarr.At(s, "").CreateGroup(t.Context(), nil, &zarr.CreateOptions{Overwrite: true})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := memstore.New()
			a := create(t, s, dtype.Int32, nil)
			if err := zarr.Write(t.Context(), a, nil, fixture.Numbers(0, 8)); err != nil {
				t.Fatal(err)
			}
			v := viewOf(t, s, "regular,chunks=3")
			shown(t, v, "")
			if err := change(t, s, a); err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"zarr.json", "c/0", "c/1", "c/2"} {
				if _, _, err := v.Get(t.Context(), store.MustKey(key), store.Request{}, nil); !errors.Is(err, plain.ErrGone) {
					t.Errorf("%s: %v", key, err)
				}
			}
			if !v.Moved() {
				t.Error("the view does not say so")
			}
		})
	}
}

// TestNoChunkIsMissing asks for chunks that a view has and has not: fs.ErrNotExist would
// be taken for the fill value.
func TestNoChunkIsMissing(t *testing.T) {
	s := memstore.New()
	a := fixture.Must(zarr.At(s, "g/a").CreateArray(t.Context(), zarr.Spec{Shape: []int64{8}, Type: dtype.Int32, Chunks: grid.Chunks(2)}, nil))
	v := viewOf(t, s, "regular,chunks=2")
	ask := func(key string) error {
		_, _, err := v.Get(t.Context(), store.MustKey(key), store.Request{}, nil)
		return err
	}
	if err := ask("g/a/c/3"); err != nil {
		t.Error("a chunk that is not stored:", err)
	}
	if err := a.Resize(t.Context(), []int64{5}, nil); err != nil {
		t.Fatal(err)
	}
	if err := ask("g/a/c/2"); err != nil {
		t.Error("a chunk at the end:", err)
	}
	for _, key := range []string{"g/a/c/3", "g/c/0", "x/c/0", "c/0/0"} {
		if err := ask(key); !errors.Is(err, plain.ErrGone) {
			t.Errorf("%s: %v", key, err)
		}
	}
	for _, key := range []string{"g/a/x", "g/a/c/x", "x/zarr.json", "g/.zgroup", "g/a/.zarray"} {
		if err := ask(key); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if v.Moved() {
		t.Error("the view ended")
	}
}

// TestGroups opens groups of a view, with consolidated metadata and by their listing.
func TestGroups(t *testing.T) {
	s := memtest.New()
	ctx := t.Context()
	h := zarr.At(s, "")
	fixture.Must(h.CreateGroup(ctx, map[string]int{"x": 1}, nil))
	months := fixture.Months()
	for _, path := range []string{"t", "a/t", "a/b/t"} {
		spec := zarr.Spec{Shape: []int64{59}, Type: dtype.Int16, Chunks: []grid.Cut{grid.Edges(31, 28)}, DimensionNames: []string{"time"},
			Attributes: map[string]any{"varve:growth": map[string]string{"policy": months.String()}}}
		fixture.Must(h.At(path).CreateArray(ctx, spec, nil))
	}
	for _, view := range []string{"regular", "v2"} {
		v := viewOf(t, s, view)
		g, err := zarr.At(v, "").OpenGroup(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if g.Metadata().Consolidated.Len() != 5 {
			t.Errorf("%s: consolidated metadata has %d entries", view, g.Metadata().Consolidated.Len())
		}
		for _, from := range []*zarr.Group{g, g.Unconsolidated()} {
			var paths []string
			for m, err := range from.Members(ctx, true) {
				if err != nil || m.Err != nil {
					t.Fatal(view, err, m.Err)
				}
				paths = append(paths, m.Path)
			}
			if !slices.Equal(paths, []string{"a", "a/b", "a/b/t", "a/t", "t"}) {
				t.Errorf("%s: members are %v", view, paths)
			}
		}
		if !bytes.Contains(g.Attributes(), []byte(`"x":1`)) && !bytes.Contains(g.Attributes(), []byte(`"x": 1`)) {
			t.Errorf("attributes are %s", g.Attributes())
		}
		a := shown(t, v, "a/t")
		if bytes.Contains(a.Attributes(), []byte("growth")) || !slices.Equal(a.DimensionNames(), []string{"time"}) {
			t.Errorf("%s %v", a.Attributes(), a.DimensionNames())
		}
	}
	small := plain.NewCache(plain.Least)
	small.Limits.Members = 4
	g, err := zarr.At(plain.New(h, plain.Settings{}, small), "").OpenGroup(ctx, nil)
	if err != nil || g.Metadata().Consolidated != nil {
		t.Error("consolidated metadata in spite of the limit", err)
	}
}

// TestSettings parses settings and spells them again.
func TestSettings(t *testing.T) {
	for text, want := range map[string]string{
		"regular": "regular", "regular,chunks=64x1x7": "", "v2": "", "v2,codec=gzip,chunks=3": "v2,chunks=3,codec=gzip",
		"regular,codec=zstd": "regular", "regular,codec=none": "",
		"regular,coarsen=lat:8+b:c:2,method=mean,codec=gzip": "regular,codec=gzip,coarsen=b:c:2+lat:8,method=mean",
		"v2,coarsen=lat:8+lon:1":                             "v2,coarsen=lat:8", "v2,coarsen=lat:1,method=nearest": "v2",
	} {
		if want == "" {
			want = text
		}
		if s, _, err := plain.ParseSettings(text); err != nil || s.String() != want {
			t.Errorf("%s: %s %v", text, s, err)
		}
	}
	if _, others, err := plain.ParseSettings("regular,at=7"); err != nil || others["at"] != "7" {
		t.Error(others, err)
	}
	for _, text := range []string{
		"", "x", "regular,chunks=", "regular,chunks=0", "regular,chunks=-1", "regular,chunks=1x", "regular,chunks=+1", "regular,chunks=01",
		"regular,chunks=1,chunks=1", "regular,codec=", "regular,codec=lz4", "regular,chunks=99999999999999999999", "regular,at=1,at=1",
		"regular,chunks=" + strings.Repeat("1x", 5000) + "1",
		"regular,coarsen=", "regular,coarsen=8", "regular,coarsen=:8", "regular,coarsen=lat:0", "regular,coarsen=lat:08", "regular,coarsen=lat:-8",
		"regular,coarsen=lat:65537", "regular,coarsen=lat:8+", "regular,coarsen=lat:8+lat:9", "regular,coarsen=lat:1+lat:8", "regular,method=mean",
		"regular,coarsen=lat:8,method=mode", "regular,coarsen=lat:8,method=", "regular,coarsen=" + strings.Repeat("1:1+", 5000) + "1:1",
	} {
		if s, others, err := plain.ParseSettings(text); err == nil {
			t.Errorf("%.40q: %v %v", text, s, others)
		}
	}
}

// TestChunkShapes proposes chunk shapes, and refuses those that cost too much.
func TestChunkShapes(t *testing.T) {
	for _, c := range []struct {
		spec zarr.Spec
		view string
		want []int64 // nil: refused
	}{
		{zarr.Spec{Shape: []int64{365, 180, 360}, Chunks: []grid.Cut{grid.Edges(31, 28, 306), grid.Every(180), grid.Every(360)}}, "regular", []int64{77, 45, 45}},
		{zarr.Spec{Shape: []int64{4096, 4096}, Chunks: grid.Chunks(1024, 1024), InnerChunks: grid.Chunks(64, 64)}, "regular", []int64{256, 256}},
		{zarr.Spec{Shape: []int64{100_000}, Chunks: grid.Chunks(1)}, "regular", []int64{1024}},
		{zarr.Spec{Shape: []int64{0, 4}, Chunks: grid.Chunks(1, 4)}, "regular", []int64{1, 4}},
		{zarr.Spec{Shape: nil}, "regular", []int64{}},
		{zarr.Spec{Shape: []int64{4096, 4096}, Chunks: grid.Chunks(1024, 1024)}, "regular,chunks=1x1", nil},
		{zarr.Spec{Shape: []int64{4096, 4096}, Chunks: grid.Chunks(1024, 1024)}, "regular,chunks=4096x4096", nil},
		{zarr.Spec{Shape: []int64{4096, 4096}, Chunks: grid.Chunks(1024, 1024)}, "regular,chunks=64x64", []int64{64, 64}},
		{zarr.Spec{Shape: []int64{4096, 4096}, Chunks: grid.Chunks(1024, 1024)}, "regular,chunks=64", nil},
		{zarr.Spec{Shape: []int64{8760, 64, 64}, Chunks: grid.Chunks(1, 64, 64)}, "regular,chunks=8760x1x1", nil},
		{zarr.Spec{Shape: []int64{8760, 64, 64}, Chunks: []grid.Cut{grid.Edges(slices.Repeat([]int64{1, 2}, 2920)...), grid.Every(64), grid.Every(64)}}, "regular,chunks=8760x1x1", nil},
		{zarr.Spec{Shape: []int64{8760, 64, 64}, Chunks: grid.Chunks(1, 64, 64)}, "regular,chunks=8760x2x2", []int64{8760, 2, 2}},
		{zarr.Spec{Shape: []int64{512, 512, 256}, Chunks: grid.Chunks(512, 512, 1)}, "regular,chunks=1x1x256", nil},
		{zarr.Spec{Shape: []int64{100, 100, 100}, Chunks: grid.Chunks(1, 100, 100)}, "regular,chunks=100x1x1", []int64{100, 1, 1}},
		{zarr.Spec{Shape: []int64{40, 40}, Chunks: grid.Chunks(40, 40)}, "regular,chunks=1x1", nil},
		{zarr.Spec{Shape: []int64{20, 20}, Chunks: grid.Chunks(20, 20)}, "regular,chunks=1x1", []int64{1, 1}},
		{zarr.Spec{Shape: []int64{3}, Chunks: grid.Chunks(1000)}, "regular,chunks=1", []int64{1}},
	} {
		s := memstore.New()
		c.spec.Type = dtype.Float32
		fixture.Must(zarr.At(s, "").CreateArray(t.Context(), c.spec, nil))
		a, err := zarr.At(viewOf(t, s, c.view), "").OpenArray(t.Context(), nil)
		if c.want == nil {
			fixture.Expect(t, err, zarr.ErrInvalidArgument, "invalid-argument", "chunks=")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for i := range a.Rank() {
			got = append(got, a.Grid().Axis(i).Step())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v as %s: chunks of %v, want %v", c.spec.Shape, c.view, got, c.want)
		}
	}
}

// TestErrors expects damage of a source to be an error of the view, never a value.
func TestErrors(t *testing.T) {
	s := memtest.New()
	a := fixture.Must(zarr.At(s, "").CreateArray(t.Context(), zarr.Spec{Shape: []int64{8}, Type: dtype.Int32, Chunks: grid.Chunks(4), Codecs: []metadata.Extension{codec.Bytes("little"), codec.CRC32C()}}, nil))
	if err := zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 8)); err != nil {
		t.Fatal(err)
	}
	if err := fixture.FlipByte(s, "c/0", 0); err != nil {
		t.Fatal(err)
	}
	v := viewOf(t, s, "regular,chunks=3")
	for range 2 {
		_, _, err := v.Get(t.Context(), store.MustKey("c/0"), store.Request{}, nil)
		fixture.Expect(t, err, zarr.ErrCorrupt, "checksum", "c/0")
	}
	if _, _, err := v.Get(t.Context(), store.MustKey("c/2"), store.Request{}, nil); err != nil {
		t.Error(err)
	}
}
