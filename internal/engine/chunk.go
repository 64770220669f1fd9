// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// workerAt returns a worker for the chunk at index, which must be a chunk of the grid,
// and the bytes of the decoded chunk.
func (a *Array) workerAt(index []int64) (*worker, int64, error) {
	w := newWorker(&run{Array: a, bytes: budget.New(1), cores: coding.NewCores(), workers: 1})
	copy(w.Visit.Chunk, index)
	n, err := w.begin()
	return w, n, w.fail(err)
}

// LoadChunk returns the elements of one chunk in its encoded shape, or nil if it is not
// stored. They have no variable length.
func (a *Array) LoadChunk(ctx context.Context, index []int64) ([]byte, error) {
	w, n, err := a.workerAt(index)
	if err != nil {
		return nil, err
	}
	found, buffer, err := w.decode(ctx, n, nil)
	defer buffer.Put()
	if err != nil || !found {
		return nil, w.fail(err)
	}
	data := make([]byte, n)
	strided.Copy(strided.Contiguous(data, w.Cell.Encoded, a.Size), w.Decoded)
	return data, nil
}

// ReadChunk fills dst with the elements of one chunk in its encoded shape, or with the
// fill value if it is not stored. Elements of variable length are added to the heap.
func (a *Array) ReadChunk(ctx context.Context, index []int64, dst []byte, heap *strided.Heap, how Reading) (Suspicion, error) {
	w, n, err := a.workerAt(index)
	if err != nil {
		return Certain, err
	}
	w.since, w.Target.Heap = how.Since, heap
	room := dst
	// The codecs reorder axes, so decode to a buffer and copy from it.
	if !w.Chain.InOrder() {
		room = nil
	}
	found, buffer, err := w.decode(ctx, n, room)
	defer buffer.Put()
	switch {
	case err != nil:
		return Certain, w.fail(err)
	case !found:
		w.suspect(Missing)
		if a.RequireChunks {
			return Missing, w.fail(ErrMissing)
		}
		strided.FillBytes(dst, a.Fill)
	case room == nil:
		w.examine(w.info)
		into := strided.Contiguous(dst, w.Cell.Encoded, a.Size)
		into.Heap = heap
		strided.Copy(into, w.Decoded)
	default:
		w.examine(w.info)
	}
	return Suspicion(w.suspicion.Load()), nil
}

// WriteChunk stores the elements of one chunk in its encoded shape.
func (a *Array) WriteChunk(ctx context.Context, index []int64, src []byte, heap *strided.Heap, batch store.Batch) error {
	w, n, err := a.workerAt(index)
	if err != nil {
		return err
	}
	turn, err := w.lock(ctx)
	if err != nil {
		return w.fail(err)
	}
	defer turn.Release(1)
	v := w.newWriter(Writing{Batch: batch, Plain: true})
	v.worker = w
	elements := strided.Contiguous(src, w.Cell.Encoded, a.Size)
	elements.Heap = heap
	return w.fail(v.put(ctx, elements, n))
}

// ReadEncoded returns the stored bytes of one chunk. It returns [fs.ErrNotExist] if the
// chunk is not stored.
func (a *Array) ReadEncoded(ctx context.Context, index []int64) ([]byte, error) {
	w, n, err := a.workerAt(index)
	if err != nil {
		return nil, err
	}
	limit := w.Chain.MaxEncoded(w.Cell.Encoded, n)
	if w.Chain.Divided() {
		limit = 4*limit + minBudget // a shard may have many bytes that no index entry uses
	}
	src, err := w.fetch(ctx, limit, nil)
	if err == nil && src == nil {
		err = fs.ErrNotExist
	}
	return src, w.fail(err)
}

// WriteEncoded stores bytes as one chunk after checking that they decode.
func (a *Array) WriteEncoded(ctx context.Context, index []int64, src []byte, batch store.Batch) error {
	w, n, err := a.workerAt(index)
	if err != nil {
		return err
	}
	buffer := budget.Get(n)
	defer buffer.Put()
	w.Show(buffer.Bytes(n), w.Heap.New())
	start := coding.Start(w.Observer)
	err = w.Chain.Decode(&w.Decoded, src)
	if coding.Done(ctx, w.Observer, observe.Decode, w.key, n, start, err); err != nil {
		return w.fail(err)
	}
	turn, err := w.lock(ctx)
	if err != nil {
		return w.fail(err)
	}
	defer turn.Release(1)
	v := &writer{worker: w, Writing: Writing{Batch: batch}}
	w.beginRecord(ctx, w.Decoded)
	return w.fail(v.make(ctx, store.Put(w.key, slices.Clip(src))))
}

