// SPDX-License-Identifier: Apache-2.0

package growth_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// drawnArray is an array of int16 that is about to grow along an axis.
type drawnArray struct {
	spec zarr.Spec
	axis int
	opt  zarr.AppendOptions
}

// drawArray draws an array with regular and listed chunks, some of them shards, and a
// policy.
func drawArray(t *rapid.T) drawnArray {
	d := drawnArray{spec: zarr.Spec{Type: dtype.Int16, FillValue: zarr.FillJSON("7")}}
	sharded := rapid.Bool().Draw(t, "sharded")
	rank := rapid.IntRange(1, 3).Draw(t, "rank")
	d.axis = rapid.IntRange(0, rank-1).Draw(t, "axis")
	unit := int64(1)
	if sharded {
		unit = 2
		d.opt.RoundUp = true
	}
	for i := range rank {
		if rapid.Bool().Draw(t, "regular") {
			d.spec.Shape = append(d.spec.Shape, rapid.Int64Range(1, 9).Draw(t, "extent"))
			d.spec.Chunks = append(d.spec.Chunks, grid.Every(unit*rapid.Int64Range(1, 5).Draw(t, "edge")))
		} else {
			lengths := rapid.SliceOfN(rapid.Int64Range(1, 4), 1, 4).Draw(t, "edges")
			sum := int64(0)
			for k := range lengths {
				lengths[k] *= unit
				sum += lengths[k]
			}
			d.spec.Shape = append(d.spec.Shape, rapid.Int64Range(1, sum).Draw(t, "extent"))
			d.spec.Chunks = append(d.spec.Chunks, grid.Edges(lengths...))
			if i == d.axis {
				policies := []grid.Growth{{}, grid.RepeatLast(), grid.Fixed(2 * unit), grid.Pattern(unit, 3*unit)}
				d.opt.Grow = rapid.SampledFrom(policies).Draw(t, "policy")
			}
		}
		if sharded {
			d.spec.InnerChunks = append(d.spec.InnerChunks, grid.Every(unit))
		}
	}
	return d
}

