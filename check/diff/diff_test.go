// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/check/diff"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// create returns an array in memory.
func create(t rapid.TB, spec zarr.Spec) *zarr.Array {
	t.Helper()
	a, err := zarr.At(memtest.New(), "").CreateArray(context.Background(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func nodes(t rapid.TB, a, b zarr.Node, opt *diff.Options) *diff.Report {
	t.Helper()
	r, err := diff.Nodes(context.Background(), a, b, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// drawCuts draws the chunks of a shape.
func drawCuts(t *rapid.T, shape []int64) []grid.Cut {
	cuts := []grid.Cut{}
	for _, n := range shape {
		if rapid.Bool().Draw(t, "every") {
			cuts = append(cuts, grid.Every(rapid.Int64Range(1, 5).Draw(t, "step")))
			continue
		}
		edges := []int64{}
		for left := n; left > 0 || len(edges) == 0; left -= edges[len(edges)-1] {
			edges = append(edges, rapid.Int64Range(1, 5).Draw(t, "edge"))
		}
		cuts = append(cuts, grid.Edges(edges...))
	}
	return cuts
}

// TestRegions compares arrays of any two grids with a plain comparison of all elements:
// the regions have all that differ, no element is counted twice, and the boxes are tight.
func TestRegions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Int64Range(0, 9), 0, 3).Draw(t, "shape")
		n := int(fixture.Count(shape))
		values := rapid.SliceOfN(rapid.Int32Range(0, 2), n, n)
		x, y := values.Draw(t, "a"), values.Draw(t, "b")
		if rapid.Bool().Draw(t, "alike") { // but for a few
			y = slices.Clone(x)
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				if n > 0 {
					y[rapid.IntRange(0, n-1).Draw(t, "at")] += rapid.Int32Range(1, 100).Draw(t, "by")
				}
			}
		}
		spec := zarr.Spec{Shape: shape, Type: dtype.Int32, Chunks: drawCuts(t, shape)}
		a := create(t, spec)
		if rapid.Bool().Draw(t, "other chunks") {
			spec.Chunks = drawCuts(t, shape)
		}
		b := create(t, spec)
		for array, data := range map[*zarr.Array][]int32{a: x, b: y} {
			if err := zarr.Write(context.Background(), array, nil, data); err != nil {
				t.Fatal(err)
			}
		}
		checkRegions(t, nodes(t, a, b, nil), shape, x, y)
	})
}

func checkRegions(t *rapid.T, r *diff.Report, shape []int64, x, y []int32) {
	covered := make([]int, len(x))
	for _, d := range r.Differences {
		if d.Kind != "values" {
			t.Fatalf("unexpected: %v", d)
		}
		count, largest, first := int64(0), float64(-1), []int64(nil)
		around := grid.Box(nil)
		for index := range d.Region.Indices() {
			at := 0
			for i, k := range index {
				at = at*int(shape[i]) + int(k)
			}
			if x[at] == y[at] {
				continue
			}
			covered[at]++
			count++
			largest = max(largest, math.Abs(float64(x[at])-float64(y[at])))
			if first == nil {
				first = slices.Clone(index)
			}
			if around == nil {
				around = grid.BoxOf(slices.Repeat([]int64{0}, len(shape)))
				for i, k := range index {
					around[i] = grid.Interval{Start: k, Stop: k + 1}
				}
			}
			for i, k := range index {
				around[i].Start, around[i].Stop = min(around[i].Start, k), max(around[i].Stop, k+1)
			}
		}
		if d.Count != count || d.Largest != largest || !slices.Equal(d.First, first) || !slices.Equal(d.Region, around) {
			t.Fatalf("%+v, but there %d differ by %v in %v, first %v", d, count, largest, around, first)
		}
	}
	for at := range x {
		if want := x[at] != y[at]; covered[at] > 1 || (covered[at] == 1) != want {
			t.Fatalf("element %d is in %d regions; it differs: %v", at, covered[at], want)
		}
	}
	if r.Equal() != slices.Equal(x, y) {
		t.Fatalf("equal: %v", r.Equal())
	}
}

