// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"math"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store"
)

// Restore stores the value at a key as the chunk at an index, unless the chunk that is
// stored there decodes. A writer that knew another grid has overwritten or deleted it.
func (a *Array) Restore(ctx context.Context, index []int64, from store.Key, batch store.Batch) error {
	w := a.newRun(grid.BoxOf(a.Grid.Chunks()), math.MaxInt64).newWriter(Writing{Batch: batch})
	copy(w.Visit.Chunk, index)
	return w.again(func() error { return w.restore(ctx, index, from) })
}

func (w *writer) restore(ctx context.Context, index []int64, from store.Key) error {
	n, err := w.begin()
	if err != nil {
		return w.fail(err)
	}
	found, buffer, err := w.decodeStored(ctx, n, nil)
	buffer.Put()
	switch {
	case errors.Is(err, codec.ErrCorrupt):
		return w.fetchAside(ctx, AsideChunk{from, index})
	case err != nil || found:
		return w.fail(err)
	}
	value, _, err := w.Store.Get(ctx, from, store.Request{}, nil)
	if err != nil {
		return w.fail(err)
	}
	w.on = store.IfAbsent()
	return w.fail(w.store(ctx, value))
}

// Discard deletes the chunk at an index unless it decodes.
func (a *Array) Discard(ctx context.Context, index []int64, batch store.Batch) error {
	w := a.newRun(grid.BoxOf(a.Grid.Chunks()), math.MaxInt64).newWriter(Writing{Batch: batch})
	copy(w.Visit.Chunk, index)
	return w.again(func() error {
		n, err := w.begin()
		if err != nil {
			return w.fail(err)
		}
		_, buffer, err := w.decodeStored(ctx, n, nil)
		if buffer.Put(); !errors.Is(err, codec.ErrCorrupt) {
			return w.fail(err)
		}
		w.on = store.IfVersion(w.info.Version)
		return w.fail(w.remove(ctx))
	})
}
