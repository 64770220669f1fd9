// SPDX-License-Identifier: Apache-2.0

package plain_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/pyramid"
	"varve.dev/zarr/serve/internal/plain"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// coarse returns the elements of a coarsened array, made one by one.
func coarse(data []float64, shape, block []int64, mean bool) (made []float64) {
	up := make([]int64, len(shape))
	for i, f := range block {
		up[i] = (shape[i] + f - 1) / f
	}
	for index := range grid.BoxOf(up).Indices() {
		part := make(grid.Box, len(index))
		for i, k := range index {
			part[i] = grid.Interval{Start: k * block[i], Stop: min((k+1)*block[i], shape[i])}
		}
		offset := func(at []int64) (n int64) {
			for i, k := range at {
				n = n*shape[i] + k
			}
			return n
		}
		var first, sum, n float64
		for i := range index {
			index[i] = part[i].Start
		}
		first = data[offset(index)]
		for at := range part.Indices() {
			if x := data[offset(at)]; x == x {
				sum, n = sum+x, n+1
			}
		}
		if mean && n > 0 {
			first = sum / n
		}
		made = append(made, first)
	}
	return made
}

func sameFloats(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || x != x && y != y })
}

// randomCuts returns random chunks, or shards, of a shape.
func randomCuts(r *rand.Rand, spec *zarr.Spec) {
	shards := r.IntN(3) == 0
	for _, n := range spec.Shape {
		if !shards {
			spec.Chunks = append(spec.Chunks, cut(r, n))
			continue
		}
		inner := 1 + r.Int64N(3)
		spec.Chunks = append(spec.Chunks, grid.Every(inner*(1+r.Int64N(3))))
		spec.InnerChunks = append(spec.InnerChunks, grid.Every(inner))
	}
}

// drawView returns a coarsened view of an array with the dimensions d, e and f.
func drawView(r *rand.Rand, shape []int64) (block []int64, text string) {
	names, chunks, parts := []string{"d", "e", "f"}, []string{}, []string{}
	for i := range shape {
		f := 1 + r.Int64N(6)
		if i == 0 {
			f++
		}
		block = append(block, f)
		parts = append(parts, fmt.Sprintf("%s:%d", names[i], f))
		chunks = append(chunks, fmt.Sprint(1+r.IntN(5)))
	}
	text = "regular,coarsen=" + strings.Join(parts, "+")
	if r.IntN(3) > 0 {
		text += ",chunks=" + strings.Join(chunks, "x")
	}
	return block, text
}