// TestTolerance lists pairs of numbers, and whether they differ.
func TestTolerance(t *testing.T) {
	nan, other := math.NaN(), math.Float64frombits(0x7ff8000000000123)
	for _, c := range []struct {
		a, b     float64
		atol     float64
		rtol     float64
		differ   bool
		distance float64
	}{
		{1, 1, 0, 0, false, 0},
		{1, 1.5, 0, 0, true, 0.5},
		{1, 1.5, 0.5, 0, false, 0},
		{1, 1.5, 0.4, 0, true, 0.5},
		{100, 110, 0, 0.1, false, 0},
		{110, 100, 0, 0.1, false, 0},
		{111, 100, 0, 0.1, true, 11},
		{0, math.Copysign(0, -1), 0, 0, true, 0},
		{0, math.Copysign(0, -1), 1e-9, 0, false, 0},
		{nan, nan, 0, 0, false, 0},
		{nan, other, 0, 0, true, 0},
		{nan, other, 1e-9, 0, false, 0},
		{nan, 1, 1e9, 0, true, -1},
		{1, nan, 1e9, 0, true, -1},
		{math.Inf(1), math.Inf(1), 1, 0, false, 0},
		{math.Inf(1), math.Inf(-1), 1, 0, true, -1},
		{1, math.Inf(1), 1, 0, true, -1},
		{1, math.Inf(1), 1, 1, true, -1},
	} {
		spec := zarr.Spec{Shape: []int64{}, Type: dtype.Float64, Chunks: []grid.Cut{}}
		a, b := create(t, spec), create(t, spec)
		for array, v := range map[*zarr.Array]float64{a: c.a, b: c.b} {
			if err := zarr.Write(context.Background(), array, nil, []float64{v}); err != nil {
				t.Fatal(err)
			}
		}
		r := nodes(t, a, b, &diff.Options{Absolute: c.atol, Relative: c.rtol})
		if r.Equal() == c.differ || c.differ && r.Differences[0].Largest != c.distance {
			t.Errorf("%v and %v within %v and %v: %v", c.a, c.b, c.atol, c.rtol, r.Differences)
		}
	}
}

// TestLargeIntegers has numbers that float64 does not tell apart.
func TestLargeIntegers(t *testing.T) {
	spec := zarr.Spec{Shape: []int64{3}, Type: dtype.Uint64, Chunks: grid.Chunks(2)}
	a, b := create(t, spec), create(t, spec)
	for array, v := range map[*zarr.Array][]uint64{a: {1<<64 - 1, 5, 1 << 60}, b: {1<<64 - 2, 5, 1<<60 + 3}} {
		if err := zarr.Write(context.Background(), array, nil, v); err != nil {
			t.Fatal(err)
		}
	}
	r := nodes(t, a, b, nil)
	if len(r.Differences) != 2 || r.Differences[0].Largest != 1 || r.Differences[1].Largest != 3 {
		t.Errorf("%+v", r.Differences)
	}
}

