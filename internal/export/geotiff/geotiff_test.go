// SPDX-License-Identifier: Apache-2.0

package geotiff

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/reduction"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/virtual"
)

// tester is a test, or a case of a random one.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func must[T any](v T, err error) func(t tester) T {
	return func(t tester) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// exported writes an array to a file in a folder, as stored.
func exported(t tester, dir string, f Format, a *zarr.Array, sel selection.Selection) {
	t.Helper()
	d := datasetOf(t, a, sel)
	if err := f.Check(context.Background(), d); err != nil {
		t.Fatal(err)
	}
	file := must(os.Create(filepath.Join(dir, "a.tif")))(t)
	defer file.Close()
	f.Folder = dir
	if err := f.Write(context.Background(), d, file); err != nil {
		t.Fatal(err)
	}
	if left := must(filepath.Glob(filepath.Join(dir, ".varve*")))(t); len(left) > 0 {
		t.Fatalf("%v are left", left)
	}
}

func datasetOf(t tester, a *zarr.Array, sel selection.Selection) *export.Dataset {
	t.Helper()
	s := must(export.Of(context.Background(), must(a.View(sel))(t), false))(t)
	return must(export.DatasetWith(context.Background(), "v", s))(t)
}

// readBack opens the file in a folder with the reader of package virtual.
func readBack(t tester, dir string) *zarr.Group {
	t.Helper()
	ctx := virtual.WithAllowed(context.Background(), dir)
	c := must(virtual.NewCollector(filepath.Join(dir, "a.vz")))(t)
	j := must(virtual.NewJoined(virtual.Join{}))(t)
	if err := c.Collect(ctx, j, []string{filepath.Join(dir, "a.tif")}); err != nil {
		t.Fatal(err)
	}
	m := must(j.Finish())(t)
	shown := must(m.Show(ctx, filepath.Join(dir, "a.vz")))(t)
	return must(zarr.At(shown, "").OpenGroup(ctx, nil))(t)
}

func bytesOf(t tester, a *zarr.Array) []byte {
	t.Helper()
	n := int64(a.Type().Size())
	for _, length := range a.Shape() {
		n *= length
	}
	b := make([]byte, n)
	if err := a.ReadBytes(context.Background(), nil, b); err != nil {
		t.Fatal(err)
	}
	return b
}

// makeAxis makes a coordinate with even steps.
func makeAxis(t tester, s store.Store, name string, n int64, first, step float64, attributes map[string]any) {
	t.Helper()
	values := make([]float64, n)
	for i := range values {
		values[i] = first + float64(i)*step
	}
	spec := zarr.Spec{Shape: []int64{n}, Type: dtype.Float64, DimensionNames: []string{name}, Attributes: attributes}
	a := must(zarr.At(s, name).CreateArray(context.Background(), spec, nil))(t)
	if err := zarr.Write(context.Background(), a, nil, values); err != nil {
		t.Fatal(err)
	}
}

// permuted returns a block with its axes in another order: axis i of the result is
// axis order[i].
func permuted(data []byte, shape []int64, size int, order []int) ([]byte, []int64) {
	v := strided.Contiguous(data, shape, size)
	from := v
	from.Shape, from.Strides = make([]int64, len(order)), make([]int64, len(order))
	for i, axis := range order {
		from.Shape[i], from.Strides[i] = v.Shape[axis], v.Strides[axis]
	}
	out := make([]byte, len(data))
	strided.Copy(strided.Contiguous(out, from.Shape, size), from)
	return out, from.Shape
}

// reversed returns a block with one axis in the opposite order.
func reversed(data []byte, shape []int64, size, axis int) []byte {
	v := strided.Contiguous(data, shape, size)
	from := v
	from.Strides = slices.Clone(v.Strides)
	from.Offset = (shape[axis] - 1) * v.Strides[axis]
	from.Strides[axis] = -v.Strides[axis]
	out := make([]byte, len(data))
	strided.Copy(strided.Contiguous(out, shape, size), from)
	return out
}

var types = []dtype.Type{
	dtype.Int8, dtype.Uint8, dtype.Int16, dtype.Uint16, dtype.Int32, dtype.Uint32, dtype.Int64, dtype.Uint64, dtype.Float32, dtype.Float64, dtype.Complex64,
}

// TestRandomArrays writes random arrays, reads them again with the reader of TIFF, and
// compares all images with those that are made without tiles.
func TestRandomArrays(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) { checkArray(t, dir) })
}

// FuzzArrays is TestRandomArrays with choices by the fuzzer.
func FuzzArrays(f *testing.F) {
	dir := f.TempDir()
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { checkArray(t, dir) }))
}

