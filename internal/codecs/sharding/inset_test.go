// SPDX-License-Identifier: Apache-2.0

package sharding_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	_ "varve.dev/zarr/internal/codecs/crc32c"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

// insetShards are shards of uint8, of which an inset is a part along every axis.
type insetShards struct {
	chain *coding.Chain
	inner []int64
	fill  byte
}

// newInsetShards returns shards of inner chunks of that shape, whose axes are stored in
// an order.
func newInsetShards(t testing.TB, env codec.Environment, inner []int64, order []int, packed bool) *insetShards {
	t.Helper()
	chain := []metadata.Extension{codec.Bytes("")}
	if packed {
		chain = append(chain, codec.Gzip(1))
	}
	cuts := make([]grid.Cut, len(inner))
	for i, axis := range order {
		cuts[i] = grid.Every(inner[axis])
	}
	shards, err := codec.Shards(codec.Sharding{Inner: cuts, Codecs: chain, AtStart: packed})
	if err != nil {
		t.Fatal(err)
	}
	typ, err := dtype.Parse("uint8", nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := coding.NewChain(&env, []metadata.Extension{codec.Transpose(order...), shards}, codec.Spec{Type: typ, Fill: []byte{7}, Rank: len(inner)})
	if err != nil {
		t.Fatal(err)
	}
	return &insetShards{c, inner, 7}
}

// edit returns the shard after an edit of the stored one, nil for none, and nil where
// nothing is left.
func (s *insetShards) edit(t rapid.TB, e coding.Edit, old []byte) []byte {
	t.Helper()
	var src coding.Source
	if old != nil {
		src = coding.Stored(old)
	}
	out, err := s.chain.EncodePart(context.Background(), &coding.Work{Cores: coding.NewCores(), Bytes: 1 << 20}, e, src)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Release()
	switch {
	case out.Same:
		return old
	case out.Empty:
		return nil
	}
	made := out.AppendTo(nil)
	if int64(len(made)) != out.Size {
		t.Fatalf("%d bytes, the size is said to be %d", len(made), out.Size)
	}
	return made
}

// elements decodes a shard.
func (s *insetShards) elements(t rapid.TB, shape []int64, shard []byte) []byte {
	t.Helper()
	data := bytes.Repeat([]byte{s.fill}, int(insetLen(shape)))
	if shard == nil {
		return data
	}
	v := strided.Contiguous(slices.Clone(data), shape, 1)
	if err := s.chain.Decode(&v, shard); err != nil {
		t.Fatal(err)
	}
	strided.Copy(strided.Contiguous(data, shape, 1), v)
	return data
}

func insetLen(shape []int64) int64 {
	n, _ := grid.BoxOf(shape).Len()
	return n
}

// drawInset draws elements, many of which are the fill value.
func drawInset(t *rapid.T, n int64) []byte {
	return rapid.SliceOfN(rapid.SampledFrom([]byte{7, 7, 7, 1, 2}), int(n), int(n)).Draw(t, "elements")
}

// put copies all inner chunks of src but those of nothing but fill value, which an inset
// does not store.
func (s *insetShards) put(dst, src strided.View) {
	for at := range grid.BoxOf(src.Shape).Indices() {
		box := make(grid.Box, len(at))
		whole := true
		for i, from := range at {
			whole = whole && from%s.inner[i] == 0
			box[i] = grid.Interval{Start: from, Stop: min(src.Shape[i], from+s.inner[i])}
		}
		if whole && !src.Sub(box).AllEqual([]byte{s.fill}) {
			strided.Copy(dst.Sub(box), src.Sub(box))
		}
	}
}

// drawBox draws a box of whole inner chunks.
func (s *insetShards) drawBox(t *rapid.T, shape []int64) grid.Box {
	box := make(grid.Box, len(shape))
	for i, n := range shape {
		chunks := (n + s.inner[i] - 1) / s.inner[i]
		from := rapid.Int64Range(0, chunks-1).Draw(t, "from")
		to := rapid.Int64Range(from+1, chunks).Draw(t, "to")
		box[i] = grid.Interval{Start: from * s.inner[i], Stop: min(n, to*s.inner[i])}
	}
	return box
}

// TestInsets puts drawn parts that were encoded by themselves into drawn shards that are
// stored or not, together with elements and with what does not stay, and expects the
// elements that a plain array would have.
func TestInsets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rank := rapid.IntRange(1, 3).Draw(rt, "rank")
		inner, shape, axes := make([]int64, rank), make([]int64, rank), make([]int, rank)
		for i := range inner {
			axes[i] = i
			inner[i] = rapid.Int64Range(1, 3).Draw(rt, "inner")
			shape[i] = rapid.Int64Range(1, 8).Draw(rt, "length")
		}
		s := newInsetShards(t, codec.Environment{
			Unaligned: true,
			Order:     rapid.SampledFrom([]codec.Order{codec.Morton, codec.C, codec.Fortran}).Draw(rt, "order"),
			Strategy:  rapid.SampledFrom([]codec.Strategy{codec.Rewrite, codec.Append, codec.InPlace}).Draw(rt, "strategy"),
		}, inner, rapid.Permutation(axes).Draw(rt, "axes"), rapid.Bool().Draw(rt, "packed"))
		want := bytes.Repeat([]byte{7}, int(insetLen(shape)))
		model := strided.Contiguous(want, shape, 1)
		var old []byte
		e := coding.Edit{Shape: shape}
		if rapid.Bool().Draw(rt, "stored") {
			copy(want, drawInset(rt, insetLen(shape)))
			old = s.edit(rt, insetEdit(shape, grid.BoxOf(shape), want), nil)
			e.Keep = grid.BoxOf(shape)
			e.Keep[0].Stop = rapid.Int64Range(0, shape[0]).Draw(rt, "keep")
			for beyond := range grid.BoxOf(shape).Subtract(e.Keep) {
				strided.Fill(model.Sub(beyond), []byte{7})
			}
		}
		if rapid.Bool().Draw(rt, "elements too") {
			box := s.drawBox(rt, shape)
			data := drawInset(rt, insetLen(box.Shape()))
			e.Part, e.Values = insetEdit(shape, box, data).Part, strided.Contiguous(data, box.Shape(), 1)
			strided.Copy(model.Sub(box), e.Values)
		}
		for range rapid.IntRange(1, 3).Draw(rt, "insets") {
			box := s.drawBox(rt, shape)
			part := drawInset(rt, insetLen(box.Shape()))
			in := coding.Inset{Shape: box.Shape(), Start: make([]int64, rank)}
			for i := range box {
				in.Start[i] = box[i].Start
			}
			if in.Chunk = s.edit(rt, insetEdit(in.Shape, grid.BoxOf(in.Shape), part), nil); in.Chunk == nil {
				continue
			}
			e.Insets = append(e.Insets, in)
			s.put(model.Sub(box), strided.Contiguous(part, in.Shape, 1))
		}
		if got := s.elements(rt, shape, s.edit(rt, e, old)); !bytes.Equal(got, want) {
			rt.Fatalf("%v, want %v", got, want)
		}
	})
}

