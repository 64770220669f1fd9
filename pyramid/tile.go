// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"context"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/access"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/selection"
)

// tile is a chunk of a level in memory. Only the elements within the array are kept.
type tile struct {
	box  grid.Box
	view strided.View
	left int // tiles below that are not made yet

	// below has the elements that the tile is made of, if chunks of the level below cut
	// blocks. Then the tile is made when all of them are there.
	below   *strided.View
	buffers []*budget.Buffer
}

// room returns memory for the elements of a box.
func (t *tile) room(box grid.Box, size int) strided.View {
	n, _ := box.Len()
	b := budget.Get(n * int64(size))
	t.buffers = append(t.buffers, b)
	return strided.Contiguous(b.Bytes(n*int64(size)), box.Shape(), size)
}

// free returns the memory of a tile.
func (t *tile) free() {
	for _, b := range t.buffers {
		b.Put()
	}
}

// target looks at the document of level k, to which tiles are written from then on. No
// other program writes to levels.
func (w *work) target(ctx context.Context, k int) (err error) {
	w.targets[k], err = access.Of(w.arrays[k]).Fresh(ctx)
	return err
}

// write stores a tile of level k. If all its elements are the fill value, there is no
// chunk.
func (w *work) write(ctx context.Context, k int, t *tile) error {
	to := w.targets[k]
	box, err := selection.Resolve(t.box, to.Grid.Shape())
	if err == nil {
		err = to.Engine.Write(ctx, box, t.view, engine.Writing{Batch: w.batch, Plain: true})
	}
	if err != nil {
		return access.Of(w.arrays[k]).Fail("write", err)
	}
	w.count()
	return nil
}
