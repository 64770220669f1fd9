// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"errors"
	"io/fs"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// Writing configures a write.
type Writing struct {
	Batch store.Batch
	// Valid is the published shape while the array grows. Whatever a chunk holds beyond
	// it counts as fill value. If Valid is nil, elements beyond the array stay.
	Valid []int64
	// KeepFill stores chunks that hold only the fill value. Otherwise they are deleted,
	// unless the array keeps them.
	KeepFill bool
	// Shared means that a concurrent writer may grow the array, and may already have
	// stored elements in chunks that reach beyond it. Such chunks are always read before
	// they are written, and never deleted.
	Shared bool
	// FirstAlone stores the first chunk before all others.
	FirstAlone bool
	// Plain says that the write publishes nothing. Then it deletes no chunk in a store
	// without locks; see remove.
	Plain bool
}

// writer is a worker that changes chunks.
type writer struct {
	*worker
	Writing
	on store.Condition // of the stored chunk that was read; zero if none was
}

func (r *run) newWriter(how Writing) *writer {
	how.KeepFill = how.KeepFill || r.KeepFill
	return &writer{worker: newWorker(r), Writing: how}
}

// writeTries is the number of attempts to write a part of a chunk that concurrent writers
// change.
const writeTries = 256

// holding calls do with the lock of the chunk and weight bytes of the budget. If
// elements of variable length do not fit, it calls do again with twice the room. It
// returns all bytes in between: waiting for more while holding some could deadlock with
// other workers.
func (w *writer) holding(ctx context.Context, weight int64, do func() error) error {
	if !w.Chain.Varies() {
		return w.holdingJust(ctx, weight, do)
	}
	defer func() { w.text = 0 }()
	for w.text = min(w.MaxChunk, firstText); ; w.text = min(w.MaxChunk, 2*w.text) {
		// The elements are in memory twice: decoded, and encoded again.
		err := w.holdingJust(ctx, weight+2*w.Chain.TextWeight(w.text), do)
		if !errors.Is(err, codec.ErrRoom) || w.text == w.MaxChunk {
			return err
		}
	}
}

// firstText is the first room, in bytes, for elements of variable length while a chunk is
// changed.
const firstText = 1 << 20

// holdingJust calls do once with the lock of the chunk and weight bytes of the budget.
func (w *writer) holdingJust(ctx context.Context, weight int64, do func() error) error {
	weight, err := w.bytes.Acquire(ctx, weight)
	if err != nil {
		return err
	}
	defer w.bytes.Release(weight)
	turn, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer turn.Release(1)
	return do()
}

// again calls do until it returns no [store.ErrConflict]. While the array grows, it calls
// do only once: the conflict is with another change of the array, so the caller has to
// plan again.
func (w *writer) again(do func() error) (err error) {
	for range writeTries {
		if err = do(); !errors.Is(err, store.ErrConflict) || w.Valid != nil {
			break
		}
	}
	return err
}

// writeWeight returns the bytes that writing a chunk takes besides the caller's memory.
func (w *writer) writeWeight(n int64, whole bool) int64 {
	weight := int64(0)
	if _, inPlace := w.Placed.Bytes(); !whole || !inPlace || w.Picks != nil || w.Cell.IsBoundary() {
		weight = n
	}
	if !w.Chain.Plain() {
		weight += n * int64(1+w.Chain.Buffers())
	}
	if w.Chain.Varies() {
		weight += 2 * w.Chain.TextWeight(w.Placed.ElementBytes()) // decoded and encoded
	}
	return weight
}

// load decodes the stored chunk to w.Decoded. If the chunk is not stored, or read is
// false, w.Decoded holds the fill value.
func (w *writer) load(ctx context.Context, n int64, read bool) (*budget.Buffer, error) {
	w.on = store.Condition{}
	if read && w.overlapsValid() {
		found, buffer, err := w.decode(ctx, n, nil)
		if err != nil {
			return nil, err
		}
		// If a concurrent writer creates or replaces the chunk from here on, the
		// conditional write fails, and the part is merged into the new version. A driver
		// may repeat the write: if the chunk has the bytes again with which the part was
		// merged, the result is still right.
		w.on = store.IfAbsent()
		if found {
			w.on = store.IfVersion(w.info.Version)
			w.clearTail()
			return buffer, nil
		}
	}
	buffer := budget.Get(n)
	w.Show(buffer.Bytes(n), w.Heap.New())
	strided.FillBytes(w.Decoded.Data, w.Fill)
	return buffer, nil
}

// overlapsValid reports whether the chunk holds elements of the published array.
func (w *writer) overlapsValid() bool {
	for i, n := range w.Valid {
		if w.Cell.Start[i] >= n {
			return false
		}
	}
	return true
}

