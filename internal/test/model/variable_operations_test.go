// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// someWords returns n texts of different lengths, many of them empty.
func someWords(from, n int) []string {
	list := make([]string, n)
	for i := range list {
		if k := from + i; k%5 > 0 {
			list[i] = strings.Repeat(fmt.Sprint("wörd ", k), k%4)
		}
	}
	return list
}

// textArrays returns arrays of text with several grids. Each has the 24 words of
// someWords.
func textArrays(t *testing.T) map[string]*zarr.Array {
	ctx := context.Background()
	m := map[string]*zarr.Array{}
	for name, spec := range map[string]zarr.Spec{
		"regular":     {Chunks: grid.Chunks(4, 2)},
		"rectilinear": {Chunks: []grid.Cut{grid.Edges(1, 5), grid.Edges(3, 1)}},
		"shards":      {Chunks: grid.Chunks(4, 2), InnerChunks: grid.Chunks(2, 1)},
		"listed":      {Chunks: []grid.Cut{grid.Edges(2, 4), grid.Every(4)}, InnerChunks: grid.Chunks(1, 4)},
	} {
		for _, typ := range []string{"string", "bytes"} {
			spec.Shape, spec.Type, spec.FillValue = []int64{6, 4}, fixture.Must(dtype.Parse(typ, nil)), zarr.FillJSON(`"ZmlsbA=="`)
			a, err := zarr.At(memstore.New(), "a").CreateArray(ctx, spec, nil)
			if err == nil {
				err = putWords(t, a, nil, someWords(0, 24))
			}
			if err != nil {
				t.Fatal(name, err)
			}
			m[name+" "+typ] = a
		}
	}
	return m
}

// in returns words as values for an array of text or of byte strings.
func in[T any](a *zarr.Array, words []string, text func([]string) T, bytes func([][]byte) T) T {
	if a.Type().Kind() == dtype.KindString {
		return text(words)
	}
	list := make([][]byte, len(words))
	for i, w := range words {
		list[i] = []byte(w)
	}
	return bytes(list)
}

func putWords(t *testing.T, a *zarr.Array, sel selection.Selection, words []string) error {
	return in(a, words, func(v []string) error { return zarr.Write(t.Context(), a, sel, v) }, func(v [][]byte) error { return zarr.Write(t.Context(), a, sel, v) })
}

// wants compares the array with rows of four words.
func wants(t *testing.T, a *zarr.Array, words []string) {
	t.Helper()
	got, err := zarr.Read[[]byte](t.Context(), a, nil)
	if err != nil || !slices.Equal(got.Shape, []int64{int64(len(words) / 4), 4}) {
		t.Fatalf("shape %v: %v", got.Shape, err)
	}
	for i, w := range words {
		if string(got.Data[i]) != w {
			t.Fatalf("element %d is %q, want %q", i, got.Data[i], w)
		}
	}
}

func eachText(t *testing.T, test func(t *testing.T, a *zarr.Array)) {
	for name, a := range textArrays(t) {
		t.Run(name, func(t *testing.T) { test(t, a) })
	}
}

func TestTextAppended(t *testing.T) {
	eachText(t, func(t *testing.T, a *zarr.Array) {
		ctx := t.Context()
		more := someWords(100, 12)
		opt := &zarr.AppendOptions{RoundUp: true}
		err := in(a, more, func(v []string) error { return zarr.Append(ctx, a, 0, v, opt) }, func(v [][]byte) error { return zarr.Append(ctx, a, 0, v, opt) })
		if err != nil {
			t.Fatal(err)
		}
		wants(t, a, append(someWords(0, 24), more...))
		if err := a.AppendBytes(ctx, 0, make([]byte, 4*strided.RefSize), nil); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("writing references as elements: error is %v", err)
		}
		if err := a.AppendBytes(ctx, 0, []byte("text"), nil); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("appending bytes as elements: error is %v", err)
		}
		wants(t, a, append(someWords(0, 24), more...))
	})
}

func TestTextUnlockedAndTrimmed(t *testing.T) {
	eachText(t, func(t *testing.T, a *zarr.Array) {
		for _, trim := range []bool{false, true} {
			if err := a.MakeRectilinear(t.Context(), &zarr.RectilinearOptions{Trim: trim && a.Inner() == nil}); err != nil {
				t.Fatal(err)
			}
			wants(t, a, someWords(0, 24))
		}
	})
}

