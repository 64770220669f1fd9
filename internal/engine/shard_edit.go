// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"io/fs"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
)

// Shards are read and written in parts. The codec chooses the ranges.

// edit changes the stored chunk. It fails with [store.ErrConflict] if the store has
// conditional writes and a concurrent writer replaced the chunk.
func (w *writer) edit(ctx context.Context, weight int64, e coding.Edit, read bool) error {
	out, err := w.encodePart(ctx, weight, w.asStored(e), read && w.overlapsValid())
	if err != nil {
		return err
	}
	defer out.Release()
	return w.storeEdited(ctx, out)
}

// asStored sets the fields of an edit that follow from the array and the store. A batch
// may lack a power of its store, as the batch of a fenced change does.
func (w *writer) asStored(e coding.Edit) coding.Edit {
	e.Shape, e.KeepFill = w.Cell.Encoded, w.Array.KeepFill
	_, splicer := store.As[store.Splicer](w.Store)
	_, splices := w.Batch.(store.SplicingBatch)
	_, patcher := store.As[store.Patcher](w.Store)
	_, patches := w.Batch.(store.PatchingBatch)
	e.Splices, e.Patches = splicer && splices, patcher && patches
	return e
}

// encodePart returns the chunk after an edit. If the stored chunk is corrupt, it returns
// an edit of the chunk that is set aside.
func (w *writer) encodePart(ctx context.Context, weight int64, e coding.Edit, read bool) (*coding.Revision, error) {
	w.on = store.Condition{}
	if !read {
		return w.Chain.EncodePart(ctx, w.work(weight), e, nil)
	}
	out, info, err := w.encodeOver(ctx, w.key, weight, e)
	if errors.Is(err, codec.ErrCorrupt) && info.Size > 0 {
		// A crash between steps 2 and 3 of a reshape left the new shard set aside.
		out, err = w.encodeAside(ctx, weight, e, info, err)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// If a concurrent writer creates the shard first, the write fails.
		w.on = store.IfAbsent()
		return w.Chain.EncodePart(ctx, w.work(weight), e, nil)
	case err != nil:
		return nil, err
	}
	// The revision is made from this version. If a concurrent writer replaces it, the
	// write fails and the edit is tried again.
	w.info, w.on = out.From, store.IfVersion(out.From.Version)
	return out, nil
}

// encodeAside returns the chunk that is set aside after an edit, to replace the corrupt
// version of info. If none is set aside, it returns corrupt.
func (w *writer) encodeAside(ctx context.Context, weight int64, e coding.Edit, info store.Info, corrupt error) (*coding.Revision, error) {
	e.Splices, e.Patches = false, false // ranges of the chunk aside are not at w.key
	out, _, err := w.encodeOver(ctx, w.aside(), weight, e)
	if err != nil {
		return nil, corrupt
	}
	out.From = info // replace the corrupt version, and only that
	return out, nil
}

// encodeOver returns the chunk at key after an edit, and which version of it was read.
func (w *writer) encodeOver(ctx context.Context, key store.Key, weight int64, e coding.Edit) (*coding.Revision, store.Info, error) {
	src := w.source(key)
	out, err := w.Chain.EncodePart(ctx, w.work(weight), e, src)
	info, closeErr := src.close()
	if err == nil && closeErr != nil {
		out.Release()
		return nil, info, closeErr
	}
	return out, info, err
}

// storeEdited stores a revision of the chunk.
func (w *writer) storeEdited(ctx context.Context, out *coding.Revision) error {
	switch {
	case out.Same:
		return nil
	case out.Empty && !w.KeepFill && !(w.Shared && w.Cell.IsBoundary()):
		// A boundary chunk of a shared array stays: it may have elements of an append in
		// flight.
		if err := w.remove(ctx); !errors.Is(err, store.ErrUnsupported) {
			return err
		}
	// Patches and splices refer to ranges of one version, so the store checks it.
	case out.Patches != nil:
		return store.BatchPatch(ctx, w.Batch, w.key, w.info.Version, out.Patches)
	case out.Spliced():
		return store.BatchSplice(ctx, w.Batch, w.key, w.info.Version, out.Fragments)
	}
	// A single new fragment is the whole value, so store it without a copy.
	if len(out.Fragments) == 1 {
		if data := out.Fragments[0].Data; data != nil {
			return w.store(ctx, data)
		}
	}
	b := budget.Get(out.Size)
	defer b.Put()
	b.B = out.AppendTo(b.B)
	return w.store(ctx, b.B)
}

