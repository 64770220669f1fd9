// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"iter"
	"math"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store"
)

// fewDeleted is the largest number of cells for which it is cheaper to delete each than
// to list the stored ones.
const fewDeleted = 64

// Delete removes the stored chunks of the box.
func (a *Array) Delete(ctx context.Context, cells grid.Box, batch store.Batch) error {
	// Deleting a few keys, stored or not, costs less than a listing.
	if n, ok := cells.Len(); ok && n <= fewDeleted {
		for index := range cells.IndicesInto(make([]int64, len(cells))) {
			if _, err := batch.Write(ctx, store.Delete(a.Key(index))); err != nil {
				return err
			}
		}
		return nil
	}
	for index, err := range a.Stored(ctx, cells) {
		if err == nil {
			_, err = batch.Write(ctx, store.Delete(a.Key(index)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Claim writes every chunk of the box, stored or not. Elements within the shape how.Valid
// stay, and all others become the fill value.
func (a *Array) Claim(ctx context.Context, cells grid.Box, how Writing) error {
	next, stop := iter.Pull(cells.IndicesInto(make([]int64, len(cells))))
	defer stop()
	r := a.newRun(cells, math.MaxInt64)
	return each(ctx, r.workers,
		func(w *writer) bool {
			index, more := next()
			copy(w.Visit.Chunk, index)
			return more
		},
		func() *writer { return r.newWriter(how) },
		func(ctx context.Context, w *writer) error { return w.fail(w.claim(ctx)) })
}

// claim is Claim for one chunk.
func (w *writer) claim(ctx context.Context) error {
	n, err := w.begin()
	// A shard is changed without decoding all of it, so the limit does not matter.
	if w.Chain.Divided() {
		return w.keepOnly(ctx, true)
	}
	if err != nil {
		return err
	}
	return w.holdGrowing(ctx, n*int64(2+w.Chain.Buffers()), func() error {
		buffer, err := w.load(ctx, n, true)
		defer buffer.Put()
		if err != nil {
			return err
		}
		return w.putDecoded(ctx, n)
	})
}

// Clear sets all elements beyond the shape valid to the fill value, in the stored chunks
// of the box. It reads these chunks, and rewrites those that have other values there. It
// skips damaged chunks, because readers cannot see their elements.
func (a *Array) Clear(ctx context.Context, cells grid.Box, valid []int64, batch store.Batch) error {
	r := a.newRun(cells, math.MaxInt64)
	return eachIndex(ctx, r.workers, a.Stored(ctx, cells), (*writer).moveTo,
		func() *writer { return r.newWriter(Writing{Batch: batch, Valid: valid}) },
		func(ctx context.Context, w *writer) error { return w.fail(w.clear(ctx)) })
}

// clear is Clear for one chunk.
func (w *writer) clear(ctx context.Context) error {
	n, err := w.begin()
	// A shard is changed without decoding all of it, so the limit does not matter.
	if w.Chain.Divided() {
		if err := w.keepOnly(ctx, false); !errors.Is(err, codec.ErrCorrupt) {
			return err
		}
		return nil
	}
	if err != nil {
		return err
	}
	return w.holdGrowing(ctx, n*int64(2+w.Chain.Buffers()), func() error {
		found, buffer, err := w.decode(ctx, n, nil)
		defer buffer.Put()
		if errors.Is(err, codec.ErrCorrupt) {
			return nil // readers cannot see its elements either
		}
		if err != nil || !found || !w.clearTail() {
			return err
		}
		// If a concurrent writer replaces this version, the write fails.
		w.condition = store.IfVersion(w.info.Version)
		return w.putDecoded(ctx, n)
	})
}