// ReadPart fills dst with a part of one shard, which may reach beyond the array. Elements
// that are not stored are the fill value.
func (a *Array) ReadPart(ctx context.Context, index []int64, part strided.Part, dst []byte, heap *strided.Heap, how Reading) (Suspicion, error) {
	w := a.shardWorker(index)
	w.since = how.Since
	into := strided.Contiguous(dst, part.Count, a.Size)
	into.Heap = heap
	found, err := w.decodePart(ctx, coding.Extract{Shape: w.Cell.Encoded, Part: part, Into: into})
	if err != nil {
		return Certain, w.fail(err)
	}
	if !found {
		w.suspect(Missing)
		if a.RequireChunks {
			return Missing, w.fail(ErrMissing)
		}
		strided.FillBytes(dst, a.Fill)
	}
	return Suspicion(w.suspicion.Load()), nil
}

// WritePart stores the elements of a part of one shard.
func (a *Array) WritePart(ctx context.Context, index []int64, part strided.Part, src []byte, heap *strided.Heap, batch store.Batch) error {
	values := strided.Contiguous(src, part.Count, a.Size)
	values.Heap = heap
	return a.editPart(ctx, index, coding.Edit{Part: part, Values: values}, batch)
}

// WriteEncodedInner stores bytes as one inner chunk of a shard, after checking that they
// decode to it.
func (a *Array) WriteEncodedInner(ctx context.Context, index, inner []int64, src []byte, batch store.Batch) error {
	w := a.shardWorker(index)
	w.cores.Enter()
	err := w.Chain.CheckInner(ctx, w.work(0), w.Cell.Encoded, inner, src)
	w.cores.Leave()
	if err != nil {
		return w.fail(err)
	}
	return a.editPart(ctx, index, coding.Edit{Index: inner, Encoded: src}, batch)
}

// ReadEncodedInner returns the stored bytes of one inner chunk of a shard. It returns
// [fs.ErrNotExist] if they are not stored.
func (a *Array) ReadEncodedInner(ctx context.Context, index, inner []int64) ([]byte, error) {
	w := a.shardWorker(index)
	src := w.source(w.key)
	data, err := w.Chain.EncodedInner(ctx, w.work(minBudget), w.Cell.Encoded, inner, src, nil)
	if _, closeErr := src.close(); err == nil {
		err = closeErr
	}
	if err == nil && data == nil {
		err = fs.ErrNotExist
	}
	return data, w.fail(err)
}

// shardWorker returns a worker for the shard at index, which must be a chunk of the grid.
func (a *Array) shardWorker(index []int64) *worker {
	w := newWorker(a.newRun(BoxAt(index), 1))
	copy(w.Chunk, index)
	w.begin() // ignore the limit, because only parts are decoded
	return w
}

// BoxAt returns the box of one index.
func BoxAt(index []int64) grid.Box {
	box := make(grid.Box, len(index))
	for i, at := range index {
		box[i] = grid.Interval{Start: at, Stop: at + 1}
	}
	return box
}

func (a *Array) editPart(ctx context.Context, index []int64, e coding.Edit, batch store.Batch) error {
	w := a.shardWorker(index)
	v := &writer{worker: w, Writing: Writing{Batch: batch, KeepFill: a.KeepFill, Plain: true}}
	return w.fail(w.hold(ctx, v.editWeight(), func(weight int64) error {
		return v.retry(func() error { return v.edit(ctx, weight, e, true) })
	}))
}

// Places returns where the encoded inner chunks of the shard at index are, or nil if it
// is not stored. It takes one request.
func (a *Array) Places(ctx context.Context, index []int64) (*coding.Places, error) {
	w := a.shardWorker(index)
	src := w.source(w.key)
	p, err := w.Chain.Places(ctx, w.work(minBudget), w.Cell.Encoded, src)
	if _, closeErr := src.close(); err == nil {
		err = closeErr
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return p, w.fail(err)
}