// writeDivided writes the part of a shard.
func (w *writer) writeDivided(ctx context.Context, src strided.View) error {
	w.Into(src)
	// A boundary shard may have elements of an append in flight, so read it even if the
	// selection covers it.
	whole := w.Covers() && !(w.Shared && w.Cell.IsBoundary())
	e := coding.Edit{Part: w.Part, Values: w.Placed, Keep: w.keep()}
	bytes := w.editWeight()
	if !whole {
		bytes = w.partWeight(e.Part)
	}
	weight, err := w.bytes.Acquire(ctx, bytes)
	if err != nil {
		return err
	}
	defer w.bytes.Release(weight)
	turn, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer turn.Release(1)
	return w.again(func() error { return w.edit(ctx, weight, e, !whole) })
}

// editWeight estimates the bytes that a revision of the whole shard takes.
func (w *writer) editWeight() int64 {
	p := coding.Extract{Shape: w.Cell.Encoded, Part: everything(w.Cell.Encoded)}
	return 2 * w.Chain.Weight(p, cap(w.cores))
}

// smallEdit is the approximate memory, in bytes, for an edit of a small shard, which is
// read whole even if the store splices.
const smallEdit = 4 << 20

// partWeight is editWeight for a change of a part. If the store splices, the rest of the
// shard is not read.
func (w *writer) partWeight(part strided.Part) int64 {
	all := w.editWeight()
	if !w.asStored(coding.Edit{}).Splices {
		return all
	}
	return min(all, smallEdit+2*w.Chain.Weight(coding.Extract{Shape: w.Cell.Encoded, Part: part}, cap(w.cores)))
}

// keep returns the box of a stored chunk whose elements stay while the array grows, or
// nil if all of them stay.
func (w *writer) keep() grid.Box {
	if w.Valid == nil {
		return nil
	}
	keep := make(grid.Box, len(w.Valid))
	for i, start := range w.Cell.Start {
		keep[i].Stop = max(0, min(w.Cell.Encoded[i], w.Valid[i]-start))
	}
	return keep
}

// putDivided stores all elements of a shard.
func (w *writer) putDivided(ctx context.Context, v strided.View, n int64) error {
	e := coding.Edit{Shape: w.Cell.Encoded, Part: everything(w.Cell.Encoded), Values: v, KeepFill: w.Array.KeepFill}
	out, err := w.Chain.EncodePart(ctx, w.work(n), e, nil)
	if err != nil {
		return err
	}
	defer out.Release()
	out.Empty = false // putView has not removed it, so it must be stored
	return w.storeEdited(ctx, out)
}

// keepOnly sets all elements of a shard beyond the shape Valid to the fill value. If
// claim is set, it also stores a shard that is not stored.
func (w *writer) keepOnly(ctx context.Context, claim bool) error {
	weight, err := w.bytes.Acquire(ctx, w.editWeight())
	if err != nil {
		return err
	}
	defer w.bytes.Release(weight)
	turn, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer turn.Release(1)
	e := coding.Edit{Keep: w.keep(), Anew: claim}
	if claim {
		return w.edit(ctx, weight, e, true)
	}
	e = w.asStored(e)
	out, info, err := w.encodeOver(ctx, w.key, weight, e)
	if errors.Is(err, codec.ErrCorrupt) && info.Size > 0 {
		out, err = w.encodeAside(ctx, weight, e, info, err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a shard that is not stored has no old elements
	}
	if err != nil {
		return err
	}
	defer out.Release()
	w.info, w.on = out.From, store.IfVersion(out.From.Version)
	return w.storeEdited(ctx, out)
}
