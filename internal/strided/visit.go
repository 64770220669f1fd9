// SPDX-License-Identifier: Apache-2.0

package strided

import (
	"sort"

	"varve.dev/zarr/grid"
)

// Plan visits the chunks that a selection touches, in C order. Package subset makes
// plans ([varve.dev/zarr/internal/subset.NewPlan]). A plan is not safe for
// concurrent use.
type Plan interface {
	// Chunks returns an upper bound for the number of chunks that the selection touches.
	// It must be called before Next.
	Chunks() int64
	// Next sets v, which must have room for every axis, to the selected elements of the
	// next chunk. It returns false after the last.
	Next(v *Visit) bool
	// Seeks reports whether Seek may be called: the plan takes whole elements, and
	// neither a mask nor points select them.
	Seeks() bool
	// Seek sets v to the elements that the selection takes from one chunk of the grid,
	// regardless of earlier visits. It returns false if there are none.
	Seek(chunk []int64, v *Visit) bool
}

// Visit is the stop of a plan at one chunk: the selected elements of the chunk, and
// their places in the block. Its slices have one entry per axis.
type Visit struct {
	// What is taken, in elements relative to the chunk.
	Part
	Chunk []int64 // index of the chunk in the grid
	// Place is where the first element goes in the selected block. It is 0 along an axis
	// that has a list.
	Place []int64

	picks Picks
	Lists []List  // room for lists of the chunk
	Own   []Point // room for points of the chunk
}

// NewVisit returns a visit with room for the given number of axes.
func NewVisit(rank int) *Visit {
	n := make([]int64, 5*rank)
	cut := func(i int) []int64 { return n[i*rank : (i+1)*rank : (i+1)*rank] }
	return &Visit{Part: Part{Start: cut(0), Step: cut(1), Count: cut(2)}, Chunk: cut(3), Place: cut(4)}
}

// Pick resets the picks of the visit, with room for lists if there are any, and returns
// them.
func (v *Visit) Pick(lists bool, windows []Window) *Picks {
	v.picks = Picks{Windows: windows}
	if lists {
		if v.Lists == nil {
			v.Lists = make([]List, len(v.Chunk))
		}
		v.picks.Lists = v.Lists
	}
	v.Picks = &v.picks
	return v.Picks
}

// Seek sets v to the elements that a part of the grid takes from one chunk, and cell to
// that chunk. It returns false if the part takes nothing from it. Points of the part must
// be grouped by the chunks of g; see package selection.
func (v *Visit) Seek(g *grid.Grid, of Part, chunk []int64, cell *grid.Chunk) bool {
	if !g.Cell(chunk, cell) {
		return false
	}
	v.Picks = nil
	if of.Picks != nil {
		if picks := v.Pick(of.Picks.Lists != nil, of.Picks.Windows); of.Picks.Points != nil {
			picks.Points = cellOf(of.Picks.Points, Number(g, chunk))
			copy(v.Chunk, chunk)
			return len(picks.Points) > 0
		}
	}
	for i, start := range cell.Start {
		if v.Picks != nil && v.Picks.Lists != nil {
			v.Lists[i] = List{}
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

// seekList sets the visit along an axis to the elements that a list takes from the
// chunk, whose elements are those from start to stop.
func (v *Visit) seekList(axis int, of List, start, stop int64) {
	from := of.CountUntil(0, start)
	// The entries of the list within the chunk follow each other, because it is sorted.
	n := of.CountUntil(from, stop)
	v.Lists[axis] = of.Cut(from, from+n, start)
	v.Start[axis], v.Step[axis], v.Count[axis], v.Place[axis] = 0, 1, n, 0
}

// InChunk returns a view of the selected elements of a chunk. If points are selected, it
// returns the view of the whole chunk. strides is room for one stride per axis, which the
// result keeps.
func (v *Visit) InChunk(chunk View, strides []int64) View {
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
func (v *Visit) InBlock(block View, strides []int64) View {
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
func cellOf(points []Point, cell int64) []Point {
	from := sort.Search(len(points), func(i int) bool { return points[i].Cell >= cell })
	n := sort.Search(len(points)-from, func(i int) bool { return points[from+i].Cell > cell })
	return points[from : from+n : from+n]
}

// Number returns the number of a chunk in C order.
func Number(g *grid.Grid, chunk []int64) int64 {
	n := int64(0)
	for i, at := range chunk {
		n = n*g.Axis(i).Chunks() + at
	}
	return n
}

// CountUntil returns the number of elements, counted from number k on, that lie before
// element stop.
func (l List) CountUntil(k, stop int64) int64 {
	rest := l.At[k:]
	return int64(sort.Search(len(rest), func(i int) bool { return rest[i]-l.Base >= stop }))
}

// Cut returns the elements with numbers from k up to but not including stop, relative to
// element base.
func (l List) Cut(k, stop, base int64) List {
	return List{At: l.At[k:stop:stop], Place: l.Place[k:stop:stop], Base: l.Base + base}
}