// TestElementsOfOtherTypes compares elements that are no real numbers.
func TestElementsOfOtherTypes(t *testing.T) {
	for name, c := range map[string]struct {
		typ     dtype.Type
		a, b    string
		largest float64
	}{
		"bool":    {dtype.Bool, "false", "true", -1},
		"complex": {fixture.Must(dtype.Parse("complex64", nil)), "[1, 2]", "[1, 5]", 3},
		"text":    {dtype.String, `"a"`, `"b"`, -1},
		"time":    {fixture.Must(dtype.DatetimeOf("s", 1)), "10", "25", 15},
		"small":   {fixture.Must(dtype.Parse("int4", nil)), "-8", "7", 15},
		"half":    {fixture.Must(dtype.Parse("float16", nil)), "1", "1.5", 0.5},
		"bytes":   {fixture.Must(dtype.Parse("r16", nil)), "[1, 2]", "[1, 3]", -1},
	} {
		t.Run(name, func(t *testing.T) {
			spec := zarr.Spec{Shape: []int64{2}, Type: c.typ, Chunks: grid.Chunks(2), FillValue: zarr.FillJSON(c.a)}
			a := create(t, spec)
			spec.FillValue = zarr.FillJSON(c.b)
			r := nodes(t, a, create(t, spec), nil)
			kinds := []diff.Kind{}
			for _, d := range r.Differences {
				kinds = append(kinds, d.Kind)
			}
			if !slices.Equal(kinds, []diff.Kind{"fill-value", "values"}) {
				t.Fatalf("%+v", r.Differences)
			}
			if d := r.Differences[1]; d.Count != 2 || d.Largest != c.largest {
				t.Errorf("%+v", d)
			}
		})
	}
}

// TestNodes compares hierarchies, and checks every line.
func TestNodes(t *testing.T) {
	ctx := context.Background()
	build := func(attributes, only string, shape int64, chunk int64, values ...int32) *zarr.Group {
		h := zarr.At(memtest.New(), "")
		g := fixture.Must(h.CreateGroup(ctx, json.RawMessage(attributes), nil))
		spec := zarr.Spec{Shape: []int64{shape}, Type: dtype.Int32, Chunks: grid.Chunks(chunk), DimensionNames: []string{"t"}}
		a := fixture.Must(h.At("sub/x").CreateArray(ctx, spec, nil))
		fixture.Must(h.At("same").CreateArray(ctx, spec, nil))
		fixture.Must(h.At(only).CreateGroup(ctx, nil, nil))
		if err := zarr.Write(ctx, a, selection.Basic{selection.Span(0, int64(len(values)))}, values); err != nil {
			t.Fatal(err)
		}
		return g
	}
	a := build(`{"title": "one", "n": 1, "list": [1, {"a": 2, "b": 3}]}`, "left", 10, 4, 1, 2, 3, 4, 5)
	b := build(`{"n": 1, "list": [1, {"b": 3, "a": 2}], "extra": null}`, "right", 12, 3, 1, 2, 9, 4, 7)
	r := nodes(t, a, b, nil)
	want := []string{
		`: attribute extra: none and null`,
		`: attribute title: "one" and none`,
		`left: only in A: a group`,
		`right: only in B: a group`,
		`same: shape: [10] and [12]`,
		`sub/x: shape: [10] and [12]`,
		`sub/x: element [2] differs: 3 and 9`,
		`sub/x: element [4] differs: 5 and 7`,
	}
	if got := lines(r.Differences); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := lines(r.Storage); len(got) != 2 || !strings.HasPrefix(got[0], "same: chunk grid: ") || !strings.HasPrefix(got[1], "sub/x: chunk grid: ") {
		t.Errorf("storage %q", got)
	}
	if again := nodes(t, a, a, nil); !again.Equal() || again.Arrays != 2 {
		t.Errorf("with itself: %+v", again)
	}
}

func lines(list []diff.Difference) (text []string) {
	for _, d := range list {
		text = append(text, fmt.Sprintf("%s: %s", d.Path, d))
	}
	return text
}

