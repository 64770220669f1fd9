// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"io/fs"
	"slices"

	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// at returns a worker for the chunk at index, which must be a chunk of the grid, and the
// bytes of the decoded chunk.
func (a *Array) at(index []int64) (*worker, int64, error) {
	w := newWorker(&run{Array: a, bytes: budget.New(1), cores: coding.NewCores(), workers: 1})
	copy(w.Visit.Chunk, index)
	n, err := w.begin()
	return w, n, w.fail(err)
}

// ReadChunk fills dst with the elements of one chunk in its encoded shape, or with the
// fill value if it is not stored. Elements of variable length are added to the heap.
func (a *Array) ReadChunk(ctx context.Context, index []int64, dst []byte, heap *strided.Heap, how Reading) (Suspicion, error) {
	w, n, err := a.at(index)
	if err != nil {
		return Certain, err
	}
	w.since, w.Placed.Heap = how.Since, heap
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
	w, n, err := a.at(index)
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
	w, n, err := a.at(index)
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
	w, n, err := a.at(index)
	if err != nil {
		return err
	}
	buffer := budget.Get(n)
	defer buffer.Put()
	w.Show(buffer.Bytes(n), w.Heap.New())
	start := observe.Start(w.Observer)
	err = w.Chain.Decode(&w.Decoded, src)
	if observe.Done(ctx, w.Observer, observe.Decode, w.key, n, start, err); err != nil {
		return w.fail(err)
	}
	turn, err := w.lock(ctx)
	if err != nil {
		return w.fail(err)
	}
	defer turn.Release(1)
	return w.fail(batch.Put(ctx, w.key, slices.Clip(src)))
}
