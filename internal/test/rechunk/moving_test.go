// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// replace replaces the planes from start to stop along an axis by others.
func (d *drawn) replace(axis int, start, stop int64, by []int32, planes int64) {
	was := &drawn{shape: slices.Clone(d.shape), data: d.data}
	d.shape[axis] += planes - (stop - start)
	given := &drawn{shape: slices.Clone(d.shape), data: by}
	given.shape[axis] = planes
	d.data = nil
	for at := range grid.BoxOf(d.shape).Indices() {
		from := was
		switch k := at[axis]; {
		case k >= start && k < start+planes:
			from, at[axis] = given, k-start
		case k >= start:
			at[axis] = k - planes + stop - start
		}
		d.data = append(d.data, from.data[from.offset(at)])
	}
}

// drawMove draws a removal or an insertion, and what it makes of the values.
func (d *drawn) drawMove(t *rapid.T) (r rechunk.Request, apply func()) {
	axis := rapid.IntRange(0, len(d.shape)-1).Draw(t, "axis")
	extent := d.shape[axis]
	if rapid.Bool().Draw(t, "drop") {
		from := rapid.Int64Range(0, extent).Draw(t, "from")
		to := rapid.Int64Range(from, extent).Draw(t, "to")
		r := rechunk.Removal{Axis: axis, Range: grid.Interval{Start: from, Stop: to}, Unlock: rapid.Bool().Draw(t, "unlock")}
		return r, func() { d.replace(axis, from, to, nil, 0) }
	}
	shape := slices.Clone(d.shape)
	shape[axis] = rapid.Int64Range(1, 6).Draw(t, "planes")
	n := int64(1)
	for _, k := range shape {
		n *= k
	}
	at, first := rapid.Int64Range(0, extent).Draw(t, "at"), rapid.Int32Range(100, 999).Draw(t, "first")
	values := fixture.Numbers(first, int32(n))
	insertion := rechunk.Insertion{Axis: axis, At: at, From: given(shape, values), Unlock: rapid.Bool().Draw(t, "unlock")}
	k := shape[axis]
	if k > 1 && rapid.Bool().Draw(t, "two chunks") {
		insertion.Edges = []int64{1, k - 1}
	}
	if k > 1 && rapid.Bool().Draw(t, "two places") {
		next := rapid.Int64Range(at, extent).Draw(t, "next")
		insertion.At, insertion.Places = 0, []rechunk.Place{{At: at, Count: 1}, {At: next, Count: k - 1}}
		return insertion, func() {
			d.replace(axis, next, next, planesOf(values, shape, axis, 1, k), k-1)
			d.replace(axis, at, at, planesOf(values, shape, axis, 0, 1), 1)
		}
	}
	return insertion, func() { d.replace(axis, at, at, values, k) }
}

// planesOf returns the values of some planes along an axis.
func planesOf(values []int32, shape []int64, axis int, from, to int64) (list []int32) {
	k := 0
	for at := range grid.BoxOf(shape).Indices() {
		if at[axis] >= from && at[axis] < to {
			list = append(list, values[k])
		}
		k++
	}
	return list
}

