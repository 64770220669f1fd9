// SPDX-License-Identifier: Apache-2.0

package comparison

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
)

// cutter cuts arrays of one shape into cells: each axis on its own, at a list of places.
type cutter struct {
	shape []int64
	// boundary returns the end of the cell that begins at an element of an axis.
	boundary func(axis int, from int64) int64
}

// ofChunks cuts at the borders of chunks.
func ofChunks(g *grid.Grid) cutter {
	return cutter{g.Shape(), func(axis int, from int64) int64 { return end(g.Axis(axis), from) }}
}

// end returns the end of the chunk of an element, within the extent.
func end(a grid.Axis, element int64) int64 {
	chunk, _, _ := a.Locate(element)
	cell, _ := a.Cell(chunk)
	return min(a.Extent(), cell.Start+cell.Logical)
}

// ofBoth cuts what two arrays have in common where both have borders of chunks. Where
// these are too far from each other, it cuts at borders of a, else at those of b, else
// anywhere. Chunks that lie across such a cut are decoded on both sides of it.
func ofBoth(a, b *grid.Grid, most int64) cutter {
	c := cutter{shape: common(a.Shape(), b.Shape())}
	longest := limits(c.shape, most, a, b)
	c.boundary = func(axis int, from int64) int64 {
		x, y := a.Axis(axis), b.Axis(axis)
		limit := c.shape[axis]
		if longest[axis] < limit-from {
			limit = from + longest[axis]
		}
		own := from // the last border of a
		for at := end(x, from); at <= limit; at = end(x, at) {
			if own = at; at == c.shape[axis] {
				return at
			}
			if _, within, _ := y.Locate(at); within == 0 {
				return at
			}
		}
		if own > from {
			return own
		}
		// The last border of b, if there is one.
		if _, within, ok := y.Locate(limit); ok && within < limit-from {
			return limit - within
		}
		return limit
	}
	return c
}

// roomier is how many times longer than most a cell may be before it is cut where only
// one array, or none, has borders.
const roomier = 8

// limits returns the largest length of a cell along each axis: that of the longest chunk
// of both, and more along the last axes if cells of most elements have room for it. If
// such a cell is far too large, as where long rows of one array meet long columns of the
// other, all axes that have room are cut evenly: then chunks of both are decoded a few
// times, and not those of one very often.
func limits(shape []int64, most int64, grids ...*grid.Grid) []int64 {
	longest, shortest := make([]int64, len(shape)), make([]int64, len(shape))
	volume, chunk := int64(1), int64(0)
	for i := range longest {
		for _, g := range grids {
			axis := g.Axis(i)
			n := max(1, min(shape[i], axis.Longest(grid.Interval{Stop: axis.Chunks()})))
			if longest[i] = max(longest[i], n); shortest[i] == 0 || n < shortest[i] {
				shortest[i] = n
			}
		}
		volume = checked.Capped(volume, longest[i])
	}
	for _, g := range grids {
		n := int64(1)
		for i := range shape {
			n = checked.Capped(n, max(1, min(shape[i], g.Axis(i).Longest(grid.Interval{Stop: g.Axis(i).Chunks()}))))
		}
		chunk = max(chunk, n)
	}
	for volume > max(chunk, checked.Capped(most, roomier)) {
		at := 0
		for i := range longest {
			if longest[i]/shortest[i] > longest[at]/shortest[at] {
				at = i
			}
		}
		if longest[at] == shortest[at] {
			break
		}
		longest[at] = max(shortest[at], longest[at]/2)
		volume = checked.Capped(1, longest[0])
		for _, n := range longest[1:] {
			volume = checked.Capped(volume, n)
		}
	}
	for i := len(longest) - 1; i >= 0; i-- {
		across := max(1, volume/longest[i])
		longest[i] = max(longest[i], min(shape[i], most/across))
		volume = checked.Capped(across, longest[i])
	}
	return longest
}

// boxes yields boxes of whole cells that together are the array, in the C order of their
// first elements. A box has at most most elements, unless it is one cell. It is as long
// as possible along the last axes, so that its rows are long.
func (c cutter) boxes(most int64) iter.Seq[grid.Box] {
	return func(yield func(grid.Box) bool) {
		if slices.Contains(c.shape, 0) {
			return
		}
		for box := c.first(); ; {
			cut := c.extend(box, most)
			if !yield(slices.Clone(box)) || !c.advance(box, cut) {
				return
			}
		}
	}
}

// first returns the first cell.
func (c cutter) first() grid.Box {
	box := make(grid.Box, len(c.shape))
	for i := range box {
		box[i].Stop = c.boundary(i, 0)
	}
	return box
}

