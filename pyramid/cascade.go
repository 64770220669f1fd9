// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strided"
)

// cascade makes all tiles of all levels. A tile is handed to the one above it, and
// written once it has got everything from below.
type cascade struct {
	work *work

	mu   sync.Mutex
	open []map[int64]*tile // of every level, by number
}

// cascade makes all tiles of all levels.
func (w *work) cascade(ctx context.Context) error {
	c := &cascade{work: w, open: make([]map[int64]*tile, len(w.grids))}
	for k := range c.open {
		c.open[k] = map[int64]*tile{}
	}
	workers, err := c.plan()
	if err != nil {
		return err
	}
	for k := range w.grids {
		if err := w.target(ctx, k); err != nil {
			return err
		}
	}
	group, ctx := parallel.New(ctx)
	group.SetLimit(workers)
	from := w.source(0)
	for _, index := range depthFirst(w.Reducer, w.grids, w.wanted[0]) {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			// A tile takes memory only when its goroutine begins, so the limit of
			// goroutines bounds the memory.
			t := c.newTile(0, index)
			if err := from.derive(ctx, w.Reducer, t.box, t.view); err != nil {
				return err
			}
			return c.finish(ctx, 0, t)
		})
	}
	return group.Wait(nil)
}

// plan returns how many goroutines make tiles. One more tile of every level waits for the
// tiles that come next.
func (c *cascade) plan() (int, error) {
	if slices.Contains(c.work.base.Shape(), 0) {
		return 1, nil // there are no tiles
	}
	each, above := c.each()
	if each <= 0 {
		return 0, errTooLarge
	}
	return c.work.workers(each, above)
}

// errTooLarge is the error of tiles whose bytes cannot be counted.
var errTooLarge = fmt.Errorf("%w: a tile has more bytes than 63 bits can count", zarr.ErrOverflow)

// each returns the bytes that a goroutine holds: a piece, and an unfinished tile of every
// level. above are those of the levels above the first. each is 0 if they overflow.
func (c *cascade) each() (each, above int64) {
	first, ok := c.work.tileBytes(0)
	piece, fine := c.work.source(0).longestPiece(c.work.Reducer, longest(c.work.grids[0]), c.work.size())
	for k := 1; k < len(c.work.grids); k++ {
		n, fits := c.unfinished(k)
		above += n
		ok = ok && fits && above >= 0
	}
	if each = first + piece + above; !ok || !fine || each < 0 {
		return 0, above
	}
	return each, above
}

// unfinished returns the bytes of an unfinished tile of level k.
func (c *cascade) unfinished(k int) (int64, bool) {
	n, ok := c.work.tileBytes(k)
	// Blocks that chunks of the level below cut can be folded only when all of their
	// elements are there. Such a tile keeps the elements below.
	if ok && c.cutsBlocks(k) {
		for _, f := range c.work.Block {
			n *= f // a block has few elements, see [reduction.MostBlock]
			ok = ok && n > 0
		}
		own, _ := c.work.tileBytes(k)
		n += own
	}
	return n, ok
}

// cutsBlocks reports whether chunks of the level below level k end within blocks.
func (c *cascade) cutsBlocks(k int) bool {
	for i, f := range c.work.Block {
		if !aligned(c.work.grids[k-1].Axis(i), f) {
			return true
		}
	}
	return false
}

// newTile returns a tile of level k.
func (c *cascade) newTile(k int, index []int64) *tile {
	t := &tile{box: boxOf(c.work.grids[k], index), left: c.work.wanted[k][strided.Number(c.work.grids[k], index)]}
	t.view = t.room(t.box, c.work.size())
	return t
}

// finish writes a tile that is made, and hands it to the tile above.
func (c *cascade) finish(ctx context.Context, k int, t *tile) error {
	defer t.free()
	if t.below != nil {
		c.work.Reduce(t.view, *t.below)
	}
	if err := c.work.write(ctx, k, t); err != nil {
		return err
	}
	// The last level has no tile above.
	if k+1 == len(c.work.grids) {
		return nil
	}
	up, number, err := c.above(k+1, t.box)
	if err != nil {
		return err
	}
	c.take(up, k+1, t)
	if c.isComplete(up, k+1, number) {
		return c.finish(ctx, k+1, up)
	}
	return nil
}

// above returns the tile of level k that a tile of the level below is a part of.
func (c *cascade) above(k int, box grid.Box) (*tile, int64, error) {
	cells, err := c.work.grids[k].Touched(c.work.Above(box))
	if n, _ := cells.Len(); err == nil && n != 1 {
		err = fmt.Errorf("pyramid: elements %v of level %d belong to %s", box, k, quantity.Count(n, "tiles"))
	}
	if err != nil {
		return nil, 0, err
	}
	index := make([]int64, len(cells))
	cells.First(index)
	number := strided.Number(c.work.grids[k], index)
	// Several tiles below may open the tile at once. Only the first one makes it.
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.open[k][number]
	if !ok {
		t = c.newTile(k, index)
		fill := t.view
		if c.cutsBlocks(k) {
			below := t.room(c.work.Below(t.box, c.work.grids[k-1].Shape()), c.work.size())
			t.below, fill = &below, below
		}
		// Tiles below that are not made have the fill value.
		strided.Fill(fill, c.work.present.Fill)
		c.open[k][number] = t
	}
	return t, number, nil
}

// take copies a finished tile below into its part of the tile. Other tiles below fill
// other parts at the same time.
func (c *cascade) take(t *tile, k int, below *tile) {
	if t.below != nil {
		from := c.work.Below(t.box, c.work.grids[k-1].Shape())
		strided.Copy(t.below.Sub(relative(below.box, from)), below.view)
		return
	}
	c.work.Reduce(t.view.Sub(relative(c.work.Above(below.box), t.box)), below.view)
}

// isComplete reports whether a tile has got everything from below. It is no longer open
// then.
func (c *cascade) isComplete(t *tile, k int, number int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	// The goroutine that brings the last part finishes the tile; no other one touches
	// it then.
	if t.left--; t.left > 0 {
		return false
	}
	delete(c.open[k], number)
	return true
}
