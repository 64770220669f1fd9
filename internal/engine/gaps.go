// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"iter"
	"slices"
)

// Missing returns the indices of those of the given chunks that are not stored, in C
// order.
func (a *Array) Missing(ctx context.Context, of Numbers) (iter.Seq[[]int64], error) {
	boxes, err := of.Boxes(a.Grid.Chunks())
	if err != nil {
		return nil, err
	}
	n := int64(0)
	for _, cells := range boxes {
		more, ok := cells.Len()
		if n += more; !ok || more > MostVisited || n > MostVisited {
			return nil, fmt.Errorf("%w: the grid has %v chunks, and at most %d can be checked", ErrLimit, a.Grid.Chunks(), int64(MostVisited))
		}
	}
	// One bit for each cell.
	stored := make([]uint64, (n+63)/64)
	begin := int64(0)
	for _, cells := range boxes {
		for index, err := range a.Stored(ctx, cells) {
			if err != nil {
				return nil, err
			}
			k := begin + numberIn(cells, index)
			stored[k/64] |= 1 << (k % 64)
		}
		more, _ := cells.Len()
		begin += more
	}
	return func(yield func([]int64) bool) {
		k := int64(0)
		for _, cells := range boxes {
			for index := range cells.IndicesInto(make([]int64, len(cells))) {
				if stored[k/64]>>(k%64)&1 == 0 && !yield(slices.Clone(index)) {
					return
				}
				k++
			}
		}
	}, nil
}