// extend makes a cell longer, along the last axis first. It returns the axis along which
// the box ends. Along the axes after that it has all elements.
func (c cutter) extend(box grid.Box, most int64) (cut int) {
	volume := int64(1)
	for _, in := range box {
		volume = checked.Capped(volume, in.Len())
	}
	for cut = len(box) - 1; cut >= 0; cut-- {
		in, across := &box[cut], max(1, volume/box[cut].Len())
		for in.Stop < c.shape[cut] {
			stop := c.boundary(cut, in.Stop)
			if stop-in.Start > most/across {
				return cut
			}
			in.Stop = stop
		}
		// Go on along the axis before only if the box has all elements along this one.
		if in.Start > 0 || cut == 0 {
			return cut
		}
		volume = checked.Capped(across, in.Len())
	}
	return cut
}

// advance moves from a box to the first cell after it. It returns false after the last.
func (c cutter) advance(box grid.Box, cut int) bool {
	for i := len(box) - 1; i > cut; i-- {
		box[i] = grid.Interval{Stop: c.boundary(i, 0)}
	}
	for ; cut >= 0; cut-- {
		if at := box[cut].Stop; at < c.shape[cut] {
			box[cut] = grid.Interval{Start: at, Stop: c.boundary(cut, at)}
			return true
		}
		box[cut] = grid.Interval{Stop: c.boundary(cut, 0)}
	}
	return false
}

const (
	// fewTiles is the number of tiles up to which all are compared, without listing the
	// stored chunks.
	fewTiles = 512
	// sparseTiles is the least ratio of all tiles to those with stored chunks at which
	// only the latter are compared.
	sparseTiles = 16
	// mostTiles bounds the numbers of tiles that are held in memory: 128 MiB.
	mostTiles = 1 << 24
)

// tiles cuts two arrays of one shape into boxes of one size, independent of their grids.
// A tile is about as large as a chunk. Its number is its position in C order.
type tiles struct {
	shape, edges, counts []int64
}

// tilesOf returns the tiles for grids of one shape. A tile has at most most elements.
func tilesOf(most int64, grids ...*grid.Grid) *tiles {
	t := &tiles{shape: grids[0].Shape()}
	for _, g := range grids[1:] {
		t.shape = common(t.shape, g.Shape())
	}
	for i, n := range t.shape {
		edge := int64(1)
		for _, g := range grids {
			edge = max(edge, min(n, g.Axis(i).Longest(grid.Interval{Stop: g.Axis(i).Chunks()})))
		}
		t.edges = append(t.edges, edge)
	}
	// Shorten the outer axes first, so that a tile has long rows.
	room := max(1, most)
	for i := len(t.edges) - 1; i >= 0; i-- {
		t.edges[i] = min(t.edges[i], room)
		room /= t.edges[i]
	}
	for i, n := range t.shape {
		t.counts = append(t.counts, max(0, n-1)/t.edges[i]+min(1, n))
	}
	return t
}

// len returns the number of tiles, or the largest number if it overflows.
func (t *tiles) len() int64 {
	n := int64(1)
	for _, k := range t.counts {
		n = checked.Capped(n, k)
	}
	return n
}

// touched yields the numbers of the tiles that share elements with a chunk.
func (t *tiles) touched(c *grid.Chunk) iter.Seq[int64] {
	box := make(grid.Box, len(t.edges))
	for i, edge := range t.edges {
		stop := min(c.Start[i]+c.Logical[i], t.shape[i])
		box[i] = grid.Interval{Start: c.Start[i] / edge, Stop: (stop-1)/edge + 1}
		if stop <= c.Start[i] { // beyond the shape that all have in common
			return func(func(int64) bool) {}
		}
	}
	return func(yield func(int64) bool) {
		for index := range box.IndicesInto(make([]int64, len(box))) {
			number := int64(0)
			for i, at := range index {
				number = number*t.counts[i] + at
			}
			if !yield(number) {
				return
			}
		}
	}
}

// box returns the elements of a tile.
func (t *tiles) box(number int64) grid.Box {
	box := make(grid.Box, len(t.edges))
	for i := len(box) - 1; i >= 0; i-- {
		start := number % t.counts[i] * t.edges[i]
		number /= t.counts[i]
		box[i] = grid.Interval{Start: start, Stop: min(t.shape[i], start+t.edges[i])}
	}
	return box
}

