// SPDX-License-Identifier: Apache-2.0

package netcdf_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/export/netcdf"
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

// whole selects all elements as they are stored.
func whole(ctx context.Context, a *zarr.Array) (*export.Source, error) {
	v, err := a.View(nil)
	if err != nil {
		return nil, err
	}
	return export.Of(ctx, v, false)
}

// write writes a data set to a file in a folder.
func write(t tester, dir string, f netcdf.Format, d *export.Dataset) {
	t.Helper()
	if err := f.Check(context.Background(), d); err != nil {
		t.Fatal(err)
	}
	file := must(os.Create(filepath.Join(dir, "a.nc")))(t)
	defer file.Close()
	if err := f.Write(context.Background(), d, file); err != nil {
		t.Fatal(err)
	}
}

// readBack opens the file in a folder with the reader of package virtual.
func readBack(t tester, dir string) *zarr.Group {
	t.Helper()
	ctx := virtual.WithAllowed(context.Background(), dir)
	c := must(virtual.NewCollector(filepath.Join(dir, "a.vz")))(t)
	j := must(virtual.NewJoined(virtual.Join{}))(t)
	if err := c.Collect(ctx, j, []string{filepath.Join(dir, "a.nc")}); err != nil {
		t.Fatal(err)
	}
	m := must(j.Finish())(t)
	shown := must(m.Show(ctx, filepath.Join(dir, "a.vz")))(t)
	return must(zarr.At(shown, "").OpenGroup(ctx, nil))(t)
}

// variants are the formats, with and without compression.
var variants = []netcdf.Format{
	{Variant: export.NetCDF4, Deflate: 4}, {Variant: export.NetCDF4}, {Variant: export.NetCDF4, Deflate: 1, Unlimited: []string{"x"}},
	{Variant: export.NetCDF3}, {Variant: export.Offset64, Unlimited: []string{"x"}}, {Variant: export.CDF5}, {Variant: export.CDF5, Unlimited: []string{"x"}},
}

// kept are the types whose elements stay as they are, by what the formats before CDF-5
// have of them.
var kept = map[dtype.Type]bool{
	dtype.Int8: true, dtype.Int16: true, dtype.Int32: true, dtype.Float32: true, dtype.Float64: true,
	dtype.Uint8: false, dtype.Uint16: false, dtype.Uint32: false, dtype.Int64: false, dtype.Uint64: false,
}

// drawArray makes a random array with dimensions x, y and z, and random elements.
func drawArray(t *rapid.T, s store.Store, name string, lengths []int64, classic bool) {
	var list []dtype.Type
	for k, inClassic := range kept {
		if inClassic || !classic {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b dtype.Type) int { return strings.Compare(a.Name(), b.Name()) })
	spec := zarr.Spec{Type: rapid.SampledFrom(list).Draw(t, "type")}
	n := int64(1)
	for i := range rapid.IntRange(0, 3).Draw(t, "rank") {
		length := lengths[i]
		spec.Shape = append(spec.Shape, length)
		spec.DimensionNames = append(spec.DimensionNames, string(rune('x'+i)))
		spec.Chunks = append(spec.Chunks, drawCut(t, length))
		n *= length
	}
	spec.Attributes = drawAttributes(t)
	a := must(zarr.At(s, name).CreateArray(context.Background(), spec, nil))(t)
	size := int(n) * spec.Type.Size()
	data := rapid.SliceOfN(rapid.ByteRange(0, 3), size, size).Draw(t, "elements")
	if err := a.WriteBytes(context.Background(), nil, data); err != nil {
		t.Fatal(err)
	}
}

// drawAttributes draws attributes of all forms, also such as their names do not suggest.
func drawAttributes(t *rapid.T) json.RawMessage {
	values := []string{
		`1`, `-1`, `2.0`, `1e300`, `9223372036854775808`, `"text"`, `"größer"`, `""`, `[]`, `[1,2]`, `[1,"a"]`, `["a",""]`, `[1.5,null]`, `true`,
		`null`, `{"a":[1]}`, `[[1,2],[3,4]]`, `"NaN"`, `"AAAAAAAA+H8="`, `"days since 2000-01-01"`,
	}
	list := []string{}
	for _, name := range []string{"a", "ß", "units", "_FillValue", "valid_range", "flag_values", "scale_factor", "missing_value", "dtype"} {
		if i := rapid.IntRange(-len(values), len(values)-1).Draw(t, name); i >= 0 {
			list = append(list, fmt.Sprintf("%q:%s", name, values[i]))
		}
	}
	return json.RawMessage("{" + strings.Join(list, ",") + "}")
}

