// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/codecs/vlen"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// words are elements of variable length. In the model each is a byte, its number.
var words = []string{"", "a", "é", "longer text", "\x00", "a\x00", string(bytes.Repeat([]byte("word "), 100))}

// TestModelOfText runs random sequences of changes on an array of text, and compares
// them with a list of words.
func TestModelOfText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		spec := drawSpecOf(t, fixture.Must(dtype.Parse(rapid.SampledFrom([]string{"string", "bytes"}).Draw(t, "type"), nil)))
		fill := rapid.IntRange(0, len(words)-1).Draw(t, "fill value")
		spec.FillValue = zarr.FillJSON(string(spec.Type.AppendJSON(nil, []byte(words[fill]))))
		h := zarr.At(memstore.New(), "")
		opt := drawOptions(t)
		a, err := h.At("text").CreateArray(ctx, spec, &zarr.CreateOptions{Options: opt})
		if err != nil {
			t.Fatal(err)
		}
		m := fixture.NewModel(spec.Shape, []byte{byte(fill)})
		draw := func(t *rapid.T, n int64) ([]byte, []string) {
			one := rapid.ByteRange(0, byte(len(words)-1))
			if rapid.IntRange(0, 3).Draw(t, "all fill") == 0 {
				one = rapid.Just(byte(fill))
			}
			numbers := rapid.SliceOfN(one, int(n), int(n)).Draw(t, "words")
			values := make([]string, n)
			for i, k := range numbers {
				values[i] = words[k]
			}
			return numbers, values
		}
		write := func(values []string, to func([]string) error, bytesTo func([][]byte) error) error {
			if spec.Type.Kind() == dtype.KindString {
				return to(values)
			}
			list := make([][]byte, len(values))
			for i, v := range values {
				list[i] = []byte(v)
			}
			return bytesTo(list)
		}
		check := func(t *rapid.T, got [][]byte, want []byte) {
			for i, k := range want {
				if string(got[i]) != words[k] {
					t.Fatalf("element %d of %d is %.30q, want %.30q", i, len(want), got[i], words[k])
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				got, err := zarr.Read[[]byte](ctx, a, nil)
				if err != nil || !slices.Equal(got.Shape, m.Shape) {
					t.Fatalf("shape %v, want %v: %v", got.Shape, m.Shape, err)
				}
				check(t, got.Data, m.Data)
			},
			"write": func(t *rapid.T) {
				sel, at := drawSelection(t, m.Shape)
				numbers, values := draw(t, fixture.Count(at[1]))
				err := write(values, func(v []string) error { return zarr.Write(ctx, a, sel, v) },
					func(v [][]byte) error { return zarr.Write(ctx, a, sel, v) })
				if err != nil {
					t.Fatal(err)
				}
				strided.Copy(m.Part(at[0], at[1], at[2]), strided.Contiguous(numbers, at[1], 1))
			},
			"fill": func(t *rapid.T) {
				sel, at := drawSelection(t, m.Shape)
				numbers, values := draw(t, 1)
				err := write(values, func(v []string) error { return zarr.Fill(ctx, a, sel, v[0]) },
					func(v [][]byte) error { return zarr.Fill(ctx, a, sel, v[0]) })
				if err != nil {
					t.Fatal(err)
				}
				strided.Fill(m.Part(at[0], at[1], at[2]), numbers)
			},
			"read": func(t *rapid.T) {
				sel, at := drawSelection(t, m.Shape)
				got := make([][]byte, fixture.Count(at[1]))
				if err := zarr.ReadInto(ctx, a, sel, got); err != nil {
					t.Fatal(err)
				}
				want := make([]byte, len(got))
				strided.Copy(strided.Contiguous(want, at[1], 1), m.Part(at[0], at[1], at[2]))
				check(t, got, want)
			},
			"append": func(t *rapid.T) {
				if len(m.Shape) == 0 {
					return
				}
				axis := rapid.IntRange(0, len(m.Shape)-1).Draw(t, "axis")
				shape, planes := slices.Clone(m.Shape), slices.Clone(m.Shape)
				planes[axis] = rapid.Int64Range(0, 4).Draw(t, "planes")
				numbers, values := draw(t, fixture.Count(planes))
				if planes[axis] == 0 && fixture.Count(planes) == 0 {
					return // planes without elements need AppendOptions.Planes
				}
				opt := &zarr.AppendOptions{Planes: planes[axis]}
				err := write(values, func(v []string) error { return zarr.Append(ctx, a, axis, v, opt) },
					func(v [][]byte) error { return zarr.Append(ctx, a, axis, v, opt) })
				if err != nil {
					t.Fatal(err)
				}
				from := make([]int64, len(shape))
				from[axis] = shape[axis]
				shape[axis] += planes[axis]
				m.Resize(shape)
				strided.Copy(m.Part(from, planes, slices.Repeat([]int64{1}, len(shape))), strided.Contiguous(numbers, planes, 1))
			},
			"resize": func(t *rapid.T) {
				shape := make([]int64, len(m.Shape))
				for i := range shape {
					shape[i] = rapid.Int64Range(0, 15).Draw(t, "extent")
				}
				if err := a.Resize(ctx, shape, nil); err != nil {
					t.Fatal(err)
				}
				m.Resize(shape)
			},
			"reopen": func(t *rapid.T) {
				if a, err = h.At("text").OpenArray(ctx, &opt); err != nil {
					t.Fatal(err)
				}
			},
		})
	})
}

