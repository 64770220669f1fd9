// SPDX-License-Identifier: Apache-2.0

package comparison

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// stored returns, in C order, the tiles for which one of the arrays stores a chunk,
// within the shape that all have in common. It also reports whether reading these is
// enough: all arrays have the same fill value, and few tiles are stored.
//
// Otherwise the arrays are read as a whole. For a comparison this always ends: if the
// fill values differ, then at the latest at the first element that no array stores.
// Otherwise the elements are few, or at most sparseTiles times the stored ones.
//
// The result belongs to the states that it returns: arrays may have become newer since
// they were looked at.
func stored(ctx context.Context, width int64, arrays ...Array) (states []*snapshot.Array, boxes iter.Seq[grid.Box], sparse bool, err error) {
	for range tries {
		states = nil
		var grids []*grid.Grid
		whole := false
		for _, a := range arrays {
			s := a.State()
			states, grids = append(states, s), append(grids, s.Grid)
			// A missing chunk equals a missing chunk only if both arrays read it as the
			// same value.
			whole = whole || a.Complete || !slices.Equal(s.Fill, states[0].Fill)
		}
		t := tilesOf(comparedBytes/width, grids...)
		if whole || t.len() <= fewTiles {
			return states, nil, false, nil
		}
		numbers, sparse, err := t.ofStored(ctx, arrays, states)
		if errors.Is(err, store.ErrUnsupported) {
			return states, nil, false, visitable(states...)
		}
		if err != nil {
			return nil, nil, false, err
		}
		// A concurrent writer may have published another grid, whose chunks have other
		// keys.
		if same, err := unchanged(ctx, arrays, states); err != nil {
			return nil, nil, false, err
		} else if same {
			return states, func(yield func(grid.Box) bool) {
				for _, number := range numbers {
					if !yield(t.box(number)) {
						return
					}
				}
			}, sparse, nil
		}
	}
	return nil, nil, false, errUnsettled
}

// unchanged reports whether the states are the newest.
func unchanged(ctx context.Context, arrays []Array, states []*snapshot.Array) (bool, error) {
	for i, a := range arrays {
		if now, err := a.fresh(ctx, states[i]); err != nil || now != states[i] {
			return false, err
		}
	}
	return true, nil
}

// tries bounds how often the tiles are listed again because an array changed.
const tries = 16

// errUnsettled is the error if an array changed in each attempt.
var errUnsettled = fmt.Errorf("%w each time it was listed", store.ErrConflict)