func checkArray(t *rapid.T, dir string) {
	ctx := context.Background()
	f := Format{
		Overviews: rapid.Bool().Draw(t, "overviews"), Deflate: rapid.IntRange(0, 2).Draw(t, "deflate"), Zstd: rapid.IntRange(0, 2).Draw(t, "zstd"),
		edge: 16, CRS: "EPSG:32633",
	}
	typ := rapid.SampledFrom(types).Draw(t, "type")
	names := rapid.SampledFrom([][]string{{"y", "x"}, {"x", "y"}, {"band", "y", "x"}, {"y", "x", "band"}, {"y", "band", "x"}, {"band", "x", "y"}, {"x", "y", "band"}}).Draw(t, "axes")
	lengths := map[string]int64{
		"y": rapid.Int64Range(1, 90).Draw(t, "rows"), "x": rapid.Int64Range(2, 90).Draw(t, "columns"), "band": rapid.Int64Range(1, 5).Draw(t, "bands"),
	}
	s := memstore.New()
	must(zarr.At(s, "").CreateGroup(ctx, nil, nil))(t)
	spec := zarr.Spec{Type: typ, DimensionNames: names, Attributes: map[string]any{"_FillValue": 1}}
	if typ == dtype.Complex64 {
		spec.Attributes = nil
	}
	n := int64(1)
	for _, name := range names {
		spec.Shape = append(spec.Shape, lengths[name])
		spec.Chunks = append(spec.Chunks, grid.Every(rapid.Int64Range(1, 100).Draw(t, "chunk")))
		n *= lengths[name]
	}
	// Small numbers, so that some are missing.
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(random.IntN(7))
	}
	data := elements(typ, values)
	a := must(zarr.At(s, "v").CreateArray(ctx, spec, nil))(t)
	if err := a.WriteBytes(ctx, nil, data); err != nil {
		t.Fatal(err)
	}
	north, west := rapid.Bool().Draw(t, "north first"), rapid.Bool().Draw(t, "west first")
	sign := map[bool]float64{true: 1, false: -1}
	makeAxis(t, s, "y", lengths["y"], 1000, -10*sign[north], nil)
	makeAxis(t, s, "x", lengths["x"], 1000, 10*sign[west], nil)
	exported(t, dir, f, a, nil)

	// The image as bands, rows and columns.
	shape := spec.Shape
	if !slices.Contains(names, "band") {
		names, shape = append([]string{"band"}, names...), append([]int64{1}, shape...)
	}
	order := []int{slices.Index(names, "band"), slices.Index(names, "y"), slices.Index(names, "x")}
	want, shape := permuted(data, shape, typ.Size(), order)
	if !north && lengths["y"] > 1 {
		want = reversed(want, shape, typ.Size(), 1)
	}
	if !west {
		want = reversed(want, shape, typ.Size(), 2)
	}
	again := readBack(t, dir)
	var absent [][]byte
	if spec.Attributes != nil {
		absent = [][]byte{elements(typ, []float64{1})}
	}
	half := must(reduction.New(typ, reduction.Mean, []int64{1, 2, 2}, absent))(t)
	for level := 0; ; level++ {
		compareImage(t, again, level, typ, shape, want)
		if !f.Overviews || max(shape[1], shape[2]) <= f.edge {
			break
		}
		below := strided.Contiguous(want, shape, typ.Size())
		shape = half.Shape(shape)
		want = make([]byte, shape[0]*shape[1]*shape[2]*int64(typ.Size()))
		half.Reduce(strided.Contiguous(want, shape, typ.Size()), below)
	}
}

// elements returns numbers as elements of a type.
func elements(t dtype.Type, values []float64) (data []byte) {
	for _, v := range values {
		text := fmt.Sprint(int(v))
		if t.Kind() == dtype.KindComplex {
			text += "+0j"
		}
		elem, err := t.ParseText(text)
		if err != nil {
			panic(err)
		}
		data = append(data, elem...)
	}
	return data
}

// compareImage compares an image of a file with bands, rows and columns.
func compareImage(t tester, g *zarr.Group, level int, typ dtype.Type, shape []int64, want []byte) {
	t.Helper()
	name := "full"
	if level > 0 {
		name = fmt.Sprintf("overview_%d", level)
	}
	a := must(g.At(name).OpenArray(context.Background(), nil))(t)
	got, is := bytesOf(t, a), a.Shape()
	switch {
	case len(is) == 2:
		is = append([]int64{1}, is...)
	case a.DimensionNames()[2] == "band":
		got, is = permuted(got, is, typ.Size(), []int{2, 0, 1})
	}
	if a.Type() != typ || !slices.Equal(is, shape) {
		t.Fatalf("%s: %s %v, want %s %v", name, a.Type(), is, typ, shape)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%s: %x, want %x", name, got, want)
	}
}