func TestTextResized(t *testing.T) {
	eachText(t, func(t *testing.T, a *zarr.Array) {
		for _, rows := range []int64{3, 6} {
			if err := a.Resize(t.Context(), []int64{rows, 4}, nil); err != nil {
				return // inner chunks do not divide a listed shard
			}
		}
		fill := "ZmlsbA=="
		if a.Type().Kind() == dtype.KindBytes {
			fill = "fill"
		}
		wants(t, a, append(someWords(0, 12), slices.Repeat([]string{fill}, 12)...))
	})
}

func TestTextStreamed(t *testing.T) {
	eachText(t, func(t *testing.T, a *zarr.Array) {
		ctx := t.Context()
		s, err := a.Stream(ctx, 0, &zarr.StreamOptions{RoundUp: true})
		if err != nil {
			t.Fatal(err)
		}
		all := someWords(0, 24)
		for i := range 11 {
			plane := someWords(40*i, 4)
			all = append(all, plane...)
			err := in(a, plane, func(v []string) error { return zarr.WritePlanes(ctx, s, v) }, func(v [][]byte) error { return zarr.WritePlanes(ctx, s, v) })
			if err == nil && i == 6 {
				err = s.Checkpoint(ctx)
			}
			if err != nil {
				t.Fatal(err)
			}
			if i == 6 {
				wants(t, a, all)
			}
		}
		if err := s.WriteBytes(ctx, make([]byte, 4*strided.RefSize)); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("writing references as elements: error is %v", err)
		}
		if err := s.Close(ctx); err != nil {
			t.Fatal(err)
		}
		wants(t, a, all)
	})
}

