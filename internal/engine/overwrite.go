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

// A part of a chunk that is not encoded is written without the rest of it where the chunk
// is too large to be held, or large beside the budget, and the store puts values together
// from their older version. Readers see the old chunk or the new one.

// overwrites reports whether the part of a chunk of n bytes is to be written without the
// rest: it is large beside the budget.
func (w *writer) overwrites(n int64, whole bool) bool {
	return !whole && n > w.budgetFor(n)/2 && w.mayOverwrite(ErrLimit) == nil
}

// mayOverwrite returns nil where the part of a chunk that is too large can be written
// without the rest, and otherwise the error of that with what to do.
func (w *writer) mayOverwrite(tooLarge error) error {
	e := w.asStored(coding.Edit{})
	switch {
	case !w.Chain.Elementwise():
		return fmt.Errorf("%w; its codecs code it as a whole: raise the limit, or cut the array into shorter chunks", tooLarge)
	case !e.Splices && !e.Patches:
		return fmt.Errorf("%w; this store cannot change a part of a value: raise the limit", tooLarge)
	case w.Valid != nil:
		return fmt.Errorf("%w; while the array grows it is written as a whole: raise the limit", tooLarge)
	case w.Picks != nil:
		return fmt.Errorf("%w; of such a chunk boxes are written, no lists, points or fields: select boxes, or raise the limit", tooLarge)
	case w.Part.Part.Len() > max(w.MaxChunk, int64(len(w.Placed.Data)))/int64(w.Size):
		return fmt.Errorf("%w, and so has the part of it that one value is to fill; fill a smaller one, or raise the limit", tooLarge)
	}
	return nil
}

// overwrite writes the part of a chunk of n bytes. Where the chunk does not take it as it
// is, it is written as a whole, unless it is too large.
func (w *writer) overwrite(ctx context.Context, n int64, tooLarge error) error {
	if tooLarge != nil {
		if err := w.mayOverwrite(tooLarge); err != nil {
			return err
		}
	}
	err := w.holdingJust(ctx, 2*w.Part.Part.Len()*int64(w.Size), func() error {
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
		return nil // it stays as it is, and whoever writes it meanwhile does so after us
	}
	return fmt.Errorf("%w; it is not stored yet, and parts are written into stored chunks alone: raise the limit", tooLarge)
}

// deletes reports whether the chunk is deleted where it has nothing but the fill value.
func (w *writer) deletes() bool { return !w.KeepFill && !(w.Shared && w.Cell.IsBoundary()) }

// overwriteOnce writes the part into the chunk as it is stored now.
func (w *writer) overwriteOnce(ctx context.Context) error {
	e := w.asStored(coding.Edit{Part: w.Part.Part, Values: w.Placed})
	e.KeepFill = !w.deletes()
	src := w.source(w.key)
	out, err := w.Chain.Overwrite(ctx, w.crew(span), e, src)
	_, closeErr := src.close()
	if err != nil {
		return err
	}
	defer out.Release()
	if closeErr != nil {
		return closeErr
	}
	w.info, w.on = out.From, store.IfVersion(out.From.Version)
	if out.Empty {
		if err := w.remove(ctx); !errors.Is(err, store.ErrUnsupported) {
			return err
		}
	}
	if out.Patches != nil {
		return store.BatchPatch(ctx, w.Batch, w.key, out.From.Version, out.Patches)
	}
	return store.BatchSplice(ctx, w.Batch, w.key, out.From.Version, out.Pieces)
}