// TestLevels compares coarsened views of random arrays with a plain model.
func TestLevels(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 300 {
		spec := zarr.Spec{Type: dtype.Float64, DimensionNames: []string{"d", "e", "f"}}
		for range 1 + r.IntN(3) {
			spec.Shape = append(spec.Shape, 1+r.Int64N(15))
		}
		spec.DimensionNames = spec.DimensionNames[:len(spec.Shape)]
		randomCuts(r, &spec)
		s := memstore.New()
		a := fixture.Must(zarr.At(s, "").CreateArray(t.Context(), spec, nil))
		data := make([]float64, fixture.Count(spec.Shape))
		for j := range data {
			if data[j] = float64(r.IntN(100)); r.IntN(9) == 0 {
				data[j] = math.NaN()
			}
		}
		if err := zarr.Write(t.Context(), a, nil, data); err != nil {
			t.Fatal(err)
		}
		block, view := drawView(r, spec.Shape)
		for _, method := range []string{"", ",method=mean", ",method=nearest"} {
			b := shown(t, viewOf(t, s, view+method), "")
			got, err := zarr.Read[float64](t.Context(), b, nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := coarse(data, spec.Shape, block, method != ",method=nearest"); !sameFloats(got.Data, want) {
				t.Fatalf("%d: %s as %s: elements are %v, want %v", i, a, view+method, got.Data, want)
			}
		}
	}
}

// TestLevelsOfPyramids compares coarsened views of arrays of all types with the levels
// that package pyramid makes, also with missing values.
func TestLevelsOfPyramids(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	types := fixture.Types(t)
	means := 0
	for i := range 400 {
		typ := types[i%len(types)]
		if typ.Variable() {
			continue
		}
		spec := zarr.Spec{Type: typ, Shape: []int64{1 + r.Int64N(12), 1 + r.Int64N(12)}, DimensionNames: []string{"d", "e"}, Format: 3 - i/len(types)%2}
		if spec.Format == 2 {
			spec.Chunks = grid.Chunks(3, 5)
		} else {
			randomCuts(r, &spec)
		}
		// One of few elements is missing.
		some := [][]byte{make([]byte, typ.Size())}
		for range 4 {
			some = append(some, fixture.Element(r, typ))
		}
		if k := typ.Kind(); k == dtype.KindInt || k == dtype.KindUint || k == dtype.KindFloat && r.IntN(2) == 0 {
			spec.Attributes = map[string]any{"_FillValue": json.RawMessage(typ.AppendJSON(nil, some[1]))}
		}
		s := memstore.New()
		fixture.Must(zarr.At(s, "").CreateGroup(t.Context(), nil, nil))
		a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
		if spec.Format == 2 && err != nil {
			continue // the format has no such type
		}
		if err != nil {
			t.Fatal(err)
		}
		var data []byte
		for range fixture.Count(spec.Shape) {
			data = append(data, some[r.IntN(len(some))]...)
		}
		if err := a.WriteBytes(t.Context(), nil, data); err != nil {
			t.Fatal(err)
		}
		block, view := drawView(r, spec.Shape)
		for _, m := range []pyramid.Method{pyramid.Mean, pyramid.Nearest} {
			if _, err := pyramid.Make(t.Context(), a, &pyramid.Options{Method: m, Factors: block, Levels: 1}); err != nil {
				if m == pyramid.Mean {
					m = pyramid.Nearest // the type has no mean
					_, err = pyramid.Make(t.Context(), a, &pyramid.Options{Method: m, Factors: block, Levels: 1})
				}
				if err != nil {
					t.Fatal(err)
				}
			} else if m == pyramid.Mean {
				means++
			}
			// The view of the level differs from it in the types that it shows.
			want := shown(t, viewOf(t, s, "regular"), "a_levels/1/a")
			b := shown(t, viewOf(t, s, view+",method="+string(m)), "a")
			if was, is := text(t, want), text(t, b); !slices.Equal(was, is) {
				t.Fatalf("%d: %s as %s by %s: elements are %q, want %q", i, a, view, m, is, was)
			}
		}
	}
	if means < 100 {
		t.Errorf("%d means", means)
	}
}

// TestLevelTypes says how elements are made of blocks by default.
func TestLevelTypes(t *testing.T) {
	struct2 := fixture.Must(dtype.StructOf(dtype.Field{Name: "x", Type: dtype.Int16}))
	s := memstore.New()
	h := zarr.At(s, "")
	fixture.Must(h.CreateGroup(t.Context(), nil, nil))
	fixture.Must(h.At("labels").CreateGroup(t.Context(), map[string]any{"ome": map[string]any{"image-label": map[string]any{}}}, nil))
	mean, first := "elements are means of blocks of 2 along y", "elements are the first ones of blocks of 2 along y"
	for path, c := range map[string]struct {
		typ        dtype.Type
		attributes map[string]any
		want       [2]string // without a method, and with method=mean
	}{
		"float":      {dtype.Float32, nil, [2]string{mean, mean}},
		"int":        {dtype.Int8, nil, [2]string{mean, mean}},
		"complex":    {dtype.Complex64, nil, [2]string{mean, mean}},
		"flags":      {dtype.Uint8, map[string]any{"flag_values": []int{0, 1}}, [2]string{first, mean}},
		"labels/0":   {dtype.Uint8, nil, [2]string{first, mean}},
		"masks":      {dtype.Uint8, map[string]any{"flag_masks": []int{1, 2}}, [2]string{first, mean}},
		"bool":       {dtype.Bool, nil, [2]string{first, first}},
		"text":       {dtype.String, nil, [2]string{first, first}},
		"struct":     {struct2, nil, [2]string{first, first}},
		"other/axis": {dtype.Int8, nil, [2]string{}},
	} {
		names := []string{"y"}
		if path == "other/axis" {
			names = []string{"x"}
		}
		fixture.Must(h.At(path).CreateArray(t.Context(), zarr.Spec{Shape: []int64{5}, Type: c.typ, Attributes: c.attributes, DimensionNames: names}, nil))
		for i, view := range []string{"regular,coarsen=y:2", "regular,coarsen=y:2,method=mean"} {
			b := shown(t, viewOf(t, s, view), path)
			var is struct {
				Served struct{ Changes []string } `json:"varve:served"`
			}
			if err := b.DecodeAttributes(&is); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(is.Served.Changes, "; "); got != c.want[i] {
				t.Errorf("%s as %s: %q, want %q", path, view, got, c.want[i])
			}
			if n := b.Shape()[0]; n != 3 && c.want[i] != "" || c.want[i] == "" && n != 5 {
				t.Errorf("%s as %s has %d elements", path, view, n)
			}
		}
	}
}

// TestLevelTexts takes the first of each block of texts.
func TestLevelTexts(t *testing.T) {
	s := memstore.New()
	a := fixture.Must(zarr.At(s, "").CreateArray(t.Context(), zarr.Spec{Shape: []int64{11}, Type: dtype.String, Chunks: grid.Chunks(4)}, nil))
	if err := zarr.Write(t.Context(), a, nil, strings.Split("a b c d e f g h i j k", " ")); err != nil {
		t.Fatal(err)
	}
	for _, view := range []string{"regular,coarsen=0:3", "regular,coarsen=0:3,chunks=2", "v2,coarsen=0:3,chunks=3"} {
		if got := text(t, shown(t, viewOf(t, s, view), "")); !slices.Equal(got, []string{"a", "d", "g", "j"}) {
			t.Errorf("%s: %v", view, got)
		}
	}
}

// TestLevelGrowth appends to the source of a coarsened view: the last block changes, and
// with it the version of its chunk.
func TestLevelGrowth(t *testing.T) {
	for name, s := range map[string]store.Store{"near": memstore.New(), "far": fixture.Conditional(memstore.New())} {
		for _, method := range []string{"mean", "nearest"} {
			t.Run(name+"/"+method, func(t *testing.T) {
				at := zarr.At(s, method)
				a := fixture.Must(at.CreateArray(t.Context(), zarr.Spec{Shape: []int64{5}, Type: dtype.Float64, Chunks: []grid.Cut{grid.Edges(4, 4)}, DimensionNames: []string{"d"}}, nil))
				data := []float64{0, 1, 2, 3, 4}
				if err := zarr.Write(t.Context(), a, nil, data); err != nil {
					t.Fatal(err)
				}
				v := viewOf(t, s, "regular,chunks=2,coarsen=d:3,method="+method)
				b := shown(t, v, method)
				last := store.Version{}
				for n := 5; n < 40; n++ {
					// Without the new document, too.
					key := store.MustKey(fmt.Sprintf("%s/c/%d", method, (n-1)/6))
					version, err := v.Version(t.Context(), key)
					if err != nil || version == last {
						t.Error(n, version, err)
					}
					last = version
					if err := b.Refresh(t.Context()); err != nil {
						t.Fatal(err)
					}
					got, err := zarr.Read[float64](t.Context(), b, nil)
					if want := coarse(data, []int64{int64(n)}, []int64{3}, method == "mean"); err != nil || !slices.Equal(got.Data, want) {
						t.Fatal(n, got.Data, want, err)
					}
					data = append(data, float64(n*n))
					if err := zarr.Append(t.Context(), a, 0, data[n:], nil); err != nil {
						t.Fatal(err)
					}
				}
				// A chunk of the view beyond the end is none, as it is in other views.
				if err := a.Resize(t.Context(), []int64{12}, nil); err != nil {
					t.Fatal(err)
				}
				if err := b.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
				if b.Shape()[0] != 4 || v.Moved() {
					t.Error(b.Shape(), v.Moved())
				}
				_, _, err := v.Get(t.Context(), store.MustKey(method+"/c/2"), store.Request{}, nil)
				fixture.Expect(t, err, plain.ErrGone, "io", "shape is [4]")
			})
		}
	}
}

// TestLevelAttributes changes which elements are missing: chunks that were made before
// are not taken for those after.
func TestLevelAttributes(t *testing.T) {
	s := memstore.New()
	a := fixture.Must(zarr.At(s, "").CreateArray(t.Context(), zarr.Spec{Shape: []int64{4}, Type: dtype.Int32, DimensionNames: []string{"d"}}, nil))
	if err := zarr.Write(t.Context(), a, nil, []int32{1, 9, 9, 3}); err != nil {
		t.Fatal(err)
	}
	b := shown(t, viewOf(t, s, "regular,coarsen=d:4"), "")
	for _, c := range []struct {
		name  string
		value any
		want  int32
	}{{"units", "K", 6}, {"_FillValue", 9, 2}, {"flag_values", []int{1}, 1}} {
		if err := a.SetAttribute(t.Context(), c.name, c.value); err != nil {
			t.Fatal(err)
		}
		if err := b.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := zarr.Read[int32](t.Context(), b, nil); err != nil || got.Data[0] != c.want {
			t.Error(c.name, got.Data, err)
		}
	}
}

// TestLevelDecodes reads coarsened views in C order with a cache that holds a slab, and
// expects that each chunk of the source is decoded once. Chunks that have no first
// element of a block are not decoded.
func TestLevelDecodes(t *testing.T) {
	for _, c := range []struct {
		view  string
		spec  zarr.Spec
		total int
	}{
		{"mean", zarr.Spec{Chunks: []grid.Cut{grid.Edges(7, 9, 5, 43), grid.Edges(100, 28, 72)}}, 12},
		{"mean", zarr.Spec{Chunks: grid.Chunks(32, 100), InnerChunks: grid.Chunks(16, 20)}, 40},
		{"nearest", zarr.Spec{Chunks: []grid.Cut{grid.Edges(7, 9, 5, 43), grid.Edges(100, 28, 72)}}, 12},
		{"nearest", zarr.Spec{Chunks: grid.Chunks(2, 200)}, 13}, // of 32
	} {
		c.spec.Shape, c.spec.Type, c.spec.DimensionNames = []int64{64, 200}, dtype.Int32, []string{"y", "x"}
		s := memstore.New()
		a := fixture.Must(zarr.At(s, "").CreateArray(t.Context(), c.spec, nil))
		if err := zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 64*200)); err != nil {
			t.Fatal(err)
		}
		seen := &decodes{keys: map[string]int{}}
		view := settings(t, "regular,chunks=3x7,coarsen=y:5+x:6,method="+c.view)
		b := shown(t, plain.New(zarr.At(s, "").With(&zarr.Options{Observer: seen}), view, plain.NewCache(plain.Least)), "")
		clear(seen.keys)
		for index := range grid.BoxOf(b.Grid().Chunks()).Indices() {
			if _, err := b.ReadChunk(t.Context(), index); err != nil {
				t.Fatal(err)
			}
		}
		total := 0
		for _, n := range seen.keys {
			total += n
		}
		if total != c.total {
			t.Errorf("%s of %s: %d chunks were decoded, want %d: %v", c.view, a, total, c.total, seen.keys)
		}
	}
}

