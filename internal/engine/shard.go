// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"sync"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/quantity"
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
	e.Splices, e.Patches = w.can(store.OpSplice), w.can(store.OpPatch)
	return e
}

// can reports whether both the store and the batch make changes of a kind.
func (w *writer) can(op store.Op) bool {
	return w.Batch != nil && w.Batch.Can(op) && store.Can(w.Store, op)
}

// encodePart returns the chunk after an edit. If the stored chunk is corrupt, it returns
// an edit of the chunk that is set aside.
func (w *writer) encodePart(ctx context.Context, weight int64, e coding.Edit, read bool) (*coding.Revision, error) {
	w.condition = store.Condition{}
	w.beginEdit(ctx)
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
		w.condition = store.IfAbsent()
		return w.Chain.EncodePart(ctx, w.work(weight), e, nil)
	case err != nil:
		return nil, err
	}
	// The revision is made from this version. If a concurrent writer replaces it, the
	// write fails and the edit is tried again.
	w.info, w.condition = out.From, store.IfVersion(out.From.Version)
	return out, nil
}

// encodeAside returns the chunk that is set aside after an edit, to replace the corrupt
// version of info. If none is set aside, it returns corrupt.
func (w *writer) encodeAside(ctx context.Context, weight int64, e coding.Edit, info store.Info, corrupt error) (*coding.Revision, error) {
	e.Splices, e.Patches = false, false // ranges of the chunk aside are not at w.key
	w.record = nil                      // and nothing is known of that version
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

// beginEdit begins the record of an edit of the shard.
func (w *writer) beginEdit(ctx context.Context) {
	if w.beginRecord(ctx, strided.View{}); w.record == nil {
		return
	}
	for _, l := range w.layers {
		w.record.Take(l.Record, l.offset)
	}
}

// storeEdited stores a revision of the chunk.
func (w *writer) storeEdited(ctx context.Context, out *coding.Revision) error {
	w.from = out.From.Version
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
		return w.make(ctx, store.PatchValue(w.key, w.info.Version, out.Patches))
	case out.Spliced():
		return w.make(ctx, store.Splice(w.key, w.info.Version, out.Fragments))
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
	e := coding.Edit{Part: w.Part, Values: w.Target, Keep: w.keep()}
	bytes := w.editWeight()
	if !whole {
		bytes = w.partWeight(e.Part)
	}
	return w.hold(ctx, bytes, func(weight int64) error {
		return w.retry(func() error { return w.edit(ctx, weight, e, !whole) })
	})
}

// editWeight estimates the bytes that a revision of the whole shard takes.
func (w *writer) editWeight() int64 {
	p := coding.Extract{Shape: w.Cell.Encoded, Part: wholePart(w.Cell.Encoded)}
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
	e := coding.Edit{Shape: w.Cell.Encoded, Part: wholePart(w.Cell.Encoded), Values: v, KeepFill: w.Array.KeepFill}
	w.beginEdit(ctx)
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
	return w.hold(ctx, w.editWeight(), func(weight int64) error {
		e := coding.Edit{Keep: w.keep(), Anew: claim}
		if claim {
			return w.edit(ctx, weight, e, true)
		}
		return w.editStored(ctx, weight, w.asStored(e))
	})
}

// editStored changes the stored chunk. If that is corrupt, it changes the chunk that is
// set aside instead. It does nothing if the chunk is not stored.
func (w *writer) editStored(ctx context.Context, weight int64, e coding.Edit) error {
	w.beginEdit(ctx)
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
	w.info, w.condition = out.From, store.IfVersion(out.From.Version)
	return w.storeEdited(ctx, out)
}

// Compacting configures [Array.Compact].
type Compacting struct {
	Batch store.Batch         // nil to only count
	Done  func(index []int64) // if not nil, called after every stored shard, one at a time
}

// Compacted is the result of compacting shards.
type Compacted struct {
	Chunks, Changed int64 // stored shards, and those that were not compact
	Before, After   int64 // bytes of all stored shards
}

// manyDamaged is the largest number of damaged chunks that an error names.
const manyDamaged = 8

// compaction is one call of Compact.
type compaction struct {
	*run
	how Compacting

	mu      sync.Mutex
	sum     Compacted
	damaged []error
	more    int64 // number of damaged chunks that are not in damaged
}

// Compact rewrites every stored shard of the box with its inner chunks in order and
// without gaps. It does not decode them. It leaves damaged shards alone, and at the end
// returns a [codec.ErrCorrupt] that names them.
func (a *Array) Compact(ctx context.Context, cells grid.Box, how Compacting) (Compacted, error) {
	c := &compaction{run: a.newRun(cells, math.MaxInt64), how: how}
	err := eachIndex(ctx, c.workers, a.mayBeStored(ctx, cells), (*writer).moveTo,
		func() *writer { return c.newWriter(Writing{Batch: how.Batch}) },
		func(ctx context.Context, w *writer) error { return c.chunk(ctx, w) })
	if c.more > 0 {
		c.damaged = append(c.damaged, fmt.Errorf("%w: %s", codec.ErrCorrupt, quantity.Count(c.more, "more chunks")))
	}
	return c.sum, errors.Join(append(c.damaged, err)...)
}

// mayBeStored yields the stored cells of the box. For a small box it yields all cells,
// because reading a missing chunk costs no more than asking whether it is stored.
func (a *Array) mayBeStored(ctx context.Context, cells grid.Box) iter.Seq2[[]int64, error] {
	if n, ok := cells.Len(); !ok || n > fewCells {
		return a.Stored(ctx, cells)
	}
	return func(yield func([]int64, error) bool) {
		for index := range cells.IndicesInto(make([]int64, len(cells))) {
			if !yield(index, nil) {
				return
			}
		}
	}
}

// mayBeStoredIn is mayBeStored for several boxes, one after the other.
func (a *Array) mayBeStoredIn(ctx context.Context, boxes []grid.Box) iter.Seq2[[]int64, error] {
	return func(yield func([]int64, error) bool) {
		for _, cells := range boxes {
			for index, err := range a.mayBeStored(ctx, cells) {
				if !yield(index, err) || err != nil {
					return
				}
			}
		}
	}
}

// chunk compacts one shard and adds the result.
func (c *compaction) chunk(ctx context.Context, w *writer) error {
	result, err := w.compact(ctx)
	if err == nil && !result.stored {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.sum.add(result)
	// Other errors end the call. A damaged shard stays as it is, and the others follow.
	case !errors.Is(err, codec.ErrCorrupt):
		return w.fail(err)
	case len(c.damaged) < manyDamaged:
		c.damaged = append(c.damaged, w.fail(err))
	default:
		c.more++
	}
	if c.how.Done != nil {
		c.how.Done(w.Visit.Chunk)
	}
	return nil
}

// shardResult is the result for one shard, with its bytes before and after.
type shardResult struct {
	stored, changed bool
	before, after   int64
}

func (c *Compacted) add(result shardResult) {
	c.Chunks++
	c.Before += result.before
	c.After += result.after
	if result.changed {
		c.Changed++
	}
}

// compact compacts the shard, or in a trial only measures it.
func (w *writer) compact(ctx context.Context) (result shardResult, err error) {
	_, _ = w.begin() // ignore the limit, because nothing is decoded
	e := w.asStored(coding.Edit{Compact: true})
	// A trial stores nothing, so it needs no bytes of inner chunks.
	e.Splices = e.Splices || w.Batch == nil
	err = w.hold(ctx, w.compactWeight(e), func(weight int64) error {
		if w.Batch == nil {
			weight = 0 // a trial reads no inner chunks
		}
		return w.retry(func() error {
			w.beginEdit(ctx)
			out, _, err := w.encodeOver(ctx, w.key, weight, e)
			if err != nil {
				return err
			}
			defer out.Release()
			result = shardResult{true, !out.Same, out.From.Size, out.Size}
			if out.Same || w.Batch == nil {
				return nil // compact already, or a trial
			}
			out.Empty = false // keep storing a shard that has no inner chunks
			w.info, w.condition = out.From, store.IfVersion(out.From.Version)
			return w.storeEdited(ctx, out)
		})
	})
	// The shard was not stored, or a concurrent writer has deleted it.
	if errors.Is(err, fs.ErrNotExist) {
		return shardResult{}, nil
	}
	return result, err
}

// compactWeight estimates the bytes of memory that compacting the shard takes. If the
// store splices, that is a few times the index. Some more memory avoids splicing small
// shards from many fragments.
func (w *writer) compactWeight(e coding.Edit) int64 {
	all := w.editWeight()
	if !e.Splices {
		return all
	}
	p := wholePart(w.Cell.Encoded)
	p.Count = p.Step // one element
	return min(all, 2*w.Chain.Weight(coding.Extract{Shape: w.Cell.Encoded, Part: p}, 1)+4*span)
}

// Mend restores the damaged index of the stored shard at index, which must be a chunk of
// the grid. It replaces exactly the version that it has read, and reports whether it did:
// not if the index is sound. If the original index is not proven, the error is a
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
	err = w.hold(ctx, w.editWeight(), func(int64) error {
		return w.retry(func() error {
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
			_, err = w.Batch.Write(ctx, store.PutIf(w.key, out.Fragments[0].Data, store.IfVersion(out.From.Version)))
			return err
		})
	})
	return mended && err == nil, err
}