// clearTail sets the elements of the decoded chunk beyond the shape Valid to the fill
// value, and reports whether any was different. A crashed writer may have left such
// elements, or a crash while the array shrank.
func (w *writer) clearTail() bool {
	if w.Valid == nil {
		return false
	}
	keep := make(grid.Box, len(w.Valid))
	inside := true
	for i, start := range w.Cell.Start {
		keep[i] = grid.Interval{Stop: min(w.Cell.Encoded[i], w.Valid[i]-start)}
		inside = inside && keep[i].Stop == w.Cell.Encoded[i]
	}
	if inside {
		return false // no element lies beyond Valid
	}
	changed := false
	for beyond := range grid.BoxOf(w.Cell.Encoded).Subtract(keep) {
		if tail := w.Decoded.Sub(beyond); !tail.AllEqual(w.Fill) {
			strided.Fill(tail, w.Fill)
			changed = true
		}
	}
	return changed
}

// put stores the elements of v as the chunk, n bytes decoded.
func (w *writer) put(ctx context.Context, v strided.View, n int64) error {
	return w.putView(ctx, v, n, false)
}

// putDecoded stores w.Decoded, n bytes. The caller must not use its elements again: their
// heap is released as soon as they are encoded.
func (w *writer) putDecoded(ctx context.Context, n int64) error {
	return w.putView(ctx, w.Decoded, n, true)
}

// putView is put. If last is set, the elements of v are not used again.
func (w *writer) putView(ctx context.Context, v strided.View, n int64, last bool) error {
	// Readers treat a chunk that is not stored as fill values, so delete it.
	if w.deletes() && v.AllEqual(w.Fill) {
		if err := w.remove(ctx); !errors.Is(err, store.ErrUnsupported) {
			return err
		}
	}
	if w.Chain.Plain() {
		return w.putPlain(ctx, v, n)
	}
	if w.Chain.Divided() {
		return w.putDivided(ctx, v, n)
	}
	w.cores.Enter()
	value, buffer, err := w.encoded(ctx, v, n, last)
	// Free the core during the request to the store.
	w.cores.Leave()
	defer buffer.Put()
	if err != nil {
		return err
	}
	return w.store(ctx, value)
}

// encoded returns the encoded form of the chunk, n bytes decoded, and its buffer; see
// [coding.Chain.EncodeNew]. The caller holds a core.
func (w *worker) encoded(ctx context.Context, v strided.View, n int64, last bool) ([]byte, strided.Loan, error) {
	start := observe.Start(w.Observer)
	value, buffer, err := w.Chain.EncodeNew(v, last)
	observe.Done(ctx, w.Observer, observe.Encode, w.key, n, start, err)
	return value, buffer, err
}

// putPlain stores a chunk that is not encoded, without a copy if its elements are in C
// order.
func (w *writer) putPlain(ctx context.Context, v strided.View, n int64) error {
	data, ok := v.Bytes()
	if !ok {
		buffer := budget.Get(n)
		defer buffer.Put()
		data = buffer.Bytes(n)
		strided.Copy(strided.Contiguous(data, v.Shape, v.Size), v)
	}
	return w.store(ctx, data)
}

// store stores the bytes of the chunk. It fails with [store.ErrConflict] if the store has
// conditional writes and a concurrent writer replaced the chunk after it was read.
func (w *writer) store(ctx context.Context, value []byte) error {
	// In a store without conditional writes, the last writer wins.
	if w.on != (store.Condition{}) {
		err := store.BatchPutIf(ctx, w.Batch, w.key, value, w.on)
		if !errors.Is(err, store.ErrUnsupported) {
			return err
		}
	}
	return w.Batch.Put(ctx, w.key, value)
}

// remove deletes the chunk. It fails with [store.ErrConflict] if the store has
// conditional deletes and a concurrent writer replaced the chunk. It returns
// [store.ErrUnsupported] if the caller has to store the fill value instead.
func (w *writer) remove(ctx context.Context) error {
	if w.on.Absent() {
		return nil // nothing is stored; a concurrent write counts as later
	}
	// If a chunk were deleted, a late append, which was planned before others appended
	// there, would store its own: it does so where no chunk is, and finds only then that
	// its document is not the present one.
	if w.Plain && w.Fenced {
		_, err := store.Stat(ctx, w.Store, w.key)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return cmp.Or(err, error(store.ErrUnsupported))
	}
	if v := w.on.Version(); !v.IsZero() {
		err := store.BatchDeleteIf(ctx, w.Batch, w.key, v)
		if _, conditional := store.As[store.ConditionalWriter](w.Store); conditional || !errors.Is(err, store.ErrUnsupported) {
			// A plain delete could remove the chunk of a concurrent writer. So a store
			// with conditional writes but without conditional deletes gets a chunk of
			// fill values.
			return err
		}
	}
	return w.Batch.Delete(ctx, w.key)
}

// deletes reports whether a chunk that holds only the fill value is deleted.
func (w *writer) deletes() bool { return !w.KeepFill && !(w.Shared && w.Cell.IsBoundary()) }

// change reads the chunk, sets the part, and stores the chunk.
func (w *writer) change(ctx context.Context, n int64, whole bool) error {
	buffer, err := w.load(ctx, n, !whole)
	defer buffer.Put()
	if err != nil {
		return err
	}
	w.Scatter()
	return w.putDecoded(ctx, n)
}