// attributesOf returns the attributes of the first image of the file in a folder.
func attributesOf(t tester, dir string) map[string]any {
	t.Helper()
	a := must(readBack(t, dir).At("full").OpenArray(context.Background(), nil))(t)
	list := map[string]any{}
	if err := json.Unmarshal(a.Attributes(), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// plane makes an array with the dimensions y and x, and its coordinates.
func plane(t tester, attributes, onAxes map[string]any) (store.Store, *zarr.Array) {
	t.Helper()
	s := memstore.New()
	must(zarr.At(s, "").CreateGroup(context.Background(), nil, nil))(t)
	spec := zarr.Spec{Shape: []int64{4, 6}, Type: dtype.Int16, DimensionNames: []string{"y", "x"}, Attributes: attributes}
	a := must(zarr.At(s, "v").CreateArray(context.Background(), spec, nil))(t)
	makeAxis(t, s, "y", 4, 50, 10, onAxes)
	makeAxis(t, s, "x", 6, 100, 10, onAxes)
	return s, a
}

// TestPlace checks where images are: coordinates are the centres of pixels, the first row
// is the northern one, and a selection moves the edges.
func TestPlace(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		sel              selection.Selection
		scale, tie, keys string
	}{
		{nil, "[10 10 0]", "[0 0 0 95 85 0]", "[1 1 0 3 1024 0 1 1 1025 0 1 1 3072 0 1 32633]"},
		{selection.Basic{selection.Span(1, 3), selection.Stepped(0, 6, 2)}, "[20 10 0]", "[0 0 0 90 75 0]", ""},
		{selection.Basic{selection.Stepped(3, selection.Open, -1), selection.All()}, "[10 10 0]", "[0 0 0 95 85 0]", ""},
		{selection.Basic{selection.Span(2, 3), selection.All()}, "[10 10 0]", "[0 0 0 95 75 0]", ""},
	} {
		_, a := plane(t, nil, nil)
		exported(t, dir, Format{CRS: "EPSG:32633"}, a, c.sel)
		list := attributesOf(t, dir)
		for name, want := range map[string]string{"ModelPixelScale": c.scale, "ModelTiepoint": c.tie, "GeoKeyDirectory": c.keys} {
			if got := fmt.Sprint(list[name]); want != "" && got != want {
				t.Errorf("%v: %s %s, want %s", c.sel, name, got, want)
			}
		}
	}
}

// TestAttributeTransform takes the place from an attribute if there are no coordinates.
func TestAttributeTransform(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		transform any
		sel       selection.Selection
		want      string
	}{
		{[]float64{10, 0, 95, 0, -10, 85}, nil, "[10 10 0] [0 0 0 95 85 0] <nil>"},
		{[]float64{10, 0, 95, 0, 10, 45}, nil, "[10 10 0] [0 0 0 95 85 0] <nil>"},
		{[]float64{10, 0, 95, 0, -10, 85}, selection.Basic{selection.Span(1, 3), selection.Stepped(0, 6, 2)}, "[20 10 0] [0 0 0 90 75 0] <nil>"},
		{[]float64{10, 0, 95, 0, -10, 85}, selection.Basic{selection.All(), selection.Stepped(5, selection.Open, -1)}, "[10 10 0] [0 0 0 95 85 0] <nil>"},
		{[]float64{10, 1, 95, 2, -10, 85}, nil, "<nil> <nil> [10 1 0 95 2 -10 0 85 0 0 0 0 0 0 0 1]"},
	} {
		s := memstore.New()
		spec := zarr.Spec{Shape: []int64{4, 6}, Type: dtype.Int16, DimensionNames: []string{"y", "x"}, Attributes: map[string]any{"spatial:transform": c.transform, "proj:code": "EPSG:32633"}}
		a := must(zarr.At(s, "v").CreateArray(t.Context(), spec, nil))(t)
		exported(t, dir, Format{}, a, c.sel)
		list := attributesOf(t, dir)
		if got := fmt.Sprint(list["ModelPixelScale"], list["ModelTiepoint"], list["ModelTransformation"]); got != c.want {
			t.Errorf("%v %v: %s, want %s", c.transform, c.sel, got, c.want)
		}
	}
}

