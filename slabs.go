// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"iter"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
)

// Slabs splits a selection into selections that follow each other in C order. Each has at
// most limit bytes of elements, but at least one element. Reading them one by one streams
// the selection. Slabs end at chunk boundaries if possible, or at those of inner chunks
// if a chunk has more bytes than that. So few chunks are read twice. A nil selection is
// the whole array.
func (a *Array) Slabs(sel selection.Selection, limit int64) (iter.Seq[selection.Selection], error) {
	r, err := a.Select(sel)
	if err != nil {
		return nil, err
	}
	var within []*grid.Grid
	if inner := a.Inner(); inner != nil {
		if g, err := inner.Grid(); err == nil { // else slabs end at the borders of shards alone
			within = append(within, g)
		}
	}
	return func(yield func(selection.Selection) bool) {
		for slab := range r.Slabs(a.Grid(), int64(a.state.Load().Engine.Size), limit, within...) {
			if !yield(r.Part(slab)) {
				return
			}
		}
	}, nil
}