// TestAlike checks that chunks with equal stored bytes are not decoded.
func TestAlike(t *testing.T) {
	ctx := context.Background()
	spec := zarr.Spec{Shape: []int64{100, 10}, Type: dtype.Float64, Chunks: grid.Chunks(10, 10)}
	a, b := create(t, spec), create(t, spec)
	for _, array := range []*zarr.Array{a, b} {
		if err := zarr.Fill(ctx, array, nil, 2.5); err != nil {
			t.Fatal(err)
		}
	}
	if err := zarr.Fill(ctx, b, selection.Basic{selection.At(55), selection.At(3)}, 2.75); err != nil {
		t.Fatal(err)
	}
	r := nodes(t, a, b, nil)
	if r.Alike != 9 || r.Elements != 1000 || len(r.Differences) != 1 || !slices.Equal(r.Differences[0].First, []int64{55, 3}) {
		t.Errorf("%+v", r)
	}
	// With other codecs equal bytes mean nothing.
	spec.Codecs = fixture.Plain()
	c := create(t, spec)
	if err := zarr.Fill(ctx, c, nil, 2.5); err != nil {
		t.Fatal(err)
	}
	if r := nodes(t, a, c, nil); r.Alike != 0 || !r.Equal() {
		t.Errorf("other codecs: %+v", r)
	}
	// The same bytes in another byte order are other numbers.
	spec.Codecs = []metadata.Extension{codec.Bytes("big")}
	d := create(t, spec)
	for chunk := range c.Chunks() {
		data := fixture.Must(c.ReadEncodedChunk(ctx, chunk.Index))
		if err := d.WriteEncodedChunk(ctx, chunk.Index, data); err != nil {
			t.Fatal(err)
		}
	}
	if r := nodes(t, c, d, nil); r.Equal() {
		t.Errorf("another byte order: %+v", r)
	}
}