// drawCut draws chunks of one length or of several.
func drawCut(t *rapid.T, length int64) grid.Cut {
	if rapid.Bool().Draw(t, "regular") {
		return grid.Every(rapid.Int64Range(1, length+2).Draw(t, "chunk"))
	}
	var edges []int64
	for left := length; left > 0; left -= edges[len(edges)-1] {
		edges = append(edges, rapid.Int64Range(1, left).Draw(t, "edge"))
	}
	return grid.Edges(edges...)
}

// TestRandomArrays writes random groups in all formats, and reads them again.
func TestRandomArrays(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) { randomArrays(t, dir) })
}

// FuzzRandomArrays does so for groups that a fuzzer draws.
func FuzzRandomArrays(f *testing.F) {
	dir := f.TempDir()
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { randomArrays(t, dir) }))
}

func randomArrays(t *rapid.T, dir string) {
	f := rapid.SampledFrom(variants).Draw(t, "format")
	s := memstore.New()
	must(zarr.At(s, "").CreateGroup(context.Background(), map[string]any{"title": "t", "n": []int{1, 2}}, nil))(t)
	lengths := []int64{rapid.Int64Range(1, 9).Draw(t, "x"), rapid.Int64Range(1, 40).Draw(t, "y"), rapid.Int64Range(1, 5).Draw(t, "z")}
	older := f.Variant == export.NetCDF3 || f.Variant == export.Offset64
	for i := range rapid.IntRange(1, 5).Draw(t, "arrays") {
		drawArray(t, s, fmt.Sprintf("v%d", i), lengths, older)
	}
	g := must(zarr.At(s, "").OpenGroup(context.Background(), nil))(t)
	d := must(export.DatasetOf(context.Background(), g, whole))(t)
	if !slices.ContainsFunc(d.Variables, func(v *export.Variable) bool { return len(v.Shape) > 0 }) {
		f.Unlimited = nil
	}
	// The classic formats have no lists of texts, and fewer integers.
	if err := f.Check(context.Background(), d); err != nil && f.Variant != export.NetCDF4 && strings.Contains(err.Error(), "attribute") {
		return
	}
	write(t, dir, f, d)
	again := readBack(t, dir)
	for _, v := range d.Variables {
		a := must(again.At(v.Name).OpenArray(context.Background(), nil))(t)
		compare(t, v.Array, a)
	}
	var attributes struct {
		Title string
		N     []int
	}
	if err := again.DecodeAttributes(&attributes); err != nil || attributes.Title != "t" || len(attributes.N) != 2 {
		t.Fatalf("attributes %v: %v", attributes, err)
	}
}

// compare compares shapes, types, dimensions and elements.
func compare(t tester, want, got *zarr.Array) {
	t.Helper()
	if got.Type() != want.Type() || !slices.Equal(got.Shape(), want.Shape()) || !slices.Equal(got.DimensionNames(), want.DimensionNames()) {
		t.Fatalf("%s: %s %v %v, want %s %v %v", want.Path(), got.Type(), got.Shape(), got.DimensionNames(), want.Type(), want.Shape(), want.DimensionNames())
	}
	for _, name := range []string{"ß", "a"} {
		var before, after map[string]any
		if want.DecodeAttributes(&before) != nil || got.DecodeAttributes(&after) != nil {
			t.Fatalf("%s: attributes %s and %s", want.Path(), want.Attributes(), got.Attributes())
		}
		if text, is := before[name].(string); is && after[name] != text {
			t.Fatalf("%s: attribute %s is %v, want %q", want.Path(), name, after[name], text)
		}
	}
	if a, b := bytesOf(t, want), bytesOf(t, got); !bytes.Equal(a, b) {
		t.Fatalf("%s: elements %x, want %x", want.Path(), b, a)
	}
}