// insetEdit is an edit that writes elements of a box.
func insetEdit(shape []int64, box grid.Box, data []byte) coding.Edit {
	e := coding.Edit{Shape: shape, Values: strided.Contiguous(data, box.Shape(), 1)}
	for _, in := range box {
		e.Start, e.Step, e.Count = append(e.Start, in.Start), append(e.Step, 1), append(e.Count, in.Len())
	}
	return e
}

// TestInsetsRefused puts parts where they do not belong, or that are damaged.
func TestInsetsRefused(t *testing.T) {
	s := newInsetShards(t, codec.Environment{Unaligned: true}, []int64{4}, []int{0}, false)
	made := func(n int64) coding.Stored {
		return s.edit(t, insetEdit([]int64{n}, grid.BoxOf([]int64{n}), bytes.Repeat([]byte{1}, int(n))), nil)
	}
	hurt := slices.Clone(made(4))
	hurt[len(hurt)-1]++
	for name, tt := range map[string]struct {
		inset  coding.Inset
		target error
	}{
		"within an inner chunk":     {coding.Inset{Start: []int64{2}, Shape: []int64{4}, Chunk: made(4)}, codec.ErrConfiguration},
		"beyond the shard":          {coding.Inset{Start: []int64{12}, Shape: []int64{4}, Chunk: made(4)}, codec.ErrConfiguration},
		"before the shard":          {coding.Inset{Start: []int64{-4}, Shape: []int64{4}, Chunk: made(4)}, codec.ErrConfiguration},
		"longer than the rest":      {coding.Inset{Start: []int64{4}, Shape: []int64{8}, Chunk: made(8)}, codec.ErrConfiguration},
		"a clipped one amid others": {coding.Inset{Start: []int64{0}, Shape: []int64{2}, Chunk: made(2)}, codec.ErrConfiguration},
		"of another rank":           {coding.Inset{Start: []int64{0, 0}, Shape: []int64{4}, Chunk: made(4)}, codec.ErrConfiguration},
		"damaged":                   {coding.Inset{Start: []int64{0}, Shape: []int64{4}, Chunk: hurt}, codec.ErrCorrupt},
		"too short":                 {coding.Inset{Start: []int64{0}, Shape: []int64{4}, Chunk: hurt[:3]}, codec.ErrCorrupt},
	} {
		e := coding.Edit{Shape: []int64{10}, Insets: []coding.Inset{tt.inset}}
		if out, err := s.chain.EncodePart(t.Context(), new(coding.Work), e, nil); !errors.Is(err, tt.target) {
			t.Errorf("%s: %v (%v)", name, out, err)
		}
	}
	e := coding.Edit{Shape: []int64{10}, Insets: []coding.Inset{{Start: []int64{8}, Shape: []int64{2}, Chunk: made(2)}}}
	if got := s.elements(t, e.Shape, s.edit(t, e, nil)); !bytes.Equal(got, []byte{7, 7, 7, 7, 7, 7, 7, 7, 1, 1}) {
		t.Errorf("a clipped one at the end: %v", got)
	}
}
