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
// these are so far from each other that a box would have more than most elements, it cuts
// at those of a alone. The chunks of b that lie across such a cut are decoded on both
// sides of it.
func ofBoth(a, b *grid.Grid, most int64) cutter {
	c := cutter{shape: common(a.Shape(), b.Shape())}
	longest := limits(c.shape, most, a, b)
	c.next = func(axis int, from int64) int64 {
		x, y := a.Axis(axis), b.Axis(axis)
		own := int64(0) // the last border of a within the limit
		for at := from; ; {
			if at = min(end(x, at), c.shape[axis]); at-from > longest[axis] && own > 0 {
				return own
			}
			if own = at; at == c.shape[axis] {
				return at
			}
			if _, within, _ := y.Locate(at); within == 0 {
				return at
			}
		}
	}
	return c
}

// limits returns the largest length of a cell along each axis. It is at least that of the
// longest chunk, and cells have at most most elements unless these chunks have more. The
// last axes come first.
func limits(shape []int64, most int64, grids ...*grid.Grid) []int64 {
	longest := make([]int64, len(shape))
	volume := int64(1)
	for i := range longest {
		for _, g := range grids {
			axis := g.Axis(i)
			longest[i] = max(1, longest[i], axis.Longest(grid.Interval{Stop: axis.Chunks()}))
		}
		volume = product(volume, longest[i])
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