func bytesOf(t tester, a *zarr.Array) []byte {
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

// arrayOf makes an array with some values.
func arrayOf[T dtype.Element](t *testing.T, s store.Store, name string, spec zarr.Spec, values ...T) *zarr.Array {
	t.Helper()
	a := must(zarr.At(s, name).CreateArray(t.Context(), spec, nil))(t)
	if err := zarr.Write(t.Context(), a, nil, values); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestTypes checks the types that a file has in place of those of Zarr.
func TestTypes(t *testing.T) {
	s, dir := memstore.New(), t.TempDir()
	must(zarr.At(s, "").CreateGroup(t.Context(), nil, nil))(t)
	spec := func(typ dtype.Type, attributes map[string]any) zarr.Spec {
		return zarr.Spec{Shape: []int64{3}, Type: typ, DimensionNames: []string{"x"}, Attributes: attributes}
	}
	parse := func(name, configuration string) dtype.Type { return must(dtype.Parse(name, []byte(configuration)))(t) }
	arrayOf(t, s, "ok", spec(dtype.Bool, nil), true, false, true)
	arrayOf(t, s, "half", spec(dtype.Of[dtype.Float16](), nil), dtype.FromFloat32(1.5), dtype.FromFloat32(-2), dtype.FromFloat32(0))
	arrayOf(t, s, "text", spec(dtype.String, nil), "a", "", "ßé")
	arrayOf(t, s, "fixed", spec(parse("fixed_length_utf32", `{"length_bytes": 12}`), nil), "abc", "ü", "")
	arrayOf(t, s, "chars", spec(parse("null_terminated_bytes", `{"length_bytes": 2}`), nil), "ab", "c", "")
	arrayOf(t, s, "when", spec(parse("numpy.datetime64", `{"unit": "h", "scale_factor": 1}`), nil), int64(0), int64(5), int64(7))
	arrayOf(t, s, "lasts", spec(parse("numpy.timedelta64", `{"unit": "s", "scale_factor": 1}`), nil), int64(0), int64(5), int64(7))
	arrayOf(t, s, "packed", spec(dtype.Int16, map[string]any{"scale_factor": 0.5, "_FillValue": -9, "flag_values": []int{1, 2}, "more": map[string]any{"a": 1}}), int16(1), int16(-9), int16(3))
	g := must(zarr.At(s, "").OpenGroup(t.Context(), nil))(t)
	write(t, dir, netcdf.Format{Variant: export.NetCDF4, Deflate: 4}, must(export.DatasetOf(t.Context(), g, whole))(t))
	again := readBack(t, dir)
	for name, want := range map[string]string{
		"ok": `int8 [1 0 1] {"dtype":"bool"}`, "half": `float32 [1.5 -2 0] {}`, "text": `string [a  ßé] {}`, "fixed": `string [abc ü ] {}`,
		"when":   `int64 [0 5 7] {"_FillValue":-9223372036854775808,"units":"hours since 1970-01-01 00:00:00","calendar":"proleptic_gregorian"}`,
		"lasts":  `int64 [0 5 7] {"_FillValue":-9223372036854775808,"units":"seconds"}`,
		"packed": `int16 [1 -9 3] {"_FillValue":-9,"flag_values":[1,2],"more":"{\"a\":1}","scale_factor":0.5}`,
	} {
		a := must(again.At(name).OpenArray(t.Context(), nil))(t)
		var attributes bytes.Buffer
		if err := json.Compact(&attributes, a.Attributes()); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(a.Type().Name(), " ", valuesOf(t, a), " ", attributes.String()); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	chars := must(again.At("chars").OpenArray(t.Context(), nil))(t)
	if got := bytesOf(t, chars); string(got) != "abc\x00\x00\x00" || !slices.Equal(chars.DimensionNames(), []string{"x", "string2"}) {
		t.Errorf("characters %q, dimensions %v", got, chars.DimensionNames())
	}
}

// valuesOf returns the values of an array for messages.
func valuesOf(t *testing.T, a *zarr.Array) any {
	t.Helper()
	switch a.Type() {
	case dtype.Int8:
		return must(zarr.Read[int8](t.Context(), a, nil))(t).Data
	case dtype.Int16:
		return must(zarr.Read[int16](t.Context(), a, nil))(t).Data
	case dtype.Int64:
		return must(zarr.Read[int64](t.Context(), a, nil))(t).Data
	case dtype.Float32:
		return must(zarr.Read[float32](t.Context(), a, nil))(t).Data
	}
	return must(zarr.Read[string](t.Context(), a, nil))(t).Data
}

// TestWithCoordinates exports a part of one array: its coordinates have the same part.
func TestWithCoordinates(t *testing.T) {
	s, dir := memstore.New(), t.TempDir()
	must(zarr.At(s, "").CreateGroup(t.Context(), nil, nil))(t)
	axis := func(name string, n int64, attributes map[string]any) zarr.Spec {
		return zarr.Spec{Shape: []int64{n}, Type: dtype.Int32, DimensionNames: []string{name}, Attributes: attributes}
	}
	arrayOf(t, s, "time", axis("time", 4, map[string]any{"bounds": "span"}), int32(0), int32(1), int32(2), int32(3))
	arrayOf(t, s, "span", zarr.Spec{Shape: []int64{4, 2}, Type: dtype.Int32, DimensionNames: []string{"time", "two"}}, int32(0), int32(1), int32(1), int32(2), int32(2), int32(3), int32(3), int32(4))
	arrayOf(t, s, "y", axis("y", 3, nil), int32(10), int32(20), int32(30))
	arrayOf(t, s, "other", axis("y", 3, nil), int32(0), int32(0), int32(0))
	a := arrayOf(t, s, "g/v", zarr.Spec{Shape: []int64{4, 3}, Type: dtype.Int32, DimensionNames: []string{"time", "y"}}, slices.Repeat([]int32{1, 2, 3}, 4)...)
	v := must(a.View(selection.Orthogonal{selection.Stepped(selection.Open, selection.Open, -2), selection.At(1)}))(t)
	src := must(export.Of(t.Context(), v, false))(t)
	write(t, dir, netcdf.Format{Variant: export.NetCDF3}, must(export.DatasetWith(t.Context(), "v", src))(t))
	again := readBack(t, dir)
	for name, want := range map[string]string{"v": "[2 2]", "time": "[3 1]", "span": "[3 4 1 2]", "y": "[20]"} {
		c := must(again.At(name).OpenArray(t.Context(), nil))(t)
		if got := fmt.Sprint(must(zarr.Read[int32](t.Context(), c, nil))(t).Data); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	// The coordinate of the axis that was dropped is named; else it would count as data.
	if a := must(again.At("v").OpenArray(t.Context(), nil))(t); cf.TextAttribute(a, "coordinates") != "y" {
		t.Errorf("the attribute coordinates is %q, want y", cf.TextAttribute(a, "coordinates"))
	}
	if _, err := again.At("other").OpenArray(t.Context(), nil); err == nil {
		t.Error("an array that does not describe the other one was exported")
	}
}

// TestNarrowed checks that a short coordinate of int64 becomes int where a format lacks
// int64, if int has all elements.
func TestNarrowed(t *testing.T) {
	three := netcdf.Format{Variant: export.NetCDF3}
	for last, want := range map[int64]string{1<<31 - 1: "int32 [-2147483648 2147483647]", 1 << 31: "lacks"} {
		s, dir := memstore.New(), t.TempDir()
		must(zarr.At(s, "").CreateGroup(t.Context(), nil, nil))(t)
		spec := zarr.Spec{Shape: []int64{2}, Type: dtype.Int64, DimensionNames: []string{"x"}, Attributes: map[string]any{"_FillValue": 7}}
		arrayOf(t, s, "x", spec, -1<<31, last)
		g := must(zarr.At(s, "").OpenGroup(t.Context(), nil))(t)
		d := must(export.DatasetOf(t.Context(), g, whole))(t)
		if err := three.Check(t.Context(), d); want == "lacks" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Error(err)
			}
			continue
		}
		write(t, dir, three, d)
		a := must(readBack(t, dir).At("x").OpenArray(t.Context(), nil))(t)
		if got := fmt.Sprint(a.Type().Name(), " ", must(zarr.Read[int32](t.Context(), a, nil))(t).Data); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestOneRecord checks the only case without padding: records of one array.
func TestOneRecord(t *testing.T) {
	for _, format := range []export.Format{export.NetCDF3, export.Offset64, export.CDF5} {
		for _, names := range [][]string{{"a"}, {"a", "b"}} {
			s, dir := memstore.New(), t.TempDir()
			must(zarr.At(s, "").CreateGroup(t.Context(), nil, nil))(t)
			for _, name := range names {
				arrayOf(t, s, name, zarr.Spec{Shape: []int64{3, 3}, Type: dtype.Int8, DimensionNames: []string{"x", "y"}}, int8(1), 2, 3, 4, 5, 6, 7, 8, 9)
			}
			g := must(zarr.At(s, "").OpenGroup(t.Context(), nil))(t)
			write(t, dir, netcdf.Format{Variant: format, Unlimited: []string{"x"}}, must(export.DatasetOf(t.Context(), g, whole))(t))
			for _, name := range names {
				a := must(readBack(t, dir).At(name).OpenArray(t.Context(), nil))(t)
				if got := fmt.Sprint(bytesOf(t, a)); got != "[1 2 3 4 5 6 7 8 9]" {
					t.Errorf("%s, %v: %s", format, names, got)
				}
			}
		}
	}
}