// TestAnyMove drops and inserts drawn planes of drawn arrays, several times, with writes
// and appends between. The array has the values of a model, for itself, for one that is
// opened afterwards, and for a reader that opened before until the next vacuum.
func TestAnyMove(t *testing.T) {
	refused, done := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		d := drawArray(rt)
		if len(d.shape) == 0 {
			return
		}
		for range rapid.IntRange(1, 4).Draw(rt, "moves") {
			before, err := zarr.At(d.store, "a").OpenArray(rt.Context(), nil)
			if err != nil {
				rt.Fatal(err)
			}
			was := *d
			was.shape = slices.Clone(d.shape)
			r, apply := d.drawMove(rt)
			report, err := rechunk.Do(rt.Context(), d.array, r, &rechunk.Options{Memory: 1 << 12})
			if d.inner != nil && errors.Is(err, zarr.ErrInvalidArgument) && strings.Contains(err.Error(), "whole inner chunks") {
				refused++
				continue
			}
			if errors.Is(err, zarr.ErrLimit) {
				report, err = rechunk.Do(rt.Context(), d.array, r, nil) // a chunk exceeded the memory
			}
			if err != nil {
				rt.Fatalf("%+v: %v", r, err)
			}
			if report.Changed {
				done++
			}
			apply()
			d.check(rt, d.array, "the array")
			// One that looks again, because chunks are missing, sees the present array.
			got, err := zarr.Read[int32](rt.Context(), before, nil)
			if err != nil || !slices.Equal(got.Data, was.data) && !slices.Equal(got.Data, d.data) {
				rt.Fatalf("a reader that opened before reads %v (%v), want %v", got.Data, err, was.data)
			}
			after, err := zarr.At(d.store, "a").OpenArray(rt.Context(), &zarr.Options{Write: true})
			if err != nil {
				rt.Fatal(err)
			}
			d.check(rt, after, "a reader that opened after")
			for f, err := range after.CheckShards(rt.Context(), nil) {
				rt.Fatalf("%v (%v)", f, err)
			}
			if report.Changed && rapid.Bool().Draw(rt, "revert") {
				if err := rechunk.Revert(rt.Context(), d.array); err != nil {
					rt.Fatal(err)
				}
				d.shape, d.data = was.shape, was.data
				d.check(rt, d.array, "after a revert, the array")
			}
			if rapid.Bool().Draw(rt, "write") {
				d.write(rt, d.array)
				d.check(rt, d.array, "a writer")
			}
			if _, err := rechunk.Vacuum(rt.Context(), d.array, &rechunk.VacuumOptions{Grace: -1}); err != nil {
				rt.Fatal(err)
			}
			d.check(rt, d.array, "after a vacuum, the array")
		}
	})
	t.Logf("%d moves, %d refused", done, refused)
}

// lengths returns the lengths of the chunks along an axis.
func lengths(a *zarr.Array, axis int) (list []int64) {
	for r := range a.Grid().Axis(axis).Edges() {
		list = append(list, slices.Repeat([]int64{r.Length}, int(r.Count))...)
	}
	return list
}