// TestPicksOfText reads and writes single texts in shards whose inner chunks have
// another memory order than the array.
func TestPicksOfText(t *testing.T) {
	ctx := context.Background()
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		spec := zarr.Spec{
			Shape: []int64{4, 7}, Type: fixture.Must(dtype.Parse("string", nil)), Chunks: grid.Chunks(4, 6),
			InnerChunks: grid.Chunks(2, 3),
			Codecs:      []metadata.Extension{codec.Transpose(order...), {Name: vlen.UTF8}},
		}
		a := fixture.Must(zarr.At(memstore.New(), "text").CreateArray(ctx, spec, nil))
		want := make([]string, 28)
		for i := range want {
			want[i] = strings.Repeat("x", i%3) + fmt.Sprint(i)
		}
		if err := zarr.Write(ctx, a, nil, want); err != nil {
			t.Fatal(err)
		}
		even := make([]bool, 28)
		for i := range even {
			even[i] = i%2 == 0
		}
		for _, c := range []struct {
			sel   selection.Selection
			index []int
		}{
			{selection.Orthogonal{selection.List(3, 0), selection.List(1, -3, -3, 0, 6)}, []int{22, 25, 25, 21, 27, 1, 4, 4, 0, 6}},
			{selection.Points{selection.Coords(1, 0, 3, 1), selection.Coords(2, 2, 6, 2)}, []int{9, 2, 27, 9}},
			{selection.Mask{Shape: spec.Shape, Data: even}, []int{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26}},
		} {
			var words, others []string
			for _, i := range c.index {
				words = append(words, want[i])
				others = append(others, fmt.Sprint(want[i], "|", len(others)))
			}
			for k, i := range c.index {
				want[i] = others[k]
			}
			got := fixture.Must(zarr.Read[string](ctx, a, c.sel))
			if !slices.Equal(got.Data, words) {
				t.Errorf("%T of inner chunks in the order %d: %q, want %q", c.sel, order, got.Data, words)
			}
			if err := zarr.Write(ctx, a, c.sel, others); err != nil {
				t.Fatal(err)
			}
			if all := fixture.Must(zarr.Read[string](ctx, a, nil)); !slices.Equal(all.Data, want) {
				t.Fatalf("after a write by %T: %q, want %q", c.sel, all.Data, want)
			}
		}
	}
}
