// SPDX-License-Identifier: Apache-2.0

package comparison

import (
	"iter"
	"math"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
)

// cutter cuts arrays of one shape into cells: each axis on its own, at a list of places.
type cutter struct {
	shape []int64
	// next returns the end of the cell that begins at an element of an axis.
	next func(axis int, from int64) int64
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
	c.next = func(axis int, from int64) int64 {
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
		volume = product(volume, longest[i])
	}
	for _, g := range grids {
		n := int64(1)
		for i := range shape {
			n = product(n, max(1, min(shape[i], g.Axis(i).Longest(grid.Interval{Stop: g.Axis(i).Chunks()}))))
		}
		chunk = max(chunk, n)
	}
	for volume > max(chunk, product(most, roomier)) {
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
		volume = product(1, longest[0])
		for _, n := range longest[1:] {
			volume = product(volume, n)
		}
	}
	for i := len(longest) - 1; i >= 0; i-- {
		across := max(1, volume/longest[i])
		longest[i] = max(longest[i], min(shape[i], most/across))
		volume = product(across, longest[i])
	}
	return longest
}

// product returns a · b, or the largest number if it overflows.
func product(a, b int64) int64 {
	if n, ok := checked.Mul(a, b); ok {
		return n
	}
	return math.MaxInt64
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
		box[i].Stop = c.next(i, 0)
	}
	return box
}

// extend makes a cell longer, along the last axis first. It returns the axis along which
// the box ends. Along the axes after that it has all elements.
func (c cutter) extend(box grid.Box, most int64) (cut int) {
	volume := int64(1)
	for _, in := range box {
		volume = product(volume, in.Len())
	}
	for cut = len(box) - 1; cut >= 0; cut-- {
		in, across := &box[cut], max(1, volume/box[cut].Len())
		for in.Stop < c.shape[cut] {
			stop := c.next(cut, in.Stop)
			if stop-in.Start > most/across {
				return cut
			}
			in.Stop = stop
		}
		// Go on along the axis before only if the box has all elements along this one.
		if in.Start > 0 || cut == 0 {
			return cut
		}
		volume = product(across, in.Len())
	}
	return cut
}

// advance moves from a box to the first cell after it. It returns false after the last.
func (c cutter) advance(box grid.Box, cut int) bool {
	for i := len(box) - 1; i > cut; i-- {
		box[i] = grid.Interval{Stop: c.next(i, 0)}
	}
	for ; cut >= 0; cut-- {
		if at := box[cut].Stop; at < c.shape[cut] {
			box[cut] = grid.Interval{Start: at, Stop: c.next(cut, at)}
			return true
		}
		box[cut] = grid.Interval{Stop: c.next(cut, 0)}
	}
	return false
}
