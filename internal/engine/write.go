package engine

import (
	"context"
	"hash/maphash"
	"sync"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Write stores the elements of src, whose shape is that of the selection with every axis kept, into the batch.
// A chunk that the selection covers is not read. While an array grows, valid is the
// shape that it has had so far: whatever a chunk holds beyond it counts as fill value. Otherwise it is nil,
// and what a chunk holds beyond the array stays as it is.
// Chunks that come to hold only the fill value are deleted unless they are to be kept.
//
// Several writers of one chunk in this process take turns; in several processes the last one wins.
func (a *Array) Write(ctx context.Context, sel *selection.Resolved, src grid.View, valid []int64, batch store.Batch) error {
	if sel.Len() == 0 {
		return ctx.Err()
	}
	plan := selection.NewPlan(sel, a.Grid)
	r := a.newRun(plan.Touched(), sel.Len())
	return each(ctx, r.workers,
		func(w *writer) bool { return plan.Next(w.part) },
		func() *writer { return &writer{newWorker(r), batch, valid} },
		func(ctx context.Context, w *writer) error { return w.fail(w.write(ctx, src)) })
}

// writer is a worker that changes chunks.
type writer struct {
	*worker
	batch store.Batch
	valid []int64
}

// turns are the locks under which writers of one chunk take turns; a key always has the same one. There are so many
// that writers of different chunks hardly ever share one.
var (
	turns [8192]sync.Mutex
	seed  = maphash.MakeSeed()
)

// lock waits for this process's turn to change the chunk.
func (w *worker) lock() *sync.Mutex {
	m := &turns[maphash.String(seed, w.key.String())%uint64(len(turns))]
	m.Lock()
	return m
}

func (w *writer) write(ctx context.Context, src grid.View) error {
	n, err := w.begin()
	if err != nil {
		return err
	}
	w.place(src)
	whole := w.wholeChunk()
	weight, err := w.bytes.Acquire(ctx, w.writeWeight(n, whole))
	if err != nil {
		return err
	}
	defer w.bytes.Release(weight)
	if whole && !w.cell.IsBoundary() {
		defer w.lock().Unlock()
		return w.put(ctx, w.placed, n)
	}
	defer w.lock().Unlock()
	buffer, err := w.load(ctx, n, !whole)
	defer buffer.Put()
	if err != nil {
		return err
	}
	w.take()
	grid.Copy(w.taken, w.placed)
	return w.put(ctx, w.chunk, n)
}

// writeWeight returns the bytes that writing a chunk takes besides the caller's memory.
func (w *writer) writeWeight(n int64, whole bool) int64 {
	weight := int64(0)
	if _, inPlace := w.placed.Bytes(); !whole || !inPlace || w.cell.IsBoundary() {
		weight = n
	}
	if !w.Chain.Plain() {
		weight += n * int64(1+w.Chain.Buffers())
	}
	return weight
}

// load makes w.chunk show the chunk as it is, or nothing but fill value where it is not to be read or not stored.
func (w *writer) load(ctx context.Context, n int64, read bool) (*budget.Buffer, error) {
	if read && w.overlapsValid() {
		found, buffer, err := w.decode(ctx, n, nil)
		if err != nil {
			return nil, err
		}
		if found {
			w.clearTail()
			return buffer, nil
		}
	}
	buffer := budget.Get(n)
	w.show(buffer.Bytes(n))
	grid.FillBytes(w.chunk.Data, w.Fill)
	return buffer, nil
}

// overlapsValid reports whether the chunk holds elements of the published array.
func (w *writer) overlapsValid() bool {
	for i, n := range w.valid {
		if w.cell.Start[i] >= n {
			return false
		}
	}
	return true
}

// clearTail sets what the decoded chunk holds beyond the published array to the fill value,
// and reports whether anything else was there. Without a shape that is valid nothing is beyond it.
func (w *writer) clearTail() bool {
	if w.valid == nil {
		return false
	}
	keep := make(grid.Box, len(w.valid))
	inside := true
	for i, start := range w.cell.Start {
		keep[i] = grid.Interval{Stop: min(w.cell.Encoded[i], w.valid[i]-start)}
		inside = inside && keep[i].Stop == w.cell.Encoded[i]
	}
	if inside {
		return false
	}
	changed := false
	for beyond := range grid.BoxOf(w.cell.Encoded).Subtract(keep) {
		if tail := w.chunk.Sub(beyond); !tail.AllEqual(w.Fill) {
			grid.Fill(tail, w.Fill)
			changed = true
		}
	}
	return changed
}

// put stores the elements that v shows as the chunk, n bytes decoded.
func (w *writer) put(ctx context.Context, v grid.View, n int64) error {
	if !w.KeepFill && v.AllEqual(w.Fill) {
		return w.batch.Delete(ctx, w.key)
	}
	if w.Chain.Plain() {
		return w.putPlain(ctx, v, n)
	}
	encoded := budget.Get(w.Chain.MaxEncoded(w.cell.Encoded, n))
	defer encoded.Put()
	w.cores.enter()
	value, err := w.Chain.Encode(encoded.B, v)
	w.cores.leave()
	if err != nil {
		return err
	}
	return w.batch.Put(ctx, w.key, value)
}

// putPlain stores a chunk that is not encoded, from where it is if its elements stand in C order.
func (w *writer) putPlain(ctx context.Context, v grid.View, n int64) error {
	data, ok := v.Bytes()
	if !ok {
		buffer := budget.Get(n)
		defer buffer.Put()
		data = buffer.Bytes(n)
		grid.Copy(grid.Contiguous(data, v.Shape, v.Size), v)
	}
	return w.batch.Put(ctx, w.key, data)
}
