package zarr

import (
	"iter"

	"varve.dev/zarr/selection"
)

// Slabs cuts a selection into selections that follow each other in C order and have at most limit bytes of elements each,
// but at least one element: reading them one by one streams the selection, writing them fills it. They end at the borders
// of chunks where they can, so that few chunks are touched twice. A nil selection is the whole array.
func (a *Array) Slabs(sel selection.Selection, limit int64) (iter.Seq[selection.Selection], error) {
	r, err := a.Select(sel)
	if err != nil {
		return nil, err
	}
	return func(yield func(selection.Selection) bool) {
		for slab := range r.Slabs(a.Grid(), int64(a.state.Load().engine.Size), limit) {
			if !yield(r.Part(slab)) {
				return
			}
		}
	}, nil
}