// TestCuts checks where chunks end after a move.
func TestCuts(t *testing.T) {
	drop := func(from, to int64) rechunk.Request {
		return rechunk.Removal{Range: grid.Interval{Start: from, Stop: to}}
	}
	insert := func(at, n int64, edges ...int64) rechunk.Request {
		return rechunk.Insertion{At: at, From: given([]int64{n}, fixture.Numbers(1000, int32(n))), Edges: edges}
	}
	insertTo := func(edges []int64, to ...rechunk.Place) rechunk.Request {
		n := int64(0)
		for _, p := range to {
			n += p.Count
		}
		return rechunk.Insertion{Places: to, From: given([]int64{n}, fixture.Numbers(1000, int32(n))), Edges: edges}
	}
	for _, c := range []struct {
		request rechunk.Request
		want    []int64
		counts  rechunk.Counts // without bytes
	}{
		{drop(10, 40), []int64{10, 19, 31}, rechunk.Counts{Cloned: 1, Encoded: 2}},
		{drop(0, 31), []int64{28, 31}, rechunk.Counts{Cloned: 2}},
		{drop(31, 59), []int64{31, 31}, rechunk.Counts{Cloned: 2}},
		{drop(59, 90), []int64{31, 28}, rechunk.Counts{Cloned: 2}},
		{drop(10, 20), []int64{21, 28, 31}, rechunk.Counts{Cloned: 2, Encoded: 1}},
		{drop(80, 90), []int64{31, 28, 21}, rechunk.Counts{Cloned: 2, Encoded: 1}},
		{drop(0, 90), []int64{31}, rechunk.Counts{}},
		{insert(0, 5), []int64{5, 31, 28, 31}, rechunk.Counts{Cloned: 3, Encoded: 1}},
		{insert(90, 5), []int64{31, 28, 31, 5}, rechunk.Counts{Cloned: 3, Encoded: 1}},
		{insert(31, 5, 2, 3), []int64{31, 2, 3, 28, 31}, rechunk.Counts{Cloned: 3, Encoded: 2}},
		{insert(40, 5), []int64{31, 9, 5, 19, 31}, rechunk.Counts{Cloned: 2, Encoded: 3}},
		{insertTo(nil, rechunk.Place{At: 0, Count: 2}, rechunk.Place{At: 40, Count: 5}, rechunk.Place{At: 90, Count: 1}),
			[]int64{2, 31, 9, 5, 19, 31, 1}, rechunk.Counts{Cloned: 2, Encoded: 5}},
		{insertTo([]int64{1, 1, 2, 3}, rechunk.Place{At: 40, Count: 2}, rechunk.Place{At: 50, Count: 5}),
			[]int64{31, 9, 1, 1, 10, 2, 3, 9, 31}, rechunk.Counts{Cloned: 2, Encoded: 7}},
	} {
		s := memtest.New()
		a, err := zarr.At(s, "a").CreateArray(t.Context(), fixture.Edges(31, 28, 31), nil)
		if err == nil {
			err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 90))
		}
		if err != nil {
			t.Fatal(err)
		}
		plan, err := rechunk.NewPlan(t.Context(), a, c.request, nil)
		if err != nil {
			t.Fatal(err)
		}
		report, err := rechunk.Do(t.Context(), a, c.request, nil)
		if err != nil || !slices.Equal(lengths(a, 0), c.want) {
			t.Errorf("%+v: chunks %v (%v), want %v", c.request, lengths(a, 0), err, c.want)
		}
		is := report.Staged
		is.BytesCopied, is.BytesLinked, is.BytesDecoded, is.BytesEncoded = 0, 0, 0, 0
		if is != c.counts || plan.Cloned != is.Cloned || plan.Encoded != is.Encoded || plan.Dropped > 0 != (c.want[0] == 28 || len(c.want) < 3) {
			t.Errorf("%+v: staged %+v, planned %+v, want %+v", c.request, is, plan, c.counts)
		}
	}
}

