// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

func everyElement(shape []int64) fixture.Chosen {
	c := fixture.Chosen{Shape: shape}
	for i := range int64(len(slices.Collect(grid.BoxOf(shape).Indices()))) {
		c.At = append(c.At, i)
	}
	return c
}

// drawBlocks draws whole chunks of an array.
func drawBlocks(t *rapid.T, g *grid.Grid, inner bool) (selection.Selection, fixture.Chosen) {
	b := selection.Blocks{Inner: inner}
	var lists [][]int64
	for i, n := range g.Chunks() {
		start := rapid.Int64Range(0, n).Draw(t, "first block")
		stop := rapid.Int64Range(start, n).Draw(t, "last block")
		if stop == start+1 && rapid.Bool().Draw(t, "a block") {
			b.Items = append(b.Items, selection.At(start-n))
		} else {
			b.Items = append(b.Items, selection.Span(start, stop))
		}
		var list []int64
		for k := start; k < stop; k++ {
			c, _ := g.Axis(i).Cell(k)
			for e := range c.Logical {
				list = append(list, c.Start+e)
			}
		}
		lists = append(lists, list)
	}
	return b, everyElement(g.Shape()).Along(lists, make([]bool, len(lists)))
}

// TestSelectionModel reads and writes random selections of every kind, directly and
// through views of views, in random arrays. The result equals that of the same indices
// in an array without chunks.
func TestSelectionModel(t *testing.T) {
	types := []dtype.Type{
		dtype.Int32, dtype.Int32, dtype.Uint8, dtype.Int16, dtype.Float64, dtype.Complex128,
		fixture.Must(dtype.Parse("r24", nil)),
	}
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		spec, opt := drawSpecOf(t, rapid.SampledFrom(types).Draw(t, "type")), drawOptions(t)
		a, err := zarr.At(memstore.New(), "").CreateArray(ctx, spec, &zarr.CreateOptions{Options: opt})
		if err != nil {
			t.Fatal(err)
		}
		all := everyElement(a.Shape())
		m := &fixture.Model{Shape: a.Shape(), Size: a.Type().Size(), Data: bytes.Repeat(fixture.FillElement(a), len(all.At))}
		for range rapid.IntRange(1, 4).Draw(t, "turns") {
			v, c := drawView(t, a, all)
			if rapid.Bool().Draw(t, "write") {
				writeChosen(t, a, m, v, c)
			}
			checkChosen(t, a, m, v, c)
			if a.Type() == dtype.Int32 {
				checkTyped(t, m, v, c)
			}
		}
	})
}

// drawView draws a selection, or a view of views.
func drawView(t *rapid.T, a *zarr.Array, all fixture.Chosen) (*zarr.View, fixture.Chosen) {
	sel, c := all.Draw(t)
	if rapid.IntRange(0, 7).Draw(t, "blocks") == 0 {
		g, inner := a.Grid(), false
		if n := a.Inner(); n != nil && rapid.Bool().Draw(t, "inner blocks") {
			g, inner = fixture.Must(n.Grid()), true
		}
		sel, c = drawBlocks(t, g, inner)
	}
	v, err := a.View(sel)
	if err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(0, 2).Draw(t, "views") {
		if rapid.IntRange(0, 2).Draw(t, "transpose") == 0 {
			axes := make([]int, len(c.Shape))
			for i := range axes {
				axes[i] = i
			}
			axes = rapid.Permutation(axes).Draw(t, "order of axes")
			if len(axes) > 0 {
				v, c = fixture.Must(v.Transpose(axes...)), c.Transposed(axes)
			}
			continue
		}
		sel, next := c.Draw(t)
		if v, err = v.View(sel); err != nil {
			t.Fatal(err)
		}
		c = next
	}
	return v, c
}

