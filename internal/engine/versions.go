// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"math"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/store"
)

// Listed is a stored chunk in a listing.
type Listed struct {
	Index []int64 // overwritten by the next one
	Info  store.Info
}

// Versions yields all values with keys of chunks, also beyond the extent, with their
// sizes and versions, in no order. It lists, so a store that knows versions in listings
// needs few requests. A store that cannot list is asked for each chunk of the grid, if
// there are at most [MostVisited].
func (a *Array) Versions(ctx context.Context) iter.Seq2[Listed, error] {
	cells := make(grid.Box, a.Grid.Rank())
	for i := range cells {
		cells[i].Stop = math.MaxInt64
	}
	return func(yield func(Listed, error) bool) {
		l := &lister{Array: a, cells: cells, index: make([]int64, 0, a.Grid.Rank()), versions: true}
		l.yield = func(index []int64, _ error) bool {
			info := store.Info{Size: l.entry.Size, Version: l.entry.Version, Modified: l.entry.Modified}
			return yield(Listed{index, info}, nil)
		}
		err := l.list(ctx, "", 0)
		if errors.Is(err, store.ErrUnsupported) {
			a.asked(ctx, grid.BoxOf(a.Grid.Chunks()))(yield)
			return
		}
		if err != nil && !errors.Is(err, errStop) {
			yield(Listed{}, err)
		}
	}
}

// asked asks for the version of every chunk of the box.
func (a *Array) asked(ctx context.Context, cells grid.Box) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		if err := Visitable(cells); err != nil {
			yield(Listed{}, err)
			return
		}
		for index := range cells.IndicesInto(make([]int64, len(cells))) {
			info, err := store.Stat(ctx, a.Store, a.Key(index))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if !yield(Listed{index, info}, err) || err != nil {
				return
			}
		}
	}
}
