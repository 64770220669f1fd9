package zarr_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// chosen is a block of elements by their numbers in an array in C order: what a selection
// means in plain numbers.
type chosen struct{ shape, at []int64 }

func everyElement(shape []int64) chosen {
	c := chosen{shape: shape}
	for i := range int64(len(slices.Collect(grid.BoxOf(shape).Indices()))) {
		c.at = append(c.at, i)
	}
	return c
}

// element returns the number of the element at an index of the block.
func (c chosen) element(index []int64) int64 {
	n := int64(0)
	for i, at := range index {
		n = n*c.shape[i] + at
	}
	return c.at[n]
}

// along returns the elements that lists of indices mean, one list an axis.
func (c chosen) along(lists [][]int64, drop []bool) chosen {
	full, out := make([]int64, len(lists)), chosen{shape: []int64{}}
	for i, l := range lists {
		if full[i] = int64(len(l)); !drop[i] {
			out.shape = append(out.shape, full[i])
		}
	}
	for places := range grid.BoxOf(full).Indices() {
		index := make([]int64, len(places))
		for i, place := range places {
			index[i] = lists[i][place]
		}
		out.at = append(out.at, c.element(index))
	}
	return out
}

// draw draws a selection of the block, and says what it means.
func (c chosen) draw(t *rapid.T) (selection.Selection, chosen) {
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0:
		return nil, c
	case 1, 2:
		items, lists, drop := drawItems(t, c.shape, false)
		return selection.Basic(items), c.along(lists, drop)
	case 3, 4:
		items, lists, drop := drawItems(t, c.shape, true)
		return selection.Orthogonal(items), c.along(lists, drop)
	case 5, 6:
		return c.drawPoints(t)
	}
	return c.drawMask(t)
}

func drawItems(t *rapid.T, shape []int64, listed bool) (items []selection.Item, lists [][]int64, drop []bool) {
	for _, n := range shape {
		kind := rapid.IntRange(0, 3).Draw(t, "item")
		if !listed {
			kind %= 2
		}
		var list []int64
		var item selection.Item
		index := false
		switch {
		case kind == 0 && n > 0:
			i := rapid.Int64Range(-n, n-1).Draw(t, "index")
			item, index, list = selection.At(i), true, []int64{(i + n) % n}
		case kind == 2:
			if n > 0 {
				list = rapid.SliceOfN(rapid.Int64Range(-n, n-1), 0, 8).Draw(t, "list")
			}
			item = selection.List(slices.Clone(list)...)
			for k, i := range list {
				list[k] = (i + n) % n
			}
		case kind == 3:
			b := make([]bool, n)
			for i := range b {
				if b[i] = rapid.Bool().Draw(t, "is"); b[i] {
					list = append(list, int64(i))
				}
			}
			item = selection.Where(b...)
		default:
			item, list = drawSlice(t, n)
		}
		items, lists, drop = append(items, item), append(lists, list), append(drop, index)
	}
	return items, lists, drop
}

// drawSlice draws a slice with a step as Go's and Python's are, one beyond the axis now
// and then.
func drawSlice(t *rapid.T, n int64) (selection.Item, []int64) {
	step := rapid.SampledFrom([]int64{1, 1, 2, 3, 7, -1, -1, -2, -5}).Draw(t, "step")
	bound := rapid.OneOf(rapid.Just(int64(selection.Open)), rapid.Int64Range(-n-2, n+2))
	start, stop := bound.Draw(t, "start"), bound.Draw(t, "stop")
	var list []int64
	first, last := start, stop // as Python's slice.indices
	low, high := int64(0), n
	if step < 0 {
		low, high = -1, n-1
	}
	for _, b := range []*int64{&first, &last} {
		switch {
		case *b == selection.Open:
			*b = low
			if (step < 0) == (b == &first) {
				*b = high
			}
		case *b < 0:
			*b = max(low, *b+n)
		default:
			*b = min(high, *b)
		}
	}
	for i := first; step > 0 && i < last || step < 0 && i > last; i += step {
		list = append(list, i)
	}
	return selection.Stepped(start, stop, step), list
}