func writeChosen(t *rapid.T, a *zarr.Array, m *fixture.Model, v *zarr.View, c fixture.Chosen) {
	ctx := context.Background()
	data := drawValues(t, a, int64(len(c.At)))
	if rapid.IntRange(0, 3).Draw(t, "one value") == 0 {
		elem := drawElement(t, a.Type())
		data = bytes.Repeat(elem, len(c.At))
		if err := a.FillBytes(ctx, v.Selection(), elem); err != nil {
			t.Fatal(err)
		}
	} else if err := a.WriteBytes(ctx, v.Selection(), data); err != nil {
		t.Fatal(err)
	}
	for i, at := range c.At {
		copy(m.Data[int(at)*m.Size:], data[i*m.Size:][:m.Size])
	}
	got := make([]byte, len(m.Data))
	if err := a.ReadBytes(ctx, nil, got); err != nil || !bytes.Equal(got, m.Data) {
		t.Fatalf("after a write to %v the array holds\n%x\nwant\n%x (%v)", c, got, m.Data, err)
	}
}

func checkChosen(t *rapid.T, a *zarr.Array, m *fixture.Model, v *zarr.View, c fixture.Chosen) {
	ctx := context.Background()
	if !slices.Equal(v.Shape(), c.Shape) {
		t.Fatalf("shape %v, want %v", v.Shape(), c.Shape)
	}
	want := m.Chosen(c)
	got := bytes.Repeat([]byte{1}, len(want))
	if err := a.ReadBytes(ctx, v.Selection(), got); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("read of %v:\n%x\nwant\n%x (%v)", c, got, want, err)
	}
	slabs, err := a.Slabs(v.Selection(), rapid.Int64Range(1, 100).Draw(t, "slab"))
	if err != nil {
		t.Fatal(err)
	}
	got = got[:0]
	for slab := range slabs {
		n := fixture.Must(a.Select(slab)).Len() * int64(m.Size)
		got = slices.Grow(got, int(n))[:len(got)+int(n)]
		if err := a.ReadBytes(ctx, slab, got[len(got)-int(n):]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("slabs of %v:\n%x\nwant\n%x", c, got, want)
	}
}

// checkTyped reads the view as a block, into strided memory, and in pieces, and writes
// it in pieces.
func checkTyped(t *rapid.T, m *fixture.Model, v *zarr.View, c fixture.Chosen) {
	ctx := context.Background()
	want := int32sOf(m.Chosen(c))
	b, err := zarr.Read[int32](ctx, v, nil)
	if err != nil || !slices.Equal(b.Shape, c.Shape) || !slices.Equal(b.Data, want) {
		t.Fatalf("block %v, want %v (%v)", b, want, err)
	}
	strides, reach := make([]int64, len(c.Shape)), int64(1)
	for _, i := range rapid.Permutation(slices.Collect(indices(len(c.Shape)))).Draw(t, "layout") {
		strides[i] = reach + rapid.Int64Range(0, 2).Draw(t, "gap")
		reach += max(0, c.Shape[i]-1) * strides[i]
	}
	room := make([]int32, reach)
	if err := zarr.ReadStrided(ctx, v, nil, room, strides); err != nil {
		t.Fatal(err)
	}
	i := 0
	for at := range grid.BoxOf(c.Shape).Indices() {
		off := int64(0)
		for k, n := range at {
			off += n * strides[k]
		}
		if room[off] != want[i] {
			t.Fatalf("strides %v: %v at %v, want %v", strides, room[off], at, want[i])
		}
		i++
	}
	if err := zarr.WriteStrided(ctx, v, nil, room, strides); err != nil {
		t.Fatal(err)
	}
	got := make([]int32, len(want))
	n := 0
	for p, err := range zarr.Pieces[int32](ctx, v, nil) {
		if err == nil {
			err = p.Into(got)
		}
		if err == nil {
			err = zarr.Write(ctx, v.Array(), p.From, p.Data)
		}
		if err != nil {
			t.Fatal(err)
		}
		n += len(p.Data)
	}
	if n != len(want) || !slices.Equal(got, want) {
		t.Fatalf("pieces %v, want %v", got, want)
	}
	if b, err := zarr.Read[int32](ctx, v, nil); err != nil || !slices.Equal(b.Data, want) {
		t.Fatalf("after writing the same elements %v, want %v (%v)", b, want, err)
	}
}

func indices(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

func int32sOf(data []byte) []int32 {
	out := make([]int32, len(data)/4)
	for i := range out {
		out[i] = int32(binary.NativeEndian.Uint32(data[4*i:]))
	}
	return out
}
