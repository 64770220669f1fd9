package engine

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store"
)

// fewCells is the number of cells up to which it is cheaper to ask for each than to list the array.
const fewCells = 512

// Stored yields the indices of the cells of the box that are stored, in no order. The slice is reused.
func (a *Array) Stored(ctx context.Context, cells grid.Box) iter.Seq2[[]int64, error] {
	if n, ok := cells.Len(); ok && n <= fewCells {
		return a.probed(ctx, cells)
	}
	return func(yield func([]int64, error) bool) {
		index := make([]int64, 0, a.Grid.Rank())
		for e, err := range store.List(ctx, a.Store, a.Path, true) {
			if errors.Is(err, store.ErrUnsupported) {
				a.probed(ctx, cells)(yield)
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if at, ok := a.Keys.ParseKey(e.Name, a.Grid.Rank(), index); ok && cells.Contains(at) && !yield(at, nil) {
				return
			}
		}
	}
}

// probed asks for every cell.
func (a *Array) probed(ctx context.Context, cells grid.Box) iter.Seq2[[]int64, error] {
	return func(yield func([]int64, error) bool) {
		for index := range cells.Indices() {
			found, err := store.Exists(ctx, a.Store, a.Key(index))
			if err != nil {
				yield(nil, &ChunkError{a.Key(index).String(), slices.Clone(index), err})
				return
			}
			if found && !yield(index, nil) {
				return
			}
		}
	}
}

// Delete removes the stored chunks of the box.
func (a *Array) Delete(ctx context.Context, cells grid.Box, batch store.Batch) error {
	for index, err := range a.Stored(ctx, cells) {
		if err == nil {
			err = batch.Delete(ctx, a.Key(index))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Clear sets what the stored chunks of the box hold beyond the shape valid to the fill value. Chunks without such
// elements are read and left as they are, and so are damaged ones: no old value comes back from those.
func (a *Array) Clear(ctx context.Context, cells grid.Box, valid []int64, batch store.Batch) error {
	next, stop := iter.Pull2(a.Stored(ctx, cells))
	defer stop()
	var failed error
	r := a.newRun(cells, math.MaxInt64)
	err := each(ctx, r.workers,
		func(w *writer) bool {
			index, err, more := next()
			if err != nil {
				failed = err
			}
			copy(w.part.Chunk, index)
			return more && err == nil
		},
		func() *writer { return &writer{newWorker(r), batch, valid} },
		func(ctx context.Context, w *writer) error { return w.fail(w.clear(ctx)) })
	return errors.Join(failed, err)
}

// clear rewrites one chunk if it holds anything beyond the valid shape.
func (w *writer) clear(ctx context.Context) error {
	n, err := w.begin()
	if err != nil {
		return err
	}
	weight, err := w.bytes.Acquire(ctx, n*int64(2+w.Chain.Buffers()))
	if err != nil {
		return err
	}
	defer w.bytes.Release(weight)
	defer w.lock().Unlock()
	found, buffer, err := w.decode(ctx, n, nil)
	defer buffer.Put()
	if errors.Is(err, codec.ErrCorrupt) {
		return nil
	}
	if err != nil || !found || !w.clearTail() {
		return err
	}
	return w.put(ctx, w.chunk, n)
}