func (c chosen) drawPoints(t *rapid.T) (selection.Selection, chosen) {
	shape := rapid.SliceOfN(rapid.Int64Range(0, 4), 0, 3).Draw(t, "points")
	empty := slices.Contains(c.shape, 0)
	if empty {
		shape = []int64{0}
	}
	out := chosen{shape: shape}
	if shape == nil {
		out.shape = []int64{}
	}
	if len(c.shape) == 0 { // there are no coordinates that could have a shape
		out.shape = []int64{}
	}
	p := selection.Points{}
	var coords []chosen
	for i, n := range c.shape {
		own := slices.Clone(out.shape)
		for k := range own {
			if i > 0 && !empty && rapid.IntRange(0, 2).Draw(t, "broadcast") == 0 {
				own[k] = 1
			}
		}
		if i > 0 && !empty && rapid.IntRange(0, 3).Draw(t, "fewer axes") == 0 {
			own = own[min(len(own), 1):]
		}
		values := chosen{shape: own}
		for range len(slices.Collect(grid.BoxOf(own).Indices())) {
			values.at = append(values.at, rapid.Int64Range(-n, n-1).Draw(t, "coordinate"))
		}
		if values.shape == nil {
			values.shape = []int64{}
		}
		p = append(p, selection.Coordinates{Shape: values.shape, Data: slices.Clone(values.at)})
		coords = append(coords, values)
	}
	for place := range grid.BoxOf(out.shape).Indices() {
		index := make([]int64, len(c.shape))
		for i, v := range coords {
			at := slices.Clone(place[len(place)-len(v.shape):])
			for k, n := range v.shape {
				at[k] = min(at[k], n-1)
			}
			index[i] = (v.element(at) + c.shape[i]) % c.shape[i]
		}
		out.at = append(out.at, c.element(index))
	}
	return p, out
}

func (c chosen) drawMask(t *rapid.T) (selection.Selection, chosen) {
	m := selection.Mask{Shape: c.shape, Data: make([]bool, len(c.at))}
	out := chosen{}
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "mask"), 0))
	share := rapid.SampledFrom([]float64{0, 0.1, 0.5, 1}).Draw(t, "share")
	for i, at := range c.at {
		if m.Data[i] = r.Float64() < share; m.Data[i] {
			out.at = append(out.at, at)
		}
	}
	out.shape = []int64{int64(len(out.at))}
	return m, out
}

// drawBlocks draws whole chunks of an array.
func drawBlocks(t *rapid.T, g *grid.Grid, inner bool) (selection.Selection, chosen) {
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
	return b, everyElement(g.Shape()).along(lists, make([]bool, len(lists)))
}

func (c chosen) transposed(axes []int) chosen {
	out := chosen{shape: make([]int64, len(axes))}
	for i, k := range axes {
		out.shape[i] = c.shape[k]
	}
	for place := range grid.BoxOf(out.shape).Indices() {
		index := make([]int64, len(axes))
		for i, k := range axes {
			index[k] = place[i]
		}
		out.at = append(out.at, c.element(index))
	}
	return out
}

// TestSelectionModel reads and writes random selections of every kind, by themselves and
// through views of views, of random arrays, and expects what the same indices mean in an
// array without chunks.
func TestSelectionModel(t *testing.T) {
	types := []dtype.Type{
		dtype.Of[int32](), dtype.Of[int32](), dtype.Of[uint8](), dtype.Of[int16](), dtype.Of[float64](), dtype.Of[complex128](),
		must(dtype.Parse("r24", nil)),
	}
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		spec, opt := drawSpecOf(t, rapid.SampledFrom(types).Draw(t, "type")), drawOptions(t)
		a, err := zarr.At(memstore.New(), "").CreateArray(ctx, spec, &zarr.CreateOptions{Options: opt})
		if err != nil {
			t.Fatal(err)
		}
		all := everyElement(a.Shape())
		m := &model{shape: a.Shape(), size: a.Type().Size(), data: bytes.Repeat(fillElement(a), len(all.at))}
		for range rapid.IntRange(1, 4).Draw(t, "turns") {
			v, c := drawView(t, a, all)
			if rapid.Bool().Draw(t, "write") {
				writeChosen(t, a, m, v, c)
			}
			checkChosen(t, a, m, v, c)
			if a.Type() == dtype.Of[int32]() {
				checkTyped(t, m, v, c)
			}
		}
	})
}

