// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"varve.dev/zarr/grid"
)

// Missing returns the indices of the chunks of the grid that are not stored, in C order.
func (a *Array) Missing(ctx context.Context) (iter.Seq[[]int64], error) {
	cells := grid.BoxOf(a.Grid.Chunks())
	n, ok := cells.Len()
	if !ok || n > MostVisited {
		return nil, fmt.Errorf("%w: the grid has %v chunks, and at most %d can be checked", ErrLimit, cells.Shape(), int64(MostVisited))
	}
	// One bit for each cell.
	stored := make([]uint64, (n+63)/64)
	for index, err := range a.Stored(ctx, cells) {
		if err != nil {
			return nil, err
		}
		k := numberIn(cells, index)
		stored[k/64] |= 1 << (k % 64)
	}
	return func(yield func([]int64) bool) {
		k := int64(0)
		for index := range cells.IndicesInto(make([]int64, len(cells))) {
			if stored[k/64]>>(k%64)&1 == 0 && !yield(slices.Clone(index)) {
				return
			}
			k++
		}
	}, nil
}

// numberIn returns the number of an index in the C order of a box.
func numberIn(cells grid.Box, index []int64) (k int64) {
	for i, in := range cells {
		k = k*in.Len() + index[i] - in.Start
	}
	return k
}