// create creates the array in a store with the given elements.
func (d drawnArray) create(t *rapid.T, s store.Store, opt *zarr.CreateOptions, data []byte) *zarr.Array {
	a, err := zarr.At(s, "a").CreateArray(context.Background(), d.spec, opt)
	if err == nil {
		err = a.WriteBytes(context.Background(), nil, data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func randomBytes(t *rapid.T, n int64) []byte {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// storedValues returns all values of a store by key.
func storedValues(s store.Store) map[string]string {
	ctx, all := context.Background(), map[string]string{}
	lister, _ := store.As[store.Lister](s)
	for e, err := range lister.List(ctx, store.Path{}, store.Deep) {
		if err != nil {
			panic(err)
		}
		key := store.MustKey(e.Name)
		value, _, err := s.Get(ctx, key, store.Request{}, nil)
		if err != nil {
			panic(err)
		}
		all[e.Name] = string(value)
	}
	return all
}

// planes returns the shape of n planes.
func (d drawnArray) planes(n int64) []int64 {
	shape := slices.Clone(d.spec.Shape)
	shape[d.axis] = n
	return shape
}

// TestAppendFromItself appends an array to itself, box by box, so that its last chunk is
// filled up and written again. Readers see the old elements unchanged.
func TestAppendFromItself(t *testing.T) {
	ctx, h := t.Context(), zarr.At(memtest.New(), "")
	for name, cut := range map[string]grid.Cut{"regular": grid.Every(64), "listed": grid.Edges(64, 64)} {
		spec := zarr.Spec{Shape: []int64{100, 3}, Type: dtype.Int32, Chunks: []grid.Cut{cut, grid.Every(2)}}
		a := fixture.Must(h.At(name).CreateArray(ctx, spec, nil))
		if err := zarr.Write(ctx, a, nil, fixture.Numbers(1, 300)); err != nil {
			t.Fatal(err)
		}
		from := fixture.Must(h.At(name).OpenArray(ctx, nil))
		for range 2 {
			src := &zarr.Source{Shape: from.Shape(), Read: func(ctx context.Context, box grid.Box, dst []byte) error {
				return from.ReadBytes(ctx, selection.BoxOf(box), dst)
			}}
			small := fixture.Must(h.At(name).OpenArray(ctx, &zarr.Options{Write: true, Budget: 1 << 10}))
			if err := small.AppendFrom(ctx, 0, src, nil); err != nil {
				t.Fatal(err)
			}
			from = fixture.Must(h.At(name).OpenArray(ctx, nil))
		}
		got, err := zarr.Read[int32](ctx, from, nil)
		if want := slices.Repeat(fixture.Numbers(1, 300), 4); err != nil || !slices.Equal(got.Data, want) {
			t.Errorf("%s: shape %v, the elements differ from those appended (%v)", name, got.Shape, err)
		}
	}
}

// TestAppendFromIsAppend appends to equal arrays, from memory and from a source, with
// boxes of all sizes. The stored bytes are equal.
func TestAppendFromIsAppend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, d := context.Background(), drawArray(t)
		first := randomBytes(t, fixture.Count(d.spec.Shape)*2)
		opt := &zarr.CreateOptions{Options: zarr.Options{
			Budget:      rapid.SampledFrom([]int64{0, 1, 40, 400}).Draw(t, "budget"),
			Concurrency: rapid.IntRange(1, 3).Draw(t, "concurrency"),
		}}
		one, two := memtest.New(), memtest.New()
		a, b := d.create(t, one, nil, first), d.create(t, two, opt, first)
		for range rapid.IntRange(1, 3).Draw(t, "appends") {
			shape := d.planes(rapid.Int64Range(0, 9).Draw(t, "planes"))
			data := randomBytes(t, fixture.Count(shape)*2)
			want := a.AppendBytes(ctx, d.axis, data, &d.opt)
			got := b.AppendFrom(ctx, d.axis, zarr.SourceAt(bytes.NewReader(data), shape...), &d.opt)
			if fmt.Sprint(want) != fmt.Sprint(got) {
				t.Fatalf("error %v, Append: %v", got, want)
			}
		}
		if x, y := storedValues(one), storedValues(two); !maps.Equal(x, y) {
			t.Fatalf("%q is stored, %q by Append", slices.Sorted(maps.Keys(y)), slices.Sorted(maps.Keys(x)))
		}
	})
}

// TestGroupAppendFrom appends to two arrays of a group in one transaction, one from
// memory and one from a source.
func TestGroupAppendFrom(t *testing.T) {
	ctx, h := t.Context(), zarr.At(memtest.New(), "")
	g, err := h.At("g").CreateGroup(ctx, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, spec := range map[string]zarr.Spec{"x": fixture.Edges(2, 3), "y": fixture.Every(5, 4)} {
		if _, err := g.At(path).CreateArray(ctx, spec, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Append(ctx); err != nil {
		t.Errorf("nothing to append: %v", err)
	}
	data := fixture.Numbers(1, 6)
	src := zarr.SourceAt(bytes.NewReader(fixture.Int32Bytes(data)), 6)
	if err := g.Append(ctx, zarr.Add("x", 0, data, nil), zarr.Addition{Path: "y", From: src}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"x", "y"} {
		a, err := g.At(path).OpenArray(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(b.Data, slices.Concat(make([]int32, 5), data)) {
			t.Errorf("%s holds %v, %v", path, b.Data, err)
		}
	}
	both := zarr.Add("x", 0, data, nil)
	both.From = src
	for _, add := range []zarr.Addition{both, {Path: "x", Data: fixture.Int32Bytes(data), From: src}} {
		if err := g.Append(ctx, add); !errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), "both elements and a source") {
			t.Errorf("error is %v", err)
		}
	}
}

// TestAppendFromRefused appends from sources that do not fit. Nothing is read or
// changed.
func TestAppendFromRefused(t *testing.T) {
	ctx := t.Context()
	never := func(context.Context, grid.Box, []byte) error {
		t.Error("the source was read")
		return nil
	}
	for _, c := range []struct {
		name   string
		typ    dtype.Type
		src    *zarr.Source
		axis   int
		opt    *zarr.AppendOptions
		target error
		want   string
	}{
		{"none", dtype.Int32, nil, 0, nil, zarr.ErrInvalidArgument, "no source"},
		{"no Read", dtype.Int32, &zarr.Source{Shape: []int64{1, 4}}, 0, nil, zarr.ErrInvalidArgument, "no Read"},
		{"rank", dtype.Int32, &zarr.Source{Shape: []int64{4}, Read: never}, 0, nil, zarr.ErrInvalidArgument, "does not continue"},
		{"other axis", dtype.Int32, &zarr.Source{Shape: []int64{1, 5}, Read: never}, 0, nil, zarr.ErrInvalidArgument, "does not continue"},
		{"negative", dtype.Int32, &zarr.Source{Shape: []int64{-1, 4}, Read: never}, 0, nil, zarr.ErrInvalidArgument, "does not continue"},
		{"axis", dtype.Int32, &zarr.Source{Shape: []int64{1, 4}, Read: never}, 2, nil, zarr.ErrInvalidArgument, "axis 2"},
		{"too long", dtype.Int32, &zarr.Source{Shape: []int64{1 << 62, 4}, Read: never}, 0, nil, zarr.ErrOverflow, "source of shape"},
		{"other planes", dtype.Int32, &zarr.Source{Shape: []int64{2, 4}, Read: never}, 0, &zarr.AppendOptions{Planes: 3}, zarr.ErrInvalidArgument, "Planes is 3"},
		{"expected", dtype.Int32, &zarr.Source{Shape: []int64{2, 4}, Read: never}, 0, &zarr.AppendOptions{Expect: []int64{9, 4}}, zarr.ErrConflict, "expected"},
		{"text", fixture.Must(dtype.Parse("string", nil)), &zarr.Source{Shape: []int64{2, 4}, Read: never}, 0, nil, zarr.ErrInvalidArgument, "use Append"},
	} {
		s := memtest.New()
		a, err := zarr.At(s, "a").CreateArray(ctx, zarr.Spec{Shape: []int64{3, 4}, Type: c.typ, Chunks: grid.Chunks(2, 2)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		before := storedValues(s)
		if err := a.AppendFrom(ctx, c.axis, c.src, c.opt); !errors.Is(err, c.target) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if !maps.Equal(before, storedValues(s)) {
			t.Errorf("%s: the stored values changed", c.name)
		}
	}
}

// TestExpectBeforeData appends data that do not fit to a group whose arrays have grown
// already: that is what the error says.
func TestExpectBeforeData(t *testing.T) {
	ctx, s := t.Context(), memtest.New()
	g, err := zarr.At(s, "").CreateGroup(ctx, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if _, err := g.At(name).CreateArray(ctx, zarr.Spec{Shape: []int64{3, 4}, Type: dtype.Int32, Chunks: grid.Chunks(2, 2)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	opt := &zarr.AppendOptions{Expect: []int64{2, 4}}
	for name, more := range map[string]zarr.Addition{
		"length": zarr.Add("b", 0, make([]int32, 5), opt), "type": {Path: "b", Type: dtype.Int8, Data: make([]byte, 4), Options: opt},
	} {
		if err := g.Append(ctx, zarr.Add("a", 0, make([]int32, 8), opt), more); !errors.Is(err, zarr.ErrConflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAppendFromNothing appends no planes, and planes without elements.
func TestAppendFromNothing(t *testing.T) {
	ctx := t.Context()
	a, err := zarr.At(memtest.New(), "a").CreateArray(ctx, zarr.Spec{
		Shape: []int64{3, 0}, Type: dtype.Int32, Chunks: grid.Chunks(2, 2)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int64{0, 4} {
		if err := a.AppendFrom(ctx, 0, zarr.SourceAt(strings.NewReader(""), n, 0), nil); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(a.Shape(), []int64{7, 0}) {
		t.Error(a.Shape())
	}
}

var errBroken = errors.New("the source is broken")

// brokenAt is a reader that fails at a byte. If err is nil, it ends early instead.
type brokenAt struct {
	io.ReaderAt
	at  int64
	err error
}

func (b brokenAt) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > b.at {
		n, _ := b.ReaderAt.ReadAt(p[:max(0, b.at-off)], off)
		return n, b.err
	}
	return b.ReaderAt.ReadAt(p, off)
}

// TestAppendFromBroken appends from a source that fails at every byte in turn. The array
// does not change, no chunk is left, and the error names the byte. An error of the
// source that wraps a conflict is not a conflict of this array.
func TestAppendFromBroken(t *testing.T) {
	ctx, data := t.Context(), fixture.Int32Bytes(fixture.Numbers(7, 40))
	for at := int64(0); at < int64(len(data)); at += 10 {
		for _, broken := range []error{errBroken, io.EOF, nil, zarr.ErrConflict} {
			want := broken
			if broken == nil || broken == io.EOF {
				want = io.ErrUnexpectedEOF
			}
			s := memtest.New()
			spec := zarr.Spec{Shape: []int64{5, 4}, Type: dtype.Int32, Chunks: grid.Chunks(3, 2)}
			a, err := zarr.At(s, "a").CreateArray(ctx, spec, &zarr.CreateOptions{Options: zarr.Options{Budget: 1}})
			if err == nil {
				err = zarr.Write(ctx, a, nil, fixture.Numbers(1, 20))
			}
			if err != nil {
				t.Fatal(err)
			}
			before := slices.Sorted(maps.Keys(storedValues(s)))
			err = a.AppendFrom(ctx, 0, zarr.SourceAt(brokenAt{bytes.NewReader(data), at, broken}, 10, 4), nil)
			if err == nil || errors.Is(err, want) == errors.Is(want, zarr.ErrConflict) {
				t.Fatalf("broken at %d: %v", at, err)
			}
			_, text, _ := strings.Cut(err.Error(), "at byte ")
			var said int64
			if _, scan := fmt.Sscanf(text, "%d:", &said); scan != nil || said < at || said > at+64 {
				t.Errorf("broken at %d: %v", at, err)
			}
			if after := slices.Sorted(maps.Keys(storedValues(s))); !slices.Equal(before, after) {
				t.Errorf("broken at %d: %q is stored, %q before", at, after, before)
			}
			if err := a.Resize(ctx, []int64{15, 4}, nil); err != nil {
				t.Fatal(err)
			}
			if b, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(b.Data, slices.Concat(fixture.Numbers(1, 20), make([]int32, 40))) {
				t.Errorf("broken at %d: it holds %v, %v", at, b.Data, err)
			}
		}
	}
}

// TestAppendFromConflict appends from a source while another program appends to the
// array, in a store without locks. The source is read a second time, and the array has
// both appends.
func TestAppendFromConflict(t *testing.T) {
	for name, spec := range map[string]zarr.Spec{"listed": fixture.Edges(2, 3), "regular": fixture.Every(5, 4), "beyond": fixture.Within(fixture.Edges(2, 9), 5)} {
		ctx, s := t.Context(), stepping.Conditional(memtest.New(), stepping.Hooks{})
		a, err := zarr.At(&fixture.Program{ObjectStore: s}, "a").CreateArray(ctx, spec, &zarr.CreateOptions{Options: zarr.Options{Budget: 1}})
		if err != nil {
			t.Fatal(err)
		}
		data, reads, overtaken := fixture.Numbers(1, 9), 0, 2
		file := zarr.SourceAt(bytes.NewReader(fixture.Int32Bytes(data)), 9)
		src := &zarr.Source{Shape: []int64{9}, Read: func(ctx context.Context, box grid.Box, dst []byte) error {
			if reads++; overtaken > 0 && box[0].Stop == 9 {
				overtaken--
				other, err := zarr.At(&fixture.Program{ObjectStore: s}, "a").OpenArray(ctx, &zarr.Options{Write: true})
				if err == nil {
					err = zarr.Append(ctx, other, 0, fixture.Numbers(100, 2), nil)
				}
				if err != nil {
					return err
				}
			}
			return file.Read(ctx, box, dst)
		}}
		var opt *zarr.AppendOptions
		if name != "regular" {
			opt = &zarr.AppendOptions{Grow: grid.Fixed(3)}
		}
		if err := a.AppendFrom(ctx, 0, src, opt); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := slices.Concat(make([]int32, 5), fixture.Numbers(100, 2), fixture.Numbers(100, 2), data)
		if b, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(b.Data, want) || reads < 4 {
			t.Errorf("%s: %v after %d reads, %v", name, b.Data, reads, err)
		}
	}
}

// TestAppendFromAnother appends the elements of another array, and those of the array
// itself.
func TestAppendFromAnother(t *testing.T) {
	ctx := t.Context()
	a, err := zarr.At(memtest.New(), "a").CreateArray(ctx, fixture.Plane(), &zarr.CreateOptions{Options: zarr.Options{Budget: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Write(ctx, a, nil, fixture.Numbers(1, 20)); err != nil {
		t.Fatal(err)
	}
	own := &zarr.Source{Shape: a.Shape(), Read: func(ctx context.Context, box grid.Box, dst []byte) error {
		return a.ReadBytes(ctx, selection.BoxOf(box), dst)
	}}
	if err := a.AppendFrom(ctx, 0, own, nil); err != nil {
		t.Fatal(err)
	}
	if b, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(b.Data, slices.Concat(fixture.Numbers(1, 20), fixture.Numbers(1, 20))) {
		t.Errorf("it holds %v, %v", b.Data, err)
	}
}

// TestAppendFromMemory appends far more than fits in memory. Boxes along the last axis,
// whose rows are apart in the source, take no more memory than others.
func TestAppendFromMemory(t *testing.T) {
	racing.Skip(t)
	const budget, most = 8 << 20, 40.0 // MiB: a box, pooled buffers, and encoding
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	for axis, shape := range [][]int64{{128, 512, 512}, {512, 128, 512}, {512, 512, 128}} {
		ctx := t.Context()
		spec := zarr.Spec{Shape: slices.Clone(shape), Type: dtype.Int32, Chunks: grid.Chunks(64, 64, 64)}
		spec.Shape[axis] = 0
		a, err := zarr.At(memtest.New(), "a").CreateArray(ctx, spec, &zarr.CreateOptions{Options: zarr.Options{Budget: budget, Concurrency: 2}})
		if err != nil {
			t.Fatal(err)
		}
		src := &zarr.Source{Shape: shape, Read: func(_ context.Context, box grid.Box, dst []byte) error {
			for i := range dst {
				dst[i] = byte(box[axis].Start + 1)
			}
			return nil
		}}
		used := fixture.HeapMiB(func() {
			if err := a.AppendFrom(ctx, axis, src, nil); err != nil {
				t.Error(err)
			}
		})
		t.Logf("axis %d: %.0f MiB for %d", axis, used, 4*fixture.Count(shape)>>20)
		if used > most {
			t.Errorf("axis %d: %.0f MiB, want %.0f at most", axis, used, most)
		}
	}
}

// TestNamesOfAxes appends sources and segments whose axes have other names than those of
// the array. Names that only one side has are not compared.
func TestNamesOfAxes(t *testing.T) {
	for _, tt := range []struct {
		names []string
		fits  bool
	}{{nil, true}, {[]string{"t", "y"}, true}, {[]string{"", "y"}, true}, {[]string{"y", "t"}, false}, {[]string{"t", "x"}, false}} {
		s := memtest.New()
		if _, err := zarr.At(s, "").CreateGroup(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
		create := func(path string, names []string) *zarr.Array {
			a, err := zarr.At(s, path).CreateArray(t.Context(), zarr.Spec{Shape: []int64{2, 2}, Type: dtype.Int32, DimensionNames: names}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		a, segment := create("a", []string{"t", "y"}), create("segment", tt.names)
		source := zarr.SourceAt(bytes.NewReader(make([]byte, 16)), 2, 2)
		source.DimensionNames = tt.names
		g, err := zarr.At(s, "").OpenGroup(t.Context(), &zarr.Options{Write: true})
		if err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{
			"source":          a.AppendFrom(t.Context(), 0, source, nil),
			"segment":         a.Stitch(t.Context(), 0, []*zarr.Array{segment}, nil),
			"addition":        g.Append(t.Context(), zarr.Addition{Path: "a", From: source, Alone: true}),
			"stitch of group": g.Append(t.Context(), zarr.Addition{Path: "a", Segments: []*zarr.Array{segment}, Alone: true}),
		} {
			if (err == nil) != tt.fits || err != nil && !errors.Is(err, zarr.ErrInvalidArgument) {
				t.Errorf("%s with names %q: %v", name, tt.names, err)
			}
		}
		if err := a.Refresh(t.Context()); err != nil || (a.Shape()[0] == 10) != tt.fits {
			t.Errorf("names %q: shape %v (%v)", tt.names, a.Shape(), err)
		}
	}
}