// drawView draws a selection, or a view of views.
func drawView(t *rapid.T, a *zarr.Array, all chosen) (*zarr.View, chosen) {
	sel, c := all.draw(t)
	if rapid.IntRange(0, 7).Draw(t, "blocks") == 0 {
		g, inner := a.Grid(), false
		if n := a.Inner(); n != nil && rapid.Bool().Draw(t, "inner blocks") {
			g, inner = must(n.Grid()), true
		}
		sel, c = drawBlocks(t, g, inner)
	}
	v, err := a.View(sel)
	if err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(0, 2).Draw(t, "views") {
		if rapid.IntRange(0, 2).Draw(t, "transpose") == 0 {
			axes := make([]int, len(c.shape))
			for i := range axes {
				axes[i] = i
			}
			axes = rapid.Permutation(axes).Draw(t, "order of axes")
			if len(axes) > 0 {
				v, c = must(v.Transpose(axes...)), c.transposed(axes)
			}
			continue
		}
		sel, next := c.draw(t)
		if v, err = v.View(sel); err != nil {
			t.Fatal(err)
		}
		c = next
	}
	return v, c
}

func (m *model) chosen(c chosen) []byte {
	data := []byte{}
	for _, at := range c.at {
		data = append(data, m.data[int(at)*m.size:][:m.size]...)
	}
	return data
}

func writeChosen(t *rapid.T, a *zarr.Array, m *model, v *zarr.View, c chosen) {
	ctx := context.Background()
	data := drawValues(t, a, int64(len(c.at)))
	if rapid.IntRange(0, 3).Draw(t, "one value") == 0 {
		elem := drawElement(t, a.Type())
		data = bytes.Repeat(elem, len(c.at))
		if err := a.FillBytes(ctx, v.Selection(), elem); err != nil {
			t.Fatal(err)
		}
	} else if err := a.WriteBytes(ctx, v.Selection(), data); err != nil {
		t.Fatal(err)
	}
	for i, at := range c.at {
		copy(m.data[int(at)*m.size:], data[i*m.size:][:m.size])
	}
	got := make([]byte, len(m.data))
	if err := a.ReadBytes(ctx, nil, got); err != nil || !bytes.Equal(got, m.data) {
		t.Fatalf("after a write to %v the array holds\n%x\nwant\n%x (%v)", c, got, m.data, err)
	}
}

func checkChosen(t *rapid.T, a *zarr.Array, m *model, v *zarr.View, c chosen) {
	ctx := context.Background()
	if !slices.Equal(v.Shape(), c.shape) {
		t.Fatalf("shape %v, want %v", v.Shape(), c.shape)
	}
	want := m.chosen(c)
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
		n := must(a.Select(slab)).Len() * int64(m.size)
		got = slices.Grow(got, int(n))[:len(got)+int(n)]
		if err := a.ReadBytes(ctx, slab, got[len(got)-int(n):]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("slabs of %v:\n%x\nwant\n%x", c, got, want)
	}
}

// checkTyped reads the view as a block, into strided memory, and piece by piece, and
// writes it piece by piece.
func checkTyped(t *rapid.T, m *model, v *zarr.View, c chosen) {
	ctx := context.Background()
	want := int32sOf(m.chosen(c))
	b, err := zarr.Read[int32](ctx, v, nil)
	if err != nil || !slices.Equal(b.Shape, c.shape) || !slices.Equal(b.Data, want) {
		t.Fatalf("block %v, want %v (%v)", b, want, err)
	}
	strides, reach := make([]int64, len(c.shape)), int64(1)
	for _, i := range rapid.Permutation(slices.Collect(indices(len(c.shape)))).Draw(t, "layout") {
		strides[i] = reach + rapid.Int64Range(0, 2).Draw(t, "gap")
		reach += max(0, c.shape[i]-1) * strides[i]
	}
	room := make([]int32, reach)
	if err := zarr.ReadStrided(ctx, v, nil, room, strides); err != nil {
		t.Fatal(err)
	}
	i := 0
	for at := range grid.BoxOf(c.shape).Indices() {
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
		t.Fatalf("after writing what was there %v, want %v (%v)", b, want, err)
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

func (c chosen) String() string { return fmt.Sprint(c.shape, c.at) }
