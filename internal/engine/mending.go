// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/store"
)

// Mend restores the damaged index of the stored shard at index, which must be a chunk of
// the grid. It replaces exactly the version that it has read, and reports whether it did:
// not if the index is sound. If it is not proven what the index was, the error is a
// [codec.ErrCorrupt]. In a store without conditional writes it is [store.ErrUnsupported].
func (a *Array) Mend(ctx context.Context, index []int64, b store.Batch) (mended bool, err error) {
	r := a.newRun(grid.BoxOf(a.Grid.Chunks()), 1)
	w := r.newWriter(Writing{Batch: b})
	copy(w.Visit.Chunk, index)
	mended, err = w.mend(ctx)
	return mended, w.fail(err)
}

// mend restores the index of the shard.
func (w *writer) mend(ctx context.Context) (mended bool, err error) {
	_, _ = w.begin() // ignore the limit: inner chunks are decoded one at a time
	err = w.holdingJust(ctx, w.editWeight(), func() error {
		return w.again(func() error {
			out, _, err := w.encodeOver(ctx, w.key, w.editWeight(), w.asStored(coding.Edit{Mend: true}))
			if err != nil {
				return err
			}
			defer out.Release()
			if mended = !out.Same; !mended {
				return nil
			}
			// A plain write could replace the shard of a concurrent writer. A version
			// that is not known cannot be compared.
			if out.From.Version.IsZero() {
				return store.ErrUnsupported
			}
			return store.BatchPutIf(ctx, w.Batch, w.key, out.Fragments[0].Data, store.IfVersion(out.From.Version))
		})
	})
	return mended && err == nil, err
}
