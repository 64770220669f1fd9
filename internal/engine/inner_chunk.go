// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"io/fs"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
)

// ReadPart fills dst with a part of one shard, which may reach beyond the array. Elements
// that are not stored are the fill value.
func (a *Array) ReadPart(ctx context.Context, index []int64, part strided.Part, dst []byte, heap *strided.Heap, how Reading) (Suspicion, error) {
	w := a.inChunk(index)
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
	w := a.inChunk(index)
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
	w := a.inChunk(index)
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

// inChunk returns a worker for the shard at index, which must be a chunk of the grid.
func (a *Array) inChunk(index []int64) *worker {
	w := newWorker(a.newRun(boxAt(index), 1))
	copy(w.Chunk, index)
	w.begin() // ignore the limit, because only parts are decoded
	return w
}

// boxAt returns the box of one index.
func boxAt(index []int64) grid.Box {
	box := make(grid.Box, len(index))
	for i, at := range index {
		box[i] = grid.Interval{Start: at, Stop: at + 1}
	}
	return box
}

func (a *Array) editPart(ctx context.Context, index []int64, e coding.Edit, batch store.Batch) error {
	w := a.inChunk(index)
	v := &writer{worker: w, Writing: Writing{Batch: batch, KeepFill: a.KeepFill, Plain: true}}
	weight, err := w.bytes.Acquire(ctx, v.editWeight())
	if err != nil {
		return w.fail(err)
	}
	defer w.bytes.Release(weight)
	turn, err := w.lock(ctx)
	if err != nil {
		return w.fail(err)
	}
	defer turn.Release(1)
	return w.fail(v.again(func() error { return v.edit(ctx, weight, e, true) }))
}
