package engine

import (
	"context"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
)

// Read fills dst, whose shape is that of the selection with every axis kept, with the selected elements. Chunks that are
// not stored are the fill value. zeroed tells that dst holds zeros already.
//
// After an error dst may hold anything.
func (a *Array) Read(ctx context.Context, sel *selection.Resolved, dst grid.View, zeroed bool) error {
	if sel.Len() == 0 {
		return ctx.Err()
	}
	plan := selection.NewPlan(sel, a.Grid)
	r := a.newRun(plan.Touched(), sel.Len())
	skipFill := zeroed && grid.AllEqual(a.Fill, []byte{0})
	return each(ctx, r.workers,
		func(w *worker) bool { return plan.Next(w.part) },
		func() *worker { return newWorker(r) },
		func(ctx context.Context, w *worker) error { return w.fail(w.read(ctx, dst, skipFill)) })
}

// read reads the part of one chunk to its place in dst.
func (w *worker) read(ctx context.Context, dst grid.View, skipFill bool) error {
	n, err := w.begin()
	w.place(dst)
	if err != nil {
		return w.readHuge(ctx, err, skipFill)
	}
	var room []byte // the part's own place, where it has the shape of the chunk
	if data, ok := w.placed.Bytes(); ok && int64(len(data)) == n && w.wholeChunk() && w.Chain.InOrder() {
		room = data
	}
	weight, err := w.bytes.Acquire(ctx, w.readWeight(n, room))
	if err != nil {
		return err
	}
	defer w.bytes.Release(weight)
	found, buffer, err := w.decode(ctx, n, room)
	defer buffer.Put()
	switch {
	case err != nil:
		return err
	case !found && !skipFill:
		grid.Fill(w.placed, w.Fill)
	case found && room == nil:
		w.take()
		grid.Copy(w.placed, w.taken)
	}
	return nil
}

// readWeight returns the bytes that reading a chunk takes besides the caller's memory.
func (w *worker) readWeight(n int64, room []byte) int64 {
	weight := int64(0)
	if room == nil {
		weight = n
	}
	if !w.Chain.Plain() {
		weight += w.guess(n)
	}
	return weight
}

// readHuge reads a chunk that is too large to be decoded: it is the fill value, or the error stands.
func (w *worker) readHuge(ctx context.Context, tooLarge error, skipFill bool) error {
	absent, err := w.absent(ctx)
	if err != nil {
		return err
	}
	if !absent {
		return tooLarge
	}
	if !skipFill {
		grid.Fill(w.placed, w.Fill)
	}
	return nil
}