// TestLevelOfLargeChunk coarsens an array whose chunk is too large to be kept.
func TestLevelOfLargeChunk(t *testing.T) {
	s := memstore.New()
	a := fixture.Must(zarr.At(s, "").CreateArray(t.Context(), zarr.Spec{Shape: []int64{1000, 2001}, Type: dtype.Uint16, Chunks: grid.Chunks(1000, 2001), DimensionNames: []string{"y", "x"}}, nil))
	data := make([]uint16, 1000*2001)
	floats := make([]float64, len(data))
	for i := range data {
		data[i] = uint16(i % 999 * 9)
		floats[i] = float64(data[i])
	}
	if err := zarr.Write(t.Context(), a, nil, data); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"mean", "nearest"} {
		got, err := zarr.Read[uint16](t.Context(), shown(t, viewOf(t, s, "regular,chunks=33x44,coarsen=y:4+x:7,method="+method), ""), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range coarse(floats, a.Shape(), []int64{4, 7}, method == "mean") {
			if float64(got.Data[i]) != math.RoundToEven(want) {
				t.Fatalf("%s: element %d is %d, want %v", method, i, got.Data[i], want)
			}
		}
	}
}

// TestLevelShapes proposes chunk shapes of coarsened arrays, and refuses what costs too
// much.
func TestLevelShapes(t *testing.T) {
	square := func(n, edge int64) zarr.Spec {
		return zarr.Spec{Shape: []int64{n, n}, Chunks: grid.Chunks(edge, edge), DimensionNames: []string{"y", "x"}}
	}
	small := square(1<<20, 256)
	small.Type = dtype.Uint8
	for _, c := range []struct {
		spec    zarr.Spec
		options string
		want    []int64
		refused string // what fits
	}{
		{small, "coarsen=y:1200+x:1200", nil, "coarsen=x:1200+y:600"}, // the sums of more do not fit
		{small, "coarsen=y:1200+x:1200,method=nearest", []int64{8, 8}, ""},
		{square(1<<20, 256), "coarsen=y:8+x:8", []int64{128, 64}, ""},
		{square(1<<20, 64), "coarsen=y:100+x:100", []int64{8, 8}, ""},
		{square(1<<20, 256), "coarsen=y:1024+x:1024", nil, "coarsen=x:1024+y:512"},
		{square(1<<20, 256), "coarsen=y:1024+x:1024,method=nearest", []int64{4, 4}, ""},
		{square(1<<20, 256), "coarsen=y:60000+x:60000", nil, "coarsen=x:937+y:468"},
		{square(4096, 256), "coarsen=y:8+x:8,chunks=64x64", []int64{64, 64}, ""},
		{square(4096, 256), "coarsen=y:8+x:8,chunks=128x128", nil, "coarsen=x:8+y:4"},
		{square(4096, 256), "coarsen=y:8+x:8,chunks=1024x1024", nil, "smaller chunks"},
		// A unit that is larger than the limit is decoded if that is worth it.
		{square(2048, 2048), "coarsen=y:8+x:8", []int64{64, 128}, ""},
		{square(4096, 4096), "coarsen=y:8+x:8", nil, "coarsen=x:8+y:4"},
		{square(1<<20, 1), "coarsen=y:100+x:100", []int64{1, 1}, ""},
		{square(1<<20, 1), "coarsen=y:150+x:150", nil, "coarsen=x:150+y:75"},
	} {
		s := memstore.New()
		if c.spec.Type == (dtype.Type{}) {
			c.spec.Type = dtype.Float32
		}
		fixture.Must(zarr.At(s, "").CreateArray(t.Context(), c.spec, nil))
		a, err := zarr.At(viewOf(t, s, "regular,"+c.options), "").OpenArray(t.Context(), nil)
		if c.refused != "" {
			fixture.Expect(t, err, zarr.ErrInvalidArgument, "invalid-argument", c.refused)
			continue
		}
		if err != nil {
			t.Error(c.options, err)
			continue
		}
		var got []int64
		for i := range a.Rank() {
			got = append(got, a.Grid().Axis(i).Step())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v as %s: chunks of %v, want %v", c.spec.Shape, c.options, got, c.want)
		}
	}
}

