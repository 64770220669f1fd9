// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"context"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/strided"
)

// update makes the tiles that have changed, level by level. Each level is made of the
// level below, which has its new elements by then.
func (w *work) update(ctx context.Context) error {
	for k, level := range w.arrays {
		was := level.Shape()
		if err := w.resize(ctx, k); err != nil {
			return err
		}
		if err := w.target(ctx, k); err != nil {
			return err
		}
		if err := w.redo(ctx, k, was); err != nil {
			return err
		}
	}
	return nil
}

// resize gives level k the extent that it has to have. It grows by appends, axis by axis,
// so that readers see new elements only once they are written.
func (w *work) resize(ctx context.Context, k int) error {
	level, shape := w.arrays[k], w.grids[k].Shape()
	smaller, shrinks := level.Shape(), false
	for i, n := range shape {
		shrinks = shrinks || n < smaller[i]
		smaller[i] = min(n, smaller[i])
	}
	if shrinks {
		if err := level.Resize(ctx, smaller, &zarr.ResizeOptions{Shrink: grid.TrimEdges}); err != nil {
			return err
		}
	}
	from := w.source(k)
	for i, n := range shape {
		if err := w.grow(ctx, level, from, i, n); err != nil {
			return err
		}
	}
	return nil
}

// grow appends to a level until an axis has the given extent.
func (w *work) grow(ctx context.Context, level *zarr.Array, from *source, axis int, extent int64) error {
	now := level.Shape()
	if now[axis] >= extent {
		return nil
	}
	shape := now
	shape[axis] = extent
	if slices.Contains(shape, 0) {
		return level.Resize(ctx, shape, nil) // there are no elements
	}
	region := grid.BoxOf(shape)
	region[axis].Start = level.Shape()[axis]
	src := &zarr.Source{Shape: region.Shape(), Read: func(ctx context.Context, box grid.Box, dst []byte) error {
		there := make(grid.Box, len(box))
		for i, in := range box {
			there[i] = grid.Interval{Start: in.Start + region[i].Start, Stop: in.Stop + region[i].Start}
		}
		return from.derive(ctx, w.reducer, there, strided.Contiguous(dst, box.Shape(), w.size()))
	}}
	how := &zarr.AppendOptions{Grow: edgesOf(from.grid.Axis(axis)), Expect: level.Shape()}
	if level.Grid().Axis(axis).IsRegular() {
		how.Grow = grid.AppendOne()
	}
	return level.AppendFrom(ctx, axis, src, how)
}

// redo makes tiles of level k again. was is its shape before it grew: tiles beyond it are
// new, and appended already.
func (w *work) redo(ctx context.Context, k int, was []int64) error {
	workers, err := w.updaters(k)
	if err != nil {
		return err
	}
	group, ctx := parallel.New(ctx)
	group.SetLimit(workers)
	from, old := w.source(k), grid.BoxOf(was)
	for n := range w.dirty[k] {
		if ctx.Err() != nil {
			break
		}
		box := boxOf(w.grids[k], indexOf(w.grids[k], n))
		first := make([]int64, len(box))
		if box.First(first); !old.Contains(first) {
			w.count()
			continue
		}
		group.Go(func() error { return w.remake(ctx, k, from, box) })
	}
	return group.Wait(nil)
}

// remake makes one tile of level k.
func (w *work) remake(ctx context.Context, k int, from *source, box grid.Box) error {
	t := &tile{box: box}
	t.view = t.room(box, w.size())
	defer t.free()
	if err := from.derive(ctx, w.reducer, box, t.view); err != nil {
		return err
	}
	return w.write(ctx, k, t)
}

// updaters returns how many goroutines make tiles of level k again.
func (w *work) updaters(k int) (int, error) {
	each := w.updated(k)
	if each <= 0 {
		return 0, errTooLarge
	}
	return w.workers(each, 0)
}

// updated returns the bytes that a goroutine holds to make tiles of level k again: one of
// them, and a piece of the level below. It is 0 if they overflow.
func (w *work) updated(k int) int64 {
	tile, ok := w.tileBytes(k)
	piece, fine := w.source(k).longestPiece(w.reducer, longest(w.grids[k]), w.size())
	if !ok || !fine {
		return 0
	}
	return max(0, tile+piece)
}
