// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"sort"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strided"
)

// Visit is the stop of a [Plan] at one chunk: what the selection takes from the chunk,
// and where it goes. Its slices have one entry per axis.
type Visit struct {
	// What is taken, in elements relative to the chunk.
	strided.Part
	Chunk []int64 // index of the chunk in the grid
	// Place is where the first element goes in the selected block. It is 0 along an axis
	// that has a list.
	Place []int64

	picks strided.Picks
	lists []strided.List
	own   []strided.Point
}

// NewVisit returns a visit with room for the given number of axes.
func NewVisit(rank int) *Visit {
	n := make([]int64, 5*rank)
	cut := func(i int) []int64 { return n[i*rank : (i+1)*rank : (i+1)*rank] }
	return &Visit{Part: strided.Part{Start: cut(0), Step: cut(1), Count: cut(2)}, Chunk: cut(3), Place: cut(4)}
}

// pick resets the picks of the visit, with room for lists if there are any, and returns
// them.
func (v *Visit) pick(lists bool, windows []strided.Window) *strided.Picks {
	v.picks = strided.Picks{Windows: windows}
	if lists {
		if v.lists == nil {
			v.lists = make([]strided.List, len(v.Chunk))
		}
		v.picks.Lists = v.lists
	}
	v.Picks = &v.picks
	return v.Picks
}

// Seek sets v to what a part of the whole grid takes from one of its chunks, and cell to
// that chunk. It returns false if the part takes nothing from it. Points of the part must
// be grouped by the chunks of g; see [Group].
func (v *Visit) Seek(g *grid.Grid, of strided.Part, chunk []int64, cell *grid.Chunk) bool {
	if !g.Cell(chunk, cell) {
		return false
	}
	v.Picks = nil
	if of.Picks != nil {
		if picks := v.pick(of.Picks.Lists != nil, of.Picks.Windows); of.Picks.Points != nil {
			picks.Points = cellOf(of.Picks.Points, number(g, chunk))
			copy(v.Chunk, chunk)
			return len(picks.Points) > 0
		}
	}
	for i, start := range cell.Start {
		if v.Picks != nil && v.Picks.Lists != nil {
			v.lists[i] = strided.List{}
			if l := of.Picks.Lists[i]; l.At != nil {
				if v.seekList(i, l, start, start+cell.Logical[i]); v.Count[i] == 0 {
					return false
				}
				v.Chunk[i] = chunk[i]
				continue
			}
		}
		// first is the number of selected elements before this chunk.
		first, step := int64(0), of.Step[i]
		if before := start - of.Start[i]; before > 0 {
			first = (before + step - 1) / step
		}
		// from is the first selected element in the chunk, relative to the chunk's start.
		from := of.Start[i] + first*step - start
		count := int64(0)
		if from < cell.Logical[i] {
			count = min(of.Count[i]-first, (cell.Logical[i]-from-1)/step+1)
		}
		if count <= 0 {
			return false
		}
		v.Chunk[i], v.Start[i], v.Step[i], v.Count[i], v.Place[i] = chunk[i], from, step, count, first
	}
	return true
}

// seekList sets the visit along an axis to what a list for the whole grid takes from the
// chunk, whose elements are those from start to stop.
func (v *Visit) seekList(axis int, of strided.List, start, stop int64) {
	l := list{List: of}
	from := l.upTo(0, start)
	// The entries of the list within the chunk follow each other, because it is sorted.
	n := l.upTo(from, stop)
	v.lists[axis] = l.cut(from, from+n, start)
	v.Start[axis], v.Step[axis], v.Count[axis], v.Place[axis] = 0, 1, n, 0
}

// InChunk returns a view of the selected elements of a chunk. If points are selected, it
// returns the view of the whole chunk. strides is room for one stride per axis, which the
// result keeps.
func (v *Visit) InChunk(chunk strided.View, strides []int64) strided.View {
	if v.Picks != nil && v.Picks.Points != nil {
		return chunk
	}
	for i, at := range v.Start {
		strides[i] = chunk.Strides[i] * v.Step[i]
		chunk.Offset += at * chunk.Strides[i]
	}
	chunk.Shape, chunk.Strides = v.Count, strides
	return chunk
}

// InBlock returns a view of the places in a block where the selected elements go. If
// points are selected, it returns the view of the whole block. Along axes that have a
// list, it begins at the first place of the block. strides is room for one stride per
// axis, which the result keeps.
func (v *Visit) InBlock(block strided.View, strides []int64) strided.View {
	if v.Picks != nil && v.Picks.Points != nil {
		return block
	}
	for i, at := range v.Place {
		strides[i] = block.Strides[i]
		block.Offset += at * block.Strides[i]
	}
	block.Shape, block.Strides = v.Count, strides
	return block
}

// cellOf returns the points of one cell. The points must be grouped.
func cellOf(points []strided.Point, cell int64) []strided.Point {
	from := sort.Search(len(points), func(i int) bool { return points[i].Cell >= cell })
	n := sort.Search(len(points)-from, func(i int) bool { return points[from+i].Cell > cell })
	return points[from : from+n : from+n]
}

// number returns the number of a chunk in C order.
func number(g *grid.Grid, chunk []int64) int64 {
	n := int64(0)
	for i, at := range chunk {
		n = n*g.Axis(i).Chunks() + at
	}
	return n
}
