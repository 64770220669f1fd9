// SPDX-License-Identifier: Apache-2.0

package comparison

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/snapshot"
)

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
		n = product(n, k)
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

var errScattered = fmt.Errorf("%w: more than %d parts of the arrays are stored, far from each other: compare parts", engine.ErrLimit, mostTiles)

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