// TestLevelGroups coarsens a group: its arrays stay a data set, and its metadata has no
// scales of other elements.
func TestLevelGroups(t *testing.T) {
	for _, view := range []string{"regular", "v2"} {
		s := memstore.New()
		h := zarr.At(s, "")
		attributes := map[string]any{"multiscales": []int{1}, "ome": map[string]any{"version": "0.5", "multiscales": []int{1}}, "title": "x"}
		fixture.Must(h.CreateGroup(t.Context(), attributes, nil))
		fixture.Must(h.At("g").CreateGroup(t.Context(), attributes, nil))
		for path, names := range map[string][]string{"t": {"time", "lat"}, "lat": {"lat"}, "g/time": {"time"}} {
			shape := []int64{10, 7}[2-len(names):]
			if path == "g/time" {
				shape = []int64{10}
			}
			fixture.Must(h.At(path).CreateArray(t.Context(), zarr.Spec{Shape: shape, Type: dtype.Float32, DimensionNames: names, Attributes: map[string]any{"spatial:transform": []int{1}}}, nil))
		}
		fixture.Must(h.At("crs").CreateArray(t.Context(), zarr.Spec{Type: dtype.Int32, Attributes: map[string]any{"GeoTransform": "0 1 0 0 0 -1", "crs_wkt": "y"}}, nil))
		g := fixture.Must(zarr.At(viewOf(t, s, view+",coarsen=lat:4"), "").OpenGroup(t.Context(), nil))
		if g.Metadata().Consolidated.Len() != 5 {
			t.Errorf("%s: consolidated metadata has %d entries", view, g.Metadata().Consolidated.Len())
		}
		shapes := map[string][]int64{}
		for m, err := range g.Members(t.Context(), true) {
			if err != nil || m.Err != nil {
				t.Fatal(err, m.Err)
			}
			raw := ""
			switch n := m.Node.(type) {
			case *zarr.Array:
				shapes[m.Path], raw = n.Shape(), string(n.Attributes())
			case *zarr.Group:
				raw = string(n.Attributes())
			}
			kept := m.Path == "g/time" // it is not coarsened
			if found := strings.Contains(raw, `"spatial:transform":`) || strings.Contains(raw, `"GeoTransform":`) || strings.Contains(raw, `"multiscales":`); found != kept {
				t.Errorf("%s: attributes of %s are %s", view, m.Path, raw)
			}
		}
		if want := map[string][]int64{"t": {10, 2}, "lat": {2}, "g/time": {10}, "crs": {}}; fmt.Sprint(shapes) != fmt.Sprint(want) {
			t.Errorf("%s: shapes are %v, want %v", view, shapes, want)
		}
		if raw := string(g.Attributes()); strings.Contains(raw, `"multiscales":`) || !strings.Contains(raw, "title") || !strings.Contains(raw, `version`) || !strings.Contains(raw, "left out") {
			t.Errorf("%s: attributes are %s", view, raw)
		}
		for path, option := range map[string]string{"": "coarsen=lat:2+lno:2", "lat": "coarsen=lat:2+time:2"} {
			_, err := zarr.At(plain.New(h.At(path), settings(t, view+","+option), plain.NewCache(plain.Least)), "").Open(t.Context(), nil)
			fixture.Expect(t, err, zarr.ErrInvalidArgument, "invalid-argument", "no array has the dimension")
		}
	}
}

// FuzzSettings parses options of views, and spells those that are valid.
func FuzzSettings(f *testing.F) {
	for _, seed := range []string{"regular", "v2,chunks=3x4,codec=gzip", "regular,coarsen=lat:8+b:c:2,method=mean", "regular,coarsen=lat:1,at=x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, _, err := plain.ParseSettings(text)
		if err != nil {
			return
		}
		again, others, err := plain.ParseSettings(s.String())
		if err != nil || others != nil || again.String() != s.String() {
			t.Errorf("%q is %q, and that is %q: %v %v", text, s, again, others, err)
		}
	})
}
