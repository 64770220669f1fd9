// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"context"
	"iter"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/failure"
	"varve.dev/zarr/internal/reduction"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// source is what a level is made from: the array, or the level below.
type source struct {
	array    *zarr.Array
	grid     *grid.Grid
	fill     []byte                   // one element
	mayStore func(index []int64) bool // whether a chunk may be stored
	few      int64                    // the size of a region that is read at once, in bytes
}

// A region of so few bytes is read at once. In a far store all its chunks are requested
// at the same time. In a near one, larger chunks are read one by one, without a copy.
const (
	fewNear = 256 << 10
	fewFar  = 16 << 20
)

// fewBytes returns the size of a region that is read at once.
func fewBytes(from store.Store) int64 {
	if engine.Near(from) {
		return fewNear
	}
	return fewFar
}

// derive makes the elements of a box of the level above s.
func (s *source) derive(ctx context.Context, r *reduction.Reducer, box grid.Box, dst strided.View) error {
	for piece := range s.pieces(r, r.Below(box, s.grid.Shape()), dst.Size) {
		part := dst.Sub(relative(r.Above(piece), box))
		if !s.any(piece) {
			strided.Fill(part, s.fill)
			continue
		}
		if err := s.read(ctx, r, piece, part); err != nil {
			return err
		}
	}
	return nil
}

// read makes the elements of dst from a piece.
func (s *source) read(ctx context.Context, r *reduction.Reducer, piece grid.Box, dst strided.View) error {
	n, _ := piece.Len() // at most what the tiles have, see [work.sizes]
	n *= int64(dst.Size)
	buffer := budget.Get(n)
	defer buffer.Put()
	data := buffer.Bytes(n)
	if err := s.array.ReadBytes(ctx, selection.BoxOf(piece), data); err != nil {
		return err
	}
	r.Reduce(dst, strided.Contiguous(data, piece.Shape(), dst.Size))
	return nil
}

// relative returns a box as seen from the start of another one.
func relative(box, from grid.Box) grid.Box {
	b := make(grid.Box, len(box))
	for i := range box {
		b[i] = grid.Interval{Start: box[i].Start - from[i].Start, Stop: box[i].Stop - from[i].Start}
	}
	return b
}

// pieces yields boxes that a region consists of and that do not cut blocks. They are
// chunks if these do not cut blocks either. A small region is one piece if everything in
// it may be stored.
func (s *source) pieces(r *reduction.Reducer, region grid.Box, size int) iter.Seq[grid.Box] {
	return func(yield func(grid.Box) bool) {
		// One read of the region makes fewer calls. With chunks that are not stored it
		// would allocate and fold fill values that a piece of its own skips.
		if n, ok := region.Len(); ok && n <= s.few/int64(size) && s.all(region) {
			yield(region)
			return
		}
		ends, counts := make([][]int64, len(region)), make([]int64, len(region))
		for i, in := range region {
			ends[i] = boundaries(s.grid.Axis(i), in, r.Block[i])
			counts[i] = int64(len(ends[i]) - 1)
		}
		for index := range grid.BoxOf(counts).Indices() {
			piece := make(grid.Box, len(region))
			for i, k := range index {
				piece[i] = grid.Interval{Start: ends[i][k], Stop: ends[i][k+1]}
			}
			if !yield(piece) {
				return
			}
		}
	}
}

// boundaries returns both ends of an interval, and between them the boundaries of chunks
// that do not cut blocks of f elements.
func boundaries(axis grid.Axis, in grid.Interval, f int64) []int64 {
	ends := []int64{in.Start}
	k, _, ok := axis.Locate(in.Start)
	for ok {
		c, found := axis.Cell(k)
		at := c.Start + c.Edge
		if !found || at >= in.Stop {
			break
		}
		// A piece that ended within a block would fold the block from a part of its
		// elements.
		if at%f == 0 {
			ends = append(ends, at)
		}
		k++
	}
	return append(ends, in.Stop)
}

// any reports whether a chunk of a box may be stored.
func (s *source) any(box grid.Box) bool { return s.some(box, true) }

// all reports whether every chunk of a box may be stored.
func (s *source) all(box grid.Box) bool { return !s.some(box, false) }

// some reports whether a chunk of a box is stored, or is not.
func (s *source) some(box grid.Box, stored bool) bool {
	cells, err := s.grid.Touched(box)
	if err != nil {
		return true // reading reports it
	}
	for index := range cells.IndicesInto(make([]int64, len(cells))) {
		if s.mayStore(index) == stored {
			return true
		}
	}
	return false
}

// longestPiece returns the bytes of the largest piece that a tile is made of. tile has
// the longest edges of the level above.
func (s *source) longestPiece(r *reduction.Reducer, tile []int64, size int) (int64, bool) {
	whole, piece := int64(size), int64(size)
	ok := true
	for i, f := range r.Block {
		axis := s.grid.Axis(i)
		region := axis.Extent()
		if tile[i] < region/f {
			region = tile[i] * f
		}
		edge := region
		// If chunks end within blocks, a piece may reach over any number of them.
		if aligned(axis, f) {
			edge = min(region, axis.Longest(grid.Interval{Stop: axis.Chunks()}))
		}
		var fine, also bool
		whole, fine = checked.Mul(whole, region)
		piece, also = checked.Mul(piece, edge)
		ok = ok && fine && also
	}
	if ok && whole <= s.few {
		return whole, true
	}
	return piece, ok
}

// aligned reports whether no chunk of an axis ends within a block of f elements.
func aligned(axis grid.Axis, f int64) bool {
	if axis.IsRegular() {
		return axis.Chunks() <= 1 || axis.Step()%f == 0
	}
	if f == 1 {
		return true
	}
	for k := range axis.Chunks() - 1 {
		if c, _ := axis.Cell(k); (c.Start+c.Edge)%f != 0 {
			return false
		}
	}
	return true
}

// tile is a chunk of a level in memory. Only the elements within the array are kept.
type tile struct {
	box  grid.Box
	view strided.View
	left int // tiles below that are not made yet

	// below has the elements that the tile is made of, if chunks of the level below cut
	// blocks. Then the tile is made when all of them are there.
	below   *strided.View
	buffers []*budget.Buffer
}

// room returns memory for the elements of a box.
func (t *tile) room(box grid.Box, size int) strided.View {
	n, _ := box.Len()
	b := budget.Get(n * int64(size))
	t.buffers = append(t.buffers, b)
	return strided.Contiguous(b.Bytes(n*int64(size)), box.Shape(), size)
}

// free returns the memory of a tile.
func (t *tile) free() {
	for _, b := range t.buffers {
		b.Put()
	}
}

// target looks at the document of level k, to which tiles are written from then on. No
// other program writes to levels.
func (w *work) target(ctx context.Context, k int) (err error) {
	w.targets[k], err = w.arrays[k].Core().Begin().Fresh(ctx)
	return err
}

// write stores a tile of level k. If all its elements are the fill value, there is no
// chunk.
func (w *work) write(ctx context.Context, k int, t *tile) error {
	to := w.targets[k]
	box, err := selection.Resolve(selection.BoxOf(t.box), to.Grid.Shape())
	if err == nil {
		err = to.Engine.Write(ctx, (*subset.Elements)(box), t.view, engine.Writing{Batch: w.batch, Plain: true})
	}
	if err != nil {
		return failure.On(w.arrays[k], "write", err)
	}
	w.count()
	return nil
}