// TestManyRegions keeps only as many regions as asked for, and loses no count.
func TestManyRegions(t *testing.T) {
	spec := zarr.Spec{Shape: []int64{100}, Type: dtype.Int32, Chunks: grid.Chunks(5)}
	a, b := create(t, spec), create(t, spec)
	for i := int64(0); i < 100; i += 5 {
		if err := zarr.Fill(context.Background(), b, selection.Basic{selection.At(i)}, int32(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	r := nodes(t, a, b, &diff.Options{Regions: 3})
	total := int64(0)
	for _, d := range r.Differences {
		total += d.Count
	}
	if len(r.Differences) != 3 || total != 20 {
		t.Errorf("%d regions with %d elements: %v", len(r.Differences), total, lines(r.Differences))
	}
}

// TestUnread damages a chunk and a document: the rest is compared, chunk by chunk where
// the chunks are read together, and what cannot be read is listed.
func TestUnread(t *testing.T) {
	ctx := t.Context()
	stores := [2]memtest.Store{memtest.New(), memtest.New()}
	groups := [2]zarr.Node{}
	for i, s := range stores {
		g := fixture.Must(zarr.At(s, "").CreateGroup(ctx, nil, nil))
		for _, name := range []string{"a", "b", "c"} {
			spec := zarr.Spec{Shape: []int64{100}, Type: dtype.Int32, Chunks: grid.Chunks(int64(10 + 15*i)), Codecs: []metadata.Extension{codec.Bytes("little"), codec.CRC32C()}}
			if name == "c" {
				spec.Chunks = grid.Chunks(10)
			}
			x := fixture.Must(g.At(name).CreateArray(ctx, spec, nil))
			data := make([]int32, 100)
			for k := range data {
				data[k] = int32(1 + k)
			}
			data[99] += int32(i)
			if err := zarr.Write(ctx, x, nil, data); err != nil {
				t.Fatal(err)
			}
		}
	}
	put := func(s store.Store, key, value string) {
		if _, err := store.Write(ctx, s, store.Put(store.MustKey(key), []byte(value)), store.Sync); err != nil {
			t.Fatal(err)
		}
	}
	put(stores[0], "a/c/3", "x") // 30:40
	put(stores[1], "a/c/0", "x") // 0:25
	put(stores[1], "b/zarr.json", "{")
	put(stores[1], "c/c/2", "x")
	// What is below a group that cannot be opened is no difference: nobody knows it.
	fixture.Must(zarr.At(stores[0], "").At("d").CreateGroup(ctx, nil, nil))
	fixture.Must(zarr.At(stores[1], "").At("d/deep/x").CreateArray(ctx, zarr.Spec{Shape: []int64{1}, Type: dtype.Int8}, nil))
	put(stores[0], "d/zarr.json", "{")
	for i, s := range stores {
		groups[i] = fixture.Must(zarr.At(s, "").OpenGroup(ctx, nil))
	}
	r := nodes(t, groups[0], groups[1], nil)
	var unread, differ []string
	for _, u := range r.Unread {
		unread = append(unread, fmt.Sprint(u.Path, " ", u.Chunks, " ", errors.Is(u.Err, zarr.ErrCorrupt), errors.Is(u.Err, zarr.ErrInvalidMetadata)))
	}
	for _, d := range r.Differences {
		differ = append(differ, fmt.Sprint(d.Path, " ", d.Kind, " ", d.First))
	}
	// Of the chunks of A, 0 to 2 lie across the first one of B.
	if want := []string{"a 4 true false", "b 0 false true", "c 1 true false", "d 0 false true"}; !slices.Equal(unread, want) {
		t.Errorf("%q, want %q", unread, want)
	}
	if want := []string{"a values [99]", "c values [99]"}; !slices.Equal(differ, want) {
		t.Errorf("%q, want %q", differ, want)
	}
	if r.Equal() || r.Elements != 60+90 || !strings.Contains(r.String(), "c: not compared in 1 chunk: ") {
		t.Errorf("%v", r)
	}
	var e *zarr.Error
	if !errors.As(r.Unread[0].Err, &e) || e.Key != "a/c/0" {
		t.Errorf("%+v", r.Unread[0].Err)
	}
}

// TestLongTexts compares texts that together are far longer than a block, in chunks,
// inner chunks, and chunks that are cut otherwise: they are read a few at a time.
func TestLongTexts(t *testing.T) {
	ctx := t.Context()
	const length = 16 << 10
	shape := []int64{12, 6}
	text := make([]string, 12*6)
	for i := range text {
		text[i] = strings.Repeat(string(rune('A'+i)), length)
	}
	open := func(last string, most int64, spec zarr.Spec) *zarr.Array {
		spec.Shape, spec.Type = shape, dtype.String
		s := memtest.New()
		a := fixture.Must(zarr.At(s, "").CreateArray(ctx, spec, nil))
		text := append(slices.Clone(text[:len(text)-1]), last)
		if err := zarr.Write(ctx, a, nil, text); err != nil {
			t.Fatal(err)
		}
		return fixture.Must(zarr.At(s, "").OpenArray(ctx, &zarr.Options{Limits: zarr.Limits{Block: most}}))
	}
	same, other := text[len(text)-1], strings.Repeat("z", length)
	want := fixture.Must(open(same, 0, zarr.Spec{Chunks: grid.Chunks(12, 6)}).Digest(ctx, nil))
	specs := map[string]zarr.Spec{
		"small chunks": {Chunks: grid.Chunks(1, 2)}, "chunks": {Chunks: grid.Chunks(4, 3)}, "bands": {Chunks: grid.Chunks(5, 6)},
		"one chunk": {Chunks: grid.Chunks(12, 6)}, "shards": {Chunks: grid.Chunks(12, 3), InnerChunks: grid.Chunks(2, 3)},
	}
	for name, spec := range specs {
		a := open(same, 13*length, spec)
		if got, err := a.Digest(ctx, nil); err != nil || got != want {
			t.Errorf("%s: digest %s (%v), want %s", name, got, err, want)
		}
		for beside, spec := range specs {
			b := open(other, 13*length, spec)
			d, err := zarr.Compare(ctx, a, b)
			if err != nil || d == nil || !slices.Equal(d.Index, []int64{11, 5}) {
				t.Errorf("%s and %s: %v (%v)", name, beside, d, err)
			}
			if r := nodes(t, a, b, nil); len(r.Unread) > 0 || len(r.Differences) != 1 || r.Elements != 72 || !slices.Equal(r.Differences[0].First, []int64{11, 5}) {
				t.Errorf("%s and %s: %v", name, beside, r)
			}
		}
	}
}