// visitable returns an error if the arrays have too many chunks to request each.
func visitable(states ...*snapshot.Array) error {
	for _, s := range states {
		if err := engine.Visitable(grid.BoxOf(s.Grid.Chunks())); err != nil {
			return fmt.Errorf("%w: compare parts", err)
		}
	}
	return nil
}

var errScattered = fmt.Errorf("%w: more than %s of the arrays are stored, far from each other: compare parts", engine.ErrLimit, quantity.Count(mostTiles, "parts"))

// ofStored returns, in ascending order, the numbers of the tiles for which one of the
// arrays stores a chunk. As soon as these are too many, it stops and few is false.
func (t *tiles) ofStored(ctx context.Context, arrays []Array, states []*snapshot.Array) (numbers []int64, few bool, err error) {
	most := t.len() / sparseTiles
	room := 2 * fewTiles // length of numbers at which duplicates are removed
	cell := grid.NewChunk(len(t.shape))
	for i, s := range states {
		for index, err := range s.Engine.Listed(ctx, grid.BoxOf(s.Grid.Chunks())) {
			if err != nil {
				return nil, false, arrays[i].failed(err)
			}
			s.Grid.Cell(index, cell)
			for number := range t.touched(cell) {
				if numbers = append(numbers, number); len(numbers) < room {
					continue
				}
				// Neighbouring chunks touch the same tiles. Removing duplicates each time
				// the list doubles keeps the cost low.
				numbers = distinct(numbers)
				room = max(room, 2*len(numbers))
				if n := int64(len(numbers)); n > most {
					return nil, false, nil
				} else if n > mostTiles {
					return nil, false, errScattered
				}
			}
		}
	}
	numbers = distinct(numbers)
	return numbers, int64(len(numbers)) <= most, nil
}

// distinct sorts numbers and removes duplicates.
func distinct(numbers []int64) []int64 {
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// division divides boxes of elements of variable length, whose bytes are unknown before
// they are read, so that only few are in memory at a time.
type division struct {
	grid  *grid.Grid // of the chunks, or inner chunks, that are decoded alone
	alone sync.Mutex // held while a whole chunk is in memory, however long it is
}

// each calls read with boxes that together are box, and divides one if read returns
// [coding.ErrRoom]. It divides at the edges of chunks as long as there are some, because
// reading a part of a chunk decodes all of it. Then oneChunk is set.
func (d *division) each(box grid.Box, read func(box grid.Box, oneChunk bool) error) error {
	halves, ok := d.betweenChunks(box)
	var err error
	if ok {
		err = read(box, false)
	} else {
		err = d.chunk(func(oneChunk bool) error { return read(box, oneChunk) })
		halves, ok = halved(box)
	}
	if !ok || !errors.Is(err, coding.ErrRoom) {
		return err
	}
	for _, half := range halves {
		if err := d.each(half, read); err != nil {
			return err
		}
	}
	return nil
}

// chunk reads a box that lies in one chunk, which may be as long as a block.
func (d *division) chunk(read func(oneChunk bool) error) error {
	err := read(false)
	if !errors.Is(err, coding.ErrRoom) {
		return err
	}
	d.alone.Lock()
	defer d.alone.Unlock()
	return read(true)
}

// betweenChunks cuts a box at an edge near its middle, along the axis with the most
// chunks. It returns false if the box lies in one chunk.
func (d *division) betweenChunks(box grid.Box) ([2]grid.Box, bool) {
	axis, most, at := 0, int64(1), int64(0)
	for i, in := range box {
		first, _, _ := d.grid.Axis(i).Locate(in.Start)
		last, _, _ := d.grid.Axis(i).Locate(in.Stop - 1)
		if n := last - first + 1; n > most {
			middle, _ := d.grid.Axis(i).Cell(first + n/2)
			axis, most, at = i, n, middle.Start
		}
	}
	return cutAt(box, axis, at), most > 1
}

// halved cuts a box along its longest axis. It returns false for a single element.
func halved(box grid.Box) ([2]grid.Box, bool) {
	axis := 0
	for i, in := range box {
		if in.Len() > box[axis].Len() {
			axis = i
		}
	}
	if len(box) == 0 || box[axis].Len() < 2 {
		return [2]grid.Box{}, false
	}
	return cutAt(box, axis, box[axis].Start+box[axis].Len()/2), true
}

// cutAt cuts a box before an index along an axis.
func cutAt(box grid.Box, axis int, index int64) [2]grid.Box {
	if len(box) == 0 {
		return [2]grid.Box{}
	}
	below, above := clipped(box, box), clipped(box, box)
	below[axis].Stop, above[axis].Start = index, index
	return [2]grid.Box{below, above}
}