// TestCutsOfOpenChunk inserts planes into a chunk that reaches beyond the extent. It ends
// where it did as long as it has room.
func TestCutsOfOpenChunk(t *testing.T) {
	for _, c := range []struct {
		to   []rechunk.Place
		want []int64
	}{
		{[]rechunk.Place{{At: 35, Count: 1}}, []int64{31, 4, 1, 23, 31}},
		{[]rechunk.Place{{At: 33, Count: 2}, {At: 35, Count: 1}}, []int64{31, 2, 2, 2, 1, 21, 31}},
		{[]rechunk.Place{{At: 35, Count: 20}}, []int64{31, 4, 20, 6, 31}}, // it has room for 18
		{[]rechunk.Place{{At: 31, Count: 1}}, []int64{31, 1, 28, 31}},     // before the chunk
		{[]rechunk.Place{{At: 5, Count: 1}, {At: 35, Count: 1}}, []int64{5, 1, 26, 4, 1, 23, 31}},
		{[]rechunk.Place{{At: 35, Count: 1}, {At: 41, Count: 1}}, []int64{31, 4, 1, 6, 1, 31}},
	} {
		spec := fixture.Edges(31, 28, 31)
		spec.Shape = []int64{41}
		a, err := zarr.At(memtest.New(), "a").CreateArray(t.Context(), spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for _, p := range c.to {
			n += p.Count
		}
		if _, err := rechunk.Do(t.Context(), a, rechunk.Insertion{Places: c.to, From: given([]int64{n}, fixture.Numbers(1, int32(n)))}, nil); err != nil {
			t.Fatal(err)
		}
		if got := lengths(a, 0); !slices.Equal(got, c.want) {
			t.Errorf("%+v: chunks %v, want %v", c.to, got, c.want)
		}
	}
}

// TestMoveRefusals checks requests that must not change anything.
func TestMoveRefusals(t *testing.T) {
	s := memtest.New()
	create := func(name string, spec zarr.Spec) *zarr.Array {
		at := zarr.At(s, name)
		if name == "old" {
			at = zarr.At(memtest.New(), name)
		}
		a, err := at.CreateArray(t.Context(), spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	listed, regular := create("listed", fixture.Edges(4, 4)), create("regular", fixture.Every(1<<23, 1<<21))
	old := create("old", fixture.AsV2(fixture.Every(8, 4)))
	spec := fixture.Edges(16, 16)
	spec.InnerChunks = grid.Chunks(4)
	shards := create("shards", spec)
	in := func(from, to int64) grid.Interval { return grid.Interval{Start: from, Stop: to} }
	two := given([]int64{2}, []int32{1, 2})
	for _, c := range []struct {
		array   *zarr.Array
		request rechunk.Request
		kind    error
		words   string
	}{
		{listed, rechunk.Removal{Range: in(2, 9)}, zarr.ErrInvalidArgument, "there are 8"},
		{listed, rechunk.Removal{Range: in(5, 4)}, zarr.ErrInvalidArgument, "5:4"},
		{listed, rechunk.Removal{Range: in(-1, 4)}, zarr.ErrInvalidArgument, "-1:4"},
		{listed, rechunk.Removal{Axis: 1, Range: in(0, 1)}, zarr.ErrInvalidArgument, "axis 1"},
		{listed, rechunk.Insertion{At: 9, From: two}, zarr.ErrInvalidArgument, "there are 8"},
		{listed, rechunk.Insertion{At: 0}, zarr.ErrInvalidArgument, "no elements"},
		{listed, rechunk.Insertion{Places: []rechunk.Place{{At: 1, Count: 1}, {At: 9, Count: 1}}, From: two}, zarr.ErrInvalidArgument, "there are 8"},
		{listed, rechunk.Insertion{Places: []rechunk.Place{{At: 2, Count: 1}, {At: 1, Count: 1}}, From: two}, zarr.ErrInvalidArgument, "insert at 1 after 2"},
		{listed, rechunk.Insertion{Places: []rechunk.Place{{At: 2, Count: 1}}, From: two}, zarr.ErrInvalidArgument, "places for 1 plane, but 2 are given"},
		{listed, rechunk.Insertion{Places: []rechunk.Place{{At: 2, Count: 3}}, From: two}, zarr.ErrInvalidArgument, "insert 3 of 2 planes"},
		{listed, rechunk.Insertion{Places: []rechunk.Place{}, From: two}, zarr.ErrInvalidArgument, "places for 0 planes"},
		{listed, rechunk.Insertion{Places: []rechunk.Place{{At: 1, Count: 1}, {At: 2, Count: 1}}, Edges: []int64{2}, From: two}, zarr.ErrInvalidArgument, "from one place to the next"},
		{listed, rechunk.Insertion{At: 0, From: given([]int64{1, 2}, []int32{1, 2})}, zarr.ErrInvalidArgument, "does not continue"},
		{listed, rechunk.Insertion{At: 0, From: two, Edges: []int64{3}}, zarr.ErrInvalidArgument, "3 planes"},
		{regular, rechunk.Removal{Range: in(0, 4)}, zarr.ErrInvalidArgument, "only whole chunks of 2097152"},
		{regular, rechunk.Insertion{From: two}, zarr.ErrInvalidArgument, "regular"},
		{old, rechunk.Removal{Range: in(0, 4), Unlock: true}, zarr.ErrUnsupported, "format 2"},
		{shards, rechunk.Removal{Range: in(6, 18)}, zarr.ErrInvalidArgument, "begin at 4 or 8 and end at 16 or 20"},
		{shards, rechunk.Insertion{At: 3, From: two}, zarr.ErrInvalidArgument, "insert at 0 or 4"},
		{shards, rechunk.Insertion{Places: []rechunk.Place{{At: 4, Count: 1}, {At: 9, Count: 1}}, From: two}, zarr.ErrInvalidArgument, "insert at 8 or 12"},
	} {
		before := keys(t, s)
		if _, err := rechunk.Do(t.Context(), c.array, c.request, nil); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%+v: %v, want %v with %q", c.request, err, c.kind, c.words)
		}
		if is := keys(t, s); is != before {
			t.Errorf("%+v: left %s", c.request, is)
		}
	}
}

// TestStaysRegular drops and inserts planes of regular arrays: they stay regular if only
// whole chunks move, or if they are small. The chunks that programs know which have
// opened the array before stay as they are.
func TestStaysRegular(t *testing.T) {
	drop := func(from, to int64) rechunk.Removal {
		return rechunk.Removal{Range: grid.Interval{Start: from, Stop: to}}
	}
	unlock := func(r rechunk.Removal) rechunk.Removal { r.Unlock = true; return r }
	insert := func(at int64) rechunk.Insertion {
		return rechunk.Insertion{At: at, From: given([]int64{2}, []int32{50, 51})}
	}
	large, old, named := fixture.Every(1<<23, 1<<21), fixture.AsV2(fixture.Every(8, 3)), fixture.Every(8, 3)
	old.Shape, old.Chunks = []int64{8, 1}, grid.Chunks(3, 1)
	named.DimensionNames = []string{"a"}
	for name, c := range map[string]struct {
		spec    zarr.Spec
		request rechunk.Request
		chunks  int64
		list    bool
		want    []int32 // the first elements
	}{
		"within a chunk":       {fixture.Every(8, 3), drop(1, 2), 3, false, []int32{1, 3, 4, 5, 6, 7, 8}},
		"one large chunk":      {fixture.Every(8, 100), drop(0, 1), 1, false, []int32{2, 3, 4, 5, 6, 7, 8}},
		"all":                  {fixture.Every(8, 3), drop(0, 8), 0, false, nil},
		"format 2":             {old, drop(0, 2), 2, false, []int32{3, 4, 5, 6, 7, 8}},
		"insertion":            {fixture.Every(8, 3), insert(4), 4, false, []int32{1, 2, 3, 4, 50, 51, 5, 6, 7, 8}},
		"asked for a list":     {fixture.Every(8, 3), unlock(drop(1, 2)), 3, true, []int32{1, 3, 4}},
		"a coordinate":         {named, unlock(drop(1, 2)), 3, false, []int32{1, 3, 4}},
		"whole chunks":         {large, drop(1<<21, 1<<22), 3, false, []int32{1, 2, 3, 4, 5, 6, 7, 8, 0}},
		"the end":              {large, drop(1<<22-7, 1<<23), 2, false, []int32{1, 2, 3}},
		"insertion at the end": {large, insert(1 << 23), 5, false, []int32{1, 2, 3}},
		"into an empty array":  {fixture.Every(0, 3), insert(0), 1, false, []int32{50, 51}},
	} {
		t.Run(name, func(t *testing.T) {
			s := memtest.New()
			a, err := zarr.At(s, "a").CreateArray(t.Context(), c.spec, nil)
			if err != nil {
				t.Fatal(err)
			}
			box := grid.BoxOf(a.Shape())
			box[0].Stop = min(8, box[0].Stop)
			if err := zarr.Write(t.Context(), a, selection.BoxOf(box), fixture.Numbers(1, int32(box[0].Stop))); err != nil {
				t.Fatal(err)
			}
			chunks := map[string]string{}
			for _, key := range strings.Fields(keys(t, s)) {
				if !strings.Contains(key, ".z") && !strings.HasSuffix(key, ".json") {
					chunks[key] = valueAt(t, s, key)
				}
			}
			if _, err := rechunk.Do(t.Context(), a, c.request, nil); err != nil {
				t.Fatal(err)
			}
			if n, ok := a.Grid().NumChunks(); !ok || n != c.chunks || a.Grid().IsRegular() == c.list {
				t.Errorf("%s", a)
			}
			box = grid.BoxOf(a.Shape())
			box[0].Stop = int64(len(c.want))
			if got, err := zarr.Read[int32](t.Context(), a, selection.BoxOf(box)); err != nil || !slices.Equal(got.Data, c.want) {
				t.Errorf("%v (%v), want %v", got.Data, err, c.want)
			}
			for key, value := range chunks {
				if valueAt(t, s, key) != value {
					t.Errorf("%s has changed", key)
				}
			}
		})
	}
}

// valueAt returns a value of a store.
func valueAt(t *testing.T, s store.Store, key string) string {
	t.Helper()
	data, _, err := s.Get(t.Context(), store.MustKey(key), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestSourceFails ends an insertion by an error of the source. The same request completes
// it.
func TestSourceFails(t *testing.T) {
	s := memtest.New()
	a := days(t, s, 3)
	src := given([]int64{2}, []int32{8, 9})
	broken := &zarr.Source{Shape: src.Shape, Read: func(context.Context, grid.Box, []byte) error { return store.ErrConflict }}
	if _, err := rechunk.Do(t.Context(), a, rechunk.Insertion{At: 1, From: broken, Identity: "x"}, nil); err == nil || errors.Is(err, zarr.ErrConflict) {
		t.Errorf("a source that fails: %v", err)
	}
	reads(t, s, 1, 2, 3)
	if _, err := rechunk.Do(t.Context(), a, rechunk.Insertion{At: 1, From: src, Identity: "x"}, nil); err != nil {
		t.Error(err)
	}
	reads(t, s, 1, 8, 9, 2, 3)
	for expect, want := range map[int64]error{3: zarr.ErrConflict, 5: nil} {
		r := rechunk.Removal{Range: grid.Interval{Start: 0, Stop: 1}, Expect: expect}
		if _, err := rechunk.Do(t.Context(), a, r, nil); !errors.Is(err, want) {
			t.Errorf("expect %d: %v", expect, err)
		}
	}
	reads(t, s, 8, 9, 2, 3)
}

// TestShrunkMeanwhile shrinks an array while a removal is staged.
func TestShrunkMeanwhile(t *testing.T) {
	inner := stepping.Conditional(memtest.New(), stepping.Hooks{})
	a := days(t, inner, 6)
	s := stepping.Conditional(inner, stepping.Hooks{After: func(op stepping.Op, err error) error {
		if op.Name == "Put" && strings.Contains(op.Key.String(), "__varve/regrid/") {
			_ = a.Resize(t.Context(), []int64{3}, nil)
		}
		return err
	}})
	b, err := zarr.At(&handle{s}, "a").OpenArray(t.Context(), &zarr.Options{Write: true, Concurrency: 1})
	if err == nil {
		_, err = rechunk.Do(t.Context(), b, rechunk.Removal{Range: grid.Interval{Start: 2, Stop: 4}}, nil)
	}
	if !errors.Is(err, zarr.ErrConflict) || !strings.Contains(err.Error(), "too short") {
		t.Errorf("removal: %v", err)
	}
	reads(t, inner, 1, 2, 3)
	if err := rechunk.Abandon(t.Context(), b, &rechunk.Options{TakeOver: true}); err != nil {
		t.Error(err)
	}
}

// TestMovedMeanwhile drops planes just before another removal claims the array. The range
// of that one would mean other planes.
func TestMovedMeanwhile(t *testing.T) {
	inner := stepping.Conditional(memtest.New(), stepping.Hooks{})
	a := days(t, inner, 6)
	r, once := rechunk.Removal{Range: grid.Interval{Start: 0, Stop: 2}}, false
	s := stepping.Conditional(inner, stepping.Hooks{Before: func(ctx context.Context, op stepping.Op) error {
		if op.Name != "PutIf" || op.Key.String() != "a/__varve/regrid.json" || once {
			return nil
		}
		once = true
		_, err := rechunk.Do(ctx, a, r, nil)
		return err
	}})
	b, err := zarr.At(&handle{s}, "a").OpenArray(t.Context(), &zarr.Options{Write: true, Concurrency: 1})
	if err == nil {
		_, err = rechunk.Do(t.Context(), b, r, nil)
	}
	if !errors.Is(err, zarr.ErrConflict) || !once {
		t.Errorf("removal: %v", err)
	}
	reads(t, inner, 3, 4, 5, 6)
	if isOpen(t, inner, "a") {
		t.Error("the claim stays")
	}
}