func TestTextReserved(t *testing.T) {
	eachText(t, func(t *testing.T, a *zarr.Array) {
		ctx := t.Context()
		if err := a.MakeRectilinear(ctx, &zarr.RectilinearOptions{Axes: []int{0}, Trim: a.Inner() == nil}); err != nil {
			t.Fatal(err)
		}
		r, err := a.Reserve(ctx, 0, 4, 2)
		if err != nil {
			return // the last chunk is not full
		}
		all := someWords(0, 24)
		for part, rows := range []int{4, 2} {
			words := someWords(100*part, 4*rows)
			all = append(all, words...)
			if err := in(a, words, func(v []string) error { return zarr.WritePart(ctx, r, part, v) }, func(v [][]byte) error { return zarr.WritePart(ctx, r, part, v) }); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Publish(ctx); err != nil {
			t.Fatal(err)
		}
		wants(t, a, all)
	})
}

func TestTextShards(t *testing.T) {
	eachText(t, func(t *testing.T, a *zarr.Array) {
		ctx := t.Context()
		if a.Inner() == nil {
			return
		}
		for i := range 6 {
			if err := putWords(t, a, selection.Box{{int64(i), int64(i) + 1}, {0, 1}}, someWords(i*4, 1)); err != nil {
				t.Fatal(err)
			}
		}
		for fault, err := range a.CheckShards(ctx, nil) {
			t.Error(fault, err)
		}
		if _, err := a.CompactShards(ctx, nil); err != nil {
			t.Fatal(err)
		}
		for fault, err := range a.CheckShards(ctx, nil) {
			t.Error(fault, err)
		}
		wants(t, a, someWords(0, 24))
	})
}

func TestTextCompared(t *testing.T) {
	all := textArrays(t)
	for _, typ := range []string{"string", "bytes"} {
		first := all["regular "+typ]
		for _, name := range []string{"rectilinear", "shards", "listed"} {
			a := all[name+" "+typ]
			if d, err := zarr.Compare(t.Context(), first, a); d != nil || err != nil {
				t.Errorf("%s: %v, %v", name, d, err)
			}
			if err := putWords(t, a, selection.Box{{5, 6}, {2, 3}}, []string{"other"}); err != nil {
				t.Fatal(err)
			}
			if d, err := zarr.Compare(t.Context(), first, a); err != nil || d == nil || !slices.Equal(d.Index, []int64{5, 2}) {
				t.Errorf("%s: %v, %v", name, d, err)
			}
		}
	}
}

// TestTextInParts reads text in pieces, slabs, strides and chunks.
func TestTextInParts(t *testing.T) {
	eachText(t, func(t *testing.T, a *zarr.Array) {
		ctx := t.Context()
		got := make([][]byte, 24)
		for p, err := range zarr.Pieces[[]byte](ctx, a, nil) {
			if err == nil {
				err = p.Into(got)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		slabs, err := a.Slabs(nil, 40)
		if err != nil {
			t.Fatal(err)
		}
		var again [][]byte
		for slab := range slabs {
			b, err := zarr.Read[[]byte](ctx, a, slab)
			if err != nil {
				t.Fatal(err)
			}
			again = append(again, b.Data...)
		}
		for i, w := range someWords(0, 24) {
			if string(got[i]) != w || string(again[i]) != w {
				t.Fatalf("element %d is %q and %q, want %q", i, got[i], again[i], w)
			}
		}
		for what, err := range map[string]error{
			"ReadBytes":  a.ReadBytes(ctx, nil, make([]byte, 24*strided.RefSize)),
			"WriteBytes": a.WriteBytes(ctx, nil, make([]byte, 24*strided.RefSize)),
			"FillBytes":  a.FillBytes(ctx, nil, make([]byte, strided.RefSize)),
			"ReadChunk":  second(a.ReadChunk(ctx, []int64{0, 0})),
			"WriteChunk": a.WriteChunk(ctx, []int64{0, 0}, make([]byte, 8*strided.RefSize)),
			"ReadAs":     second(zarr.ReadAs[float64](ctx, a, nil)),
			"Read":       second(zarr.Read[int64](ctx, a, nil)),
		} {
			if !errors.Is(err, zarr.ErrInvalidArgument) {
				t.Errorf("%s: %v", what, err)
			}
		}
		wants(t, a, someWords(0, 24))
	})
}

func second[T any](_ T, err error) error { return err }

// TestTextOfGroups appends to an array of text and one of numbers in one transaction,
// and creates arrays from their Spec.
func TestTextOfGroups(t *testing.T) {
	ctx := t.Context()
	h := zarr.At(memstore.New(), "")
	g, err := h.At("").CreateGroup(ctx, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, typ := range map[string]dtype.Type{"text": dtype.String, "time": fixture.Must(dtype.DatetimeOf("s", 1))} {
		if _, err := h.At(name).CreateArray(ctx, zarr.Spec{Shape: []int64{0}, Type: typ, Chunks: grid.Chunks(2), DimensionNames: []string{"t"}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Append(ctx, zarr.Add("text", 0, []string{"a", "", "ccc"}, nil), zarr.Add("time", 0, []int64{1, 2, 3}, nil)); err != nil {
		t.Fatal(err)
	}
	a, err := g.At("text").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := zarr.Read[string](ctx, a, nil)
	if err != nil || !slices.Equal(b.Data, []string{"a", "", "ccc"}) {
		t.Errorf("%q, %v", b.Data, err)
	}
	like, err := h.At("like").CreateArray(ctx, a.Spec(), nil)
	if err != nil || like.Type() != a.Type() || like.FillValue() != a.FillValue() {
		t.Errorf("%v", err)
	}
	if err := g.Append(ctx, zarr.Addition{Path: "text", Data: make([]byte, strided.RefSize)}, zarr.Add("time", 0, []int64{4}, nil)); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Errorf("writing references as elements: error is %v", err)
	}
}

// TestStreamOfLongText checks that a stream keeps no more text than its budget.
func TestStreamOfLongText(t *testing.T) {
	ctx := t.Context()
	a := fixture.ArrayOf(t, dtype.String, []int64{0, 2}, grid.Every(1000), grid.Every(2))
	const budget = 256 << 10
	s, err := a.Stream(ctx, 0, &zarr.StreamOptions{Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		long := strings.Repeat(fmt.Sprint(i, " "), 10_000/len(fmt.Sprint(i, " ")))
		if err := zarr.WritePlanes(ctx, s, []string{long, "short"}); err != nil {
			t.Fatal(err)
		}
		if held := s.Stats().Held; held > budget+20_000 {
			t.Fatalf("the stream keeps %d bytes", held)
		}
	}
	if err := s.Close(ctx); err != nil || s.Stats().Early < 2 {
		t.Errorf("%+v, %v", s.Stats(), err)
	}
	b, err := zarr.Read[string](ctx, a, nil)
	if err != nil || b.Shape[0] != 100 || !strings.HasPrefix(b.Data[198], "99 99 ") || b.Data[199] != "short" {
		t.Errorf("%v, %v", b.Shape, err)
	}
}