// TestMeaning checks what a file says about samples.
func TestMeaning(t *testing.T) {
	dir := t.TempDir()
	_, a := plane(t, map[string]any{"_FillValue": -9, "scale_factor": 0.5, "add_offset": 2, "units": "K & more", "long_name": "a <b>"}, nil)
	exported(t, dir, Format{CRS: "none", Deflate: 4}, a, nil)
	list := attributesOf(t, dir)
	const items = `<GDALMetadata><Item name="DESCRIPTION" sample="0" role="description">a &lt;b&gt;</Item><Item name="UNITTYPE" sample="0" role="unittype">K &amp; more</Item><Item name="OFFSET" sample="0" role="offset">2</Item><Item name="SCALE" sample="0" role="scale">0.5</Item></GDALMetadata>`
	if list["GDAL_METADATA"] != items || list["GDAL_NODATA"] != "-9" || list["_FillValue"] != -9.0 || list["ModelTiepoint"] != nil {
		t.Errorf("attributes %v", list)
	}
}

// TestBig writes a BigTIFF, as for an image that may need it.
func TestBig(t *testing.T) {
	dir := t.TempDir()
	_, a := plane(t, nil, nil)
	f := Format{CRS: "none"}
	d := datasetOf(t, a, nil)
	p := must(f.plan(t.Context(), d))(t)
	if p.big {
		t.Fatal("an image of 24 samples needs BigTIFF")
	}
	p.big = true
	file := must(os.Create(filepath.Join(dir, "a.tif")))(t)
	defer file.Close()
	if err := newWriter(p, file).write(t.Context()); err != nil {
		t.Fatal(err)
	}
	compareImage(t, readBack(t, dir), 0, dtype.Int16, []int64{1, 4, 6}, make([]byte, 48))
	spec := zarr.Spec{Shape: []int64{1 << 16, 1 << 16}, Type: dtype.Int8, Chunks: []grid.Cut{grid.Every(1 << 12), grid.Every(1 << 12)}}
	long := must(zarr.At(memstore.New(), "v").CreateArray(t.Context(), spec, nil))(t)
	if p = must(f.plan(t.Context(), datasetOf(t, long, nil)))(t); !p.big {
		t.Error("4 GiB of samples in a classic TIFF")
	}
}

// TestLevels takes the levels of an image as overviews. It makes overviews of a part of
// it, and if the levels are no smaller versions.
func TestLevels(t *testing.T) {
	dir := t.TempDir()
	f := Format{Overviews: true, edge: 16}
	for k, c := range []struct {
		shapes [][]int64
		sel    selection.Selection
		want   string // the number in each image
	}{
		{[][]int64{{60, 50}, {30, 25}, {15, 13}}, nil, "1 2 3"},
		{[][]int64{{60, 50}, {20, 17}}, nil, "1 2"},
		{[][]int64{{60, 50}, {30, 25}}, selection.Basic{selection.Span(0, 30)}, "1 1 1"},
		{[][]int64{{60, 50}, {31, 25}}, nil, "1 1 1"},
		{[][]int64{{60, 50}, {60, 50}}, nil, "1 1 1"},
	} {
		s, group := memstore.New(), []string{"", "image"}[k%2]
		list := []any{}
		for i := range 4 {
			list = append(list, map[string]any{"path": fmt.Sprint(i)}) // some are lost
		}
		images := []any{map[string]any{"datasets": list}}
		must(zarr.At(s, group).CreateGroup(t.Context(), map[string]any{"ome": map[string]any{"version": "0.5", "multiscales": images}}, nil))(t)
		for i, shape := range c.shapes {
			a := must(zarr.At(s, path.Join(group, fmt.Sprint(i))).CreateArray(t.Context(), zarr.Spec{Shape: shape, Type: dtype.Int8, DimensionNames: []string{"y", "x"}}, nil))(t)
			if err := zarr.Write(t.Context(), a, nil, slices.Repeat([]int8{int8(i + 1)}, int(shape[0]*shape[1]))); err != nil {
				t.Fatal(err)
			}
		}
		exported(t, dir, f, must(zarr.At(s, path.Join(group, "0")).OpenArray(t.Context(), nil))(t), c.sel)
		again, got := readBack(t, dir), []any{}
		for i := range 4 {
			a, err := again.At([]string{"full", "overview_1", "overview_2", "overview_3"}[i]).OpenArray(t.Context(), nil)
			if err != nil {
				break
			}
			b := bytesOf(t, a)
			if got = append(got, b[0]); bytes.Count(b, b[:1]) != len(b) {
				t.Errorf("%v: image %d has several numbers", c.shapes, i)
			}
		}
		if fmt.Sprintln(got...) != c.want+"\n" {
			t.Errorf("%v %v: images of %v, want %s", c.shapes, c.sel, got, c.want)
		}
	}
}
