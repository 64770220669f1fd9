// SPDX-License-Identifier: Apache-2.0

package comparison

import (
	"iter"
	"math"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
)

// bands yields boxes of whole chunks that together are the array, in the C order of their
// first chunks. A box has at most most elements, unless it is one chunk. It is as long as
// possible along the last axes, so that its rows are long.
func bands(g *grid.Grid, most int64) iter.Seq[grid.Box] {
	return func(yield func(grid.Box) bool) {
		chunks := g.Chunks()
		if slices.Contains(chunks, 0) {
			return
		}
		for at := make([]int64, g.Rank()); ; {
			box, cut, stop := band(g, at, most)
			if !yield(box) || !advance(at, chunks, cut, stop) {
				return
			}
		}
	}
}

// band returns the box that begins with the chunk at an index. It ends before the chunk
// stop along the axis cut; along the axes after that it has all chunks. Without axes, cut
// is -1.
func band(g *grid.Grid, at []int64, most int64) (box grid.Box, cut int, stop int64) {
	box = make(grid.Box, len(at))
	volume := int64(1)
	for i, k := range at {
		cell, _ := g.Axis(i).Cell(k)
		box[i] = grid.Interval{Start: cell.Start, Stop: cell.Start + cell.Logical}
		var ok bool
		if volume, ok = checked.Mul(volume, cell.Logical); !ok {
			volume = math.MaxInt64
		}
	}
	for cut = len(at) - 1; cut >= 0; cut-- {
		axis := g.Axis(cut)
		across := volume / box[cut].Len()
		for stop = at[cut] + 1; stop < axis.Chunks(); stop++ {
			cell, _ := axis.Cell(stop)
			if cell.Start+cell.Logical-box[cut].Start > most/across {
				return box, cut, stop
			}
			box[cut].Stop = cell.Start + cell.Logical
		}
		// Go on along the axis before only if the box has all chunks along this one.
		if at[cut] > 0 || cut == 0 {
			return box, cut, stop
		}
		volume = across * box[cut].Len()
	}
	return box, cut, 0
}

// advance moves at to the first chunk after a box. It returns false after the last.
func advance(at, chunks []int64, cut int, stop int64) bool {
	if cut < 0 {
		return false
	}
	clear(at[cut:])
	for at[cut] = stop; at[cut] == chunks[cut]; at[cut]++ {
		at[cut] = 0
		if cut--; cut < 0 {
			return false
		}
	}
	return true
}
