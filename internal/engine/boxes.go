// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"iter"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
)

// BoxBytes returns how many bytes of a region to hold in memory while it is written box
// by box. This is half of the budget.
func (a *Array) BoxBytes(region grid.Box) (int64, error) {
	cells, err := a.Grid.Touched(region)
	if err != nil {
		return 0, err
	}
	return a.budgetFor(a.largest(cells, nil)) / 2, nil
}

// Boxes cuts a region into boxes in C order, along borders of chunks, so that no chunk
// overlaps two boxes. A box has at most limit bytes, or one chunk. The next iteration
// overwrites the box.
func (a *Array) Boxes(region grid.Box, limit int64) (iter.Seq[grid.Box], error) {
	cells, err := a.Grid.Touched(region)
	if err != nil {
		return nil, err
	}
	b := &boxes{grid: a.Grid, region: region}
	b.measure(cells, int64(a.Size), limit)
	return func(yield func(grid.Box) bool) {
		if n, ok := region.Len(); ok && n == 0 {
			return
		}
		box := b.first()
		for more := true; more; more = b.next(box) {
			if !yield(box) {
				return
			}
		}
	}, nil
}

// boxes cuts a region. A box has one chunk along the axes before cut, some along cut, and
// all along the axes after it.
type boxes struct {
	grid   *grid.Grid
	region grid.Box
	cut    int
	most   int64 // elements of a box along cut, unless one chunk has more
}

// measure chooses the axis to cut: the last one along which the whole region does not
// fit. So boxes have long rows.
func (b *boxes) measure(cells grid.Box, size, limit int64) {
	before := make([]int64, len(b.region)) // bytes of one chunk along all earlier axes
	bytes := size
	for i, in := range b.region {
		before[i] = bytes
		bytes = checked.Capped(bytes, min(in.Len(), b.grid.Axis(i).Longest(cells[i])))
	}
	behind := int64(1)
	for b.cut = len(b.region) - 1; b.cut >= 0; b.cut-- {
		plane := checked.Capped(before[b.cut], behind)
		b.most = limit / max(1, plane)
		if length := b.region[b.cut].Len(); b.most < length {
			return
		}
		behind = checked.Capped(behind, b.region[b.cut].Len())
	}
	b.cut = 0 // one box is the whole region
}

func (b *boxes) first() grid.Box {
	box := make(grid.Box, len(b.region))
	for i, in := range b.region {
		if box[i] = in; i <= b.cut {
			box[i].Stop = b.stop(i, in.Start)
		}
	}
	return box
}

// next moves box to the next one. It returns false after the last.
func (b *boxes) next(box grid.Box) bool {
	for i := min(b.cut, len(box)-1); i >= 0; i-- {
		box[i].Start = box[i].Stop
		more := box[i].Start < b.region[i].Stop
		if !more {
			box[i].Start = b.region[i].Start
		}
		if box[i].Stop = b.stop(i, box[i].Start); more {
			return true
		}
	}
	return false
}

// stop returns where a box that begins at start ends along axis i.
func (b *boxes) stop(i int, start int64) int64 {
	end, most := b.region[i].Stop, int64(0)
	if i == b.cut {
		most = b.most
	}
	if end-start <= most {
		return end
	}
	axis := b.grid.Axis(i)
	// End at the last border of a chunk within most elements. If there is none, take one
	// chunk.
	for _, at := range []int64{start + most, start} {
		k, _, _ := axis.Locate(at)
		c, _ := axis.Cell(k)
		if c.Start > start {
			return c.Start
		}
		if at == start {
			return min(end, c.Start+c.Logical)
		}
	}
	return end
}
