// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/store"
)

// If a chunk is not encoded and exceeds the limit or half of the budget, a part of it is
// written without the rest. The store must splice or patch, so that readers see the old
// chunk or the new one.

// overwrites reports whether to write the part of a chunk of n bytes without the rest.
func (w *writer) overwrites(n int64, whole bool) bool {
	return !whole && n > w.budgetFor(n)/2 && w.mayOverwrite(ErrLimit) == nil
}

// mayOverwrite returns nil if the part can be written without the rest of the chunk.
// Otherwise it returns tooLarge with the reason and advice.
func (w *writer) mayOverwrite(tooLarge error) error {
	e := w.asStored(coding.Edit{})
	switch {
	case !w.Chain.Elementwise():
		return fmt.Errorf("%w; its codecs encode only whole chunks: raise the limit, or cut the array into shorter chunks", tooLarge)
	case !e.Splices && !e.Patches:
		return fmt.Errorf("%w; this store cannot change a part of a value: raise the limit", tooLarge)
	case w.Valid != nil:
		return fmt.Errorf("%w; while the array grows, chunks are written as a whole: raise the limit", tooLarge)
	case w.Picks != nil:
		return fmt.Errorf("%w; only boxes of such a chunk can be written, not lists, points or fields: select boxes, or raise the limit", tooLarge)
	case w.Part.Len() > max(w.MaxChunk, int64(len(w.Placed.Data)))/int64(w.Size):
		return fmt.Errorf("%w, and so has the part to fill; fill a smaller part, or raise the limit", tooLarge)
	}
	return nil
}

// overwrite writes the part of a chunk of n bytes without the rest. If the chunk is
// absent or corrupt, it writes the whole chunk, unless that is too large.
func (w *writer) overwrite(ctx context.Context, n int64, tooLarge error) error {
	if tooLarge != nil {
		if err := w.mayOverwrite(tooLarge); err != nil {
			return err
		}
	}
	err := w.holdingJust(ctx, 2*w.Part.Len()*int64(w.Size), func() error {
		return w.again(func() error { return w.overwriteOnce(ctx) })
	})
	absent := errors.Is(err, fs.ErrNotExist)
	switch {
	case tooLarge == nil && (absent || errors.Is(err, codec.ErrCorrupt)):
		return w.holding(ctx, w.writeWeight(n, false), func() error {
			return w.again(func() error { return w.change(ctx, n, false) })
		})
	case !absent:
		return err
	case w.deletes() && w.Placed.AllEqual(w.Fill):
		return nil // nothing is stored; a concurrent write counts as later
	}
	return fmt.Errorf("%w; it is not stored yet, and only parts of stored chunks can be written: raise the limit", tooLarge)
}

// overwriteOnce writes the part into the present version of the chunk.
func (w *writer) overwriteOnce(ctx context.Context) error {
	e := w.asStored(coding.Edit{Part: w.Part, Values: w.Placed})
	e.KeepFill = !w.deletes()
	src := w.source(w.key)
	out, err := w.Chain.Overwrite(ctx, w.work(span), e, src)
	_, closeErr := src.close()
	if err != nil {
		return err
	}
	defer out.Release()
	if closeErr != nil {
		return closeErr
	}
	// The rest of the chunk comes from this version. If a concurrent writer replaces it,
	// the write fails and is tried again.
	w.info, w.on = out.From, store.IfVersion(out.From.Version)
	if out.Empty {
		if err := w.remove(ctx); !errors.Is(err, store.ErrUnsupported) {
			return err
		}
	}
	if out.Patches != nil {
		return store.BatchPatch(ctx, w.Batch, w.key, out.From.Version, out.Patches)
	}
	return store.BatchSplice(ctx, w.Batch, w.key, out.From.Version, out.Fragments)
}
