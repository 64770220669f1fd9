// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store/memstore"
)

// TestInsertWords inserts text into drawn arrays, along any axis.
func TestInsertWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := t.Context()
		draw := func(n int64) (words []string) {
			for range n {
				words = append(words, rapid.StringN(0, 5, 12).Draw(t, "word"))
			}
			return words
		}
		shape := []int64{rapid.Int64Range(1, 6).Draw(t, "rows"), rapid.Int64Range(1, 5).Draw(t, "columns")}
		words := draw(shape[0] * shape[1])
		spec := zarr.Spec{Shape: shape, Type: dtype.String}
		for _, n := range shape {
			spec.Chunks = append(spec.Chunks, grid.Runs(grid.Run{Length: rapid.Int64Range(1, n).Draw(t, "edge"), Count: n}))
		}
		a, err := zarr.At(memstore.New(), "a").CreateArray(ctx, spec, nil)
		if err == nil {
			err = zarr.Write(ctx, a, nil, words)
		}
		if err != nil {
			t.Fatal(err)
		}
		axis := rapid.IntRange(0, 1).Draw(t, "axis")
		at, planes := rapid.Int64Range(0, shape[axis]).Draw(t, "at"), rapid.Int64Range(1, 4).Draw(t, "planes")
		more := slices.Clone(shape)
		more[axis] = planes
		added := draw(more[0] * more[1])
		r := rechunk.Insertion{Axis: axis, At: at}
		for _, w := range added {
			r.Words = append(r.Words, []byte(w))
		}
		if _, err := rechunk.Do(ctx, a, r, nil); err != nil {
			t.Fatal(err)
		}
		var want []string
		whole := slices.Clone(shape)
		whole[axis] += planes
		for index := range grid.BoxOf(whole).Indices() {
			from, of := words, shape
			switch k := index[axis]; {
			case k >= at+planes:
				index[axis] -= planes
			case k >= at:
				from, of = added, more
				index[axis] -= at
			}
			want = append(want, from[index[0]*of[1]+index[1]])
		}
		got, err := zarr.Read[string](ctx, a, nil)
		if err != nil || !slices.Equal(got.Data, want) {
			t.Fatalf("%q (%v), want %q", got.Data, err, want)
		}
	})
}

// TestWordsRefused gives words and elements where the other is meant.
func TestWordsRefused(t *testing.T) {
	s := memstore.New()
	text, err := zarr.At(s, "text").CreateArray(t.Context(), zarr.Spec{
		Type: dtype.String, Shape: []int64{2}, Chunks: []grid.Cut{grid.Edges(1, 1)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	numbers, err := zarr.At(s, "numbers").CreateArray(t.Context(), fixture.Edges(2, 3), nil)
	if err != nil {
		t.Fatal(err)
	}
	word := [][]byte{[]byte("a")}
	for name, c := range map[string]struct {
		a *zarr.Array
		r rechunk.Insertion
	}{
		"elements for text": {text, rechunk.Insertion{From: given([]int64{1}, []int32{1})}},
		"words for numbers": {numbers, rechunk.Insertion{Words: word}},
		"both":              {text, rechunk.Insertion{Words: word, From: given([]int64{1}, []int32{1})}},
		"axis 1":            {text, rechunk.Insertion{Axis: 1, Words: word}},
		"axis -1":           {numbers, rechunk.Insertion{Axis: -1, From: given([]int64{1}, []int32{1})}},
		"text that is not":  {text, rechunk.Insertion{Words: [][]byte{{0xff}}}},
	} {
		c.r.Unlock = true
		if _, err := rechunk.Do(t.Context(), c.a, c.r, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
