// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"cmp"
	"math/bits"
	"slices"

	"varve.dev/zarr/internal/quantity"
)

// SafeWrites splits a region into at most n pieces that can be written concurrently. The
// pieces are disjoint, together make up the region, and no two of them touch the same
// chunk. There are fewer than n only if the region touches fewer chunks.
//
// The pieces have about the same number of elements and come in C order of their first
// elements. If an axis has at least n chunks, the first such axis is cut, and each piece
// is within one row of chunks of the ideal size. The time is O(n log runs), however many
// chunks there are.
//
// SafeWrites returns an error that wraps [ErrOutOfRange] if the region does not lie
// within the array, and [ErrInvalid] if n is below 1 or above 2^22. An empty region has
// no pieces.
func (g *Grid) SafeWrites(region Box, n int) ([]Box, error) {
	chunks, err := g.Touched(region)
	if err != nil {
		return nil, err
	}
	if n < 1 || n > mostRuns {
		return nil, invalid("a region is split into 1 to %s, not into %d", quantity.Count(mostRuns, "pieces"), n)
	}
	if slices.Contains(chunks.Shape(), 0) {
		return nil, nil
	}
	pieces := g.split(nil, region, chunks, n)
	slices.SortFunc(pieces, func(a, b Box) int {
		return slices.CompareFunc(a, b, func(a, b Interval) int { return cmp.Compare(a.Start, b.Start) })
	})
	return pieces, nil
}

// split appends the pieces of a region that touches the given chunks, of which there is
// at least one.
func (g *Grid) split(pieces []Box, region, chunks Box, n int) []Box {
	// axis is the first with enough chunks for all pieces, most the one with the most
	// chunks.
	axis, most := -1, 0
	for i, in := range chunks {
		if axis < 0 && in.Len() >= int64(n) {
			axis = i
		}
		if in.Len() > chunks[most].Len() {
			most = i
		}
	}
	switch {
	case n == 1 || len(chunks) == 0 || chunks[most].Len() == 1:
		return append(pieces, slices.Clone(region))
	case axis >= 0:
		return g.slice(pieces, region, chunks, axis, n)
	}
	// No axis has n chunks: split each row across the longest axis separately.
	return g.rows(pieces, region, chunks, most, n)
}

// slice appends n pieces that are cut along one axis, which has at least n chunks. The
// cuts are at the boundaries nearest to equal parts.
func (g *Grid) slice(pieces []Box, region, chunks Box, axis, n int) []Box {
	a, in, k := g.axes[axis], region[axis], chunks[axis]
	from, last := in.Start, k.Start
	for j := 1; j <= n; j++ {
		piece := slices.Clone(region)
		// The last piece ends with the region.
		to := in.Stop
		if j < n {
			cut := a.nearest(in.Start + fraction(in.Len(), j, n))
			last = min(max(cut, last+1), k.Stop-int64(n-j)) // every piece has a chunk
			c, _ := a.Cell(last)
			to = c.Start
		}
		piece[axis] = Interval{from, to}
		pieces, from = append(pieces, piece), to
	}
	return pieces
}

// nearest returns the cell that starts nearest to an element of the array.
func (a Axis) nearest(element int64) int64 {
	k, within, _ := a.Locate(element)
	if c, _ := a.Cell(k); within > c.Edge-within {
		k++
	}
	return k
}

// fraction returns n·j/of without overflow. j must be below of.
func fraction(n int64, j, of int) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(j))
	q, _ := bits.Div64(hi, lo, uint64(of))
	return int64(q)
}

// rows splits each row of chunks across one axis separately. There are fewer rows than
// pieces.
func (g *Grid) rows(pieces []Box, region, chunks Box, axis, n int) []Box {
	in := chunks[axis]
	across := slices.Clone(chunks)
	across[axis] = Interval{0, 1}
	// A row has no more pieces than chunks.
	most, ok := across.Len()
	if !ok {
		most = int64(n)
	}
	rows := make([]Interval, 0, in.Len())
	for k := in.Start; k < in.Stop; k++ {
		c, _ := g.axes[axis].Cell(k)
		rows = append(rows, Interval{c.Start, c.Start + c.Logical}.Intersect(region[axis]))
	}
	for i, share := range shares(rows, n, most) {
		part, row := slices.Clone(region), slices.Clone(chunks)
		part[axis] = rows[i]
		// row has a single chunk along axis, so split cuts another axis.
		row[axis] = Interval{in.Start + int64(i), in.Start + int64(i) + 1}
		pieces = g.split(pieces, part, row, share)
	}
	return pieces
}

// shares spreads n pieces over rows so that the largest piece is as small as possible.
// Every row gets at least one piece and no more than most.
func shares(rows []Interval, n int, most int64) []int {
	type row struct {
		i     int
		piece float64 // elements per piece; 0 if the row takes no more
	}
	given := make([]int, len(rows))
	heap := make([]row, len(rows))
	// The weight of a row is the size of its pieces.
	weigh := func(i int) row {
		if int64(given[i]) >= most {
			return row{i, 0}
		}
		return row{i, float64(rows[i].Len()) / float64(given[i])}
	}
	for i := range rows {
		given[i] = 1
		heap[i] = weigh(i)
	}
	slices.SortStableFunc(heap, func(a, b row) int { return cmp.Compare(b.piece, a.piece) })
	// Each further piece goes to the row with the largest pieces, at the top of the heap.
	for left := n - len(rows); left > 0 && heap[0].piece > 0; left-- {
		given[heap[0].i]++
		heap[0] = weigh(heap[0].i)
		for k := 0; 2*k+1 < len(heap); {
			child := 2*k + 1
			if child+1 < len(heap) && heap[child+1].piece > heap[child].piece {
				child++
			}
			if heap[k].piece >= heap[child].piece {
				break
			}
			heap[k], heap[child] = heap[child], heap[k]
			k = child
		}
	}
	return given
}

// Align returns the smallest box of whole chunks that contains region, clipped to the
// array. Along an axis where region is empty the interval stays as it is. Align returns
// an error that wraps [ErrOutOfRange] if region does not lie within the array.
func (g *Grid) Align(region Box) (Box, error) {
	chunks, err := g.Touched(region)
	if err != nil {
		return nil, err
	}
	aligned := append(Box{}, region...)
	for i, in := range chunks {
		if in.Len() == 0 {
			continue
		}
		// From the start of the first chunk to the end of the last one within the array.
		first, _ := g.axes[i].Cell(in.Start)
		last, _ := g.axes[i].Cell(in.Stop - 1)
		aligned[i] = Interval{first.Start, last.Start + last.Logical}
	}
	return aligned, nil
}
