// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Reading configures a read.
type Reading struct {
	// Zeroed means that the caller's block holds zeros.
	Zeroed bool
	// Since is the last time at which the caller checked the document. Chunks that were
	// written earlier fit the grid.
	Since time.Time
}

// Read fills dst, a view that [selection.Resolved.Place] made, with the selected
// elements. Elements of chunks that are not stored get the fill value. After an error the
// contents of dst are undefined.
func (a *Array) Read(ctx context.Context, sel *selection.Resolved, dst strided.View, how Reading) (Suspicion, error) {
	if sel.Len() == 0 {
		return Certain, ctx.Err()
	}
	plan := selection.NewPlan(sel, a.Grid)
	r := a.newReading(sel.Touched(a.Grid), sel.Len())
	r.since = how.Since
	// If the fill value is zero, chunks that are not stored need no writes to a block of
	// zeros.
	skipFill := how.Zeroed && strided.AllEqual(a.Fill, []byte{0})
	err := each(ctx, r.workers,
		func(w *worker) bool { return plan.Next(w.Visit) },
		func() *worker { return newWorker(r) },
		func(ctx context.Context, w *worker) error {
			err := w.read(ctx, dst, skipFill)
			if err == nil && dst.Heap.Full() {
				err = fmt.Errorf("%w: the elements have more bytes than a block may have", codec.ErrRoom)
			}
			return w.fail(err)
		})
	return Suspicion(r.suspicion.Load()), err
}

// read reads the part of one chunk into dst.
func (w *worker) read(ctx context.Context, dst strided.View, skipFill bool) error {
	n, err := w.begin()
	w.Into(dst)
	if w.Chain.Divided() {
		return w.readDivided(ctx, skipFill)
	}
	if err != nil {
		return w.readHuge(ctx, err, skipFill)
	}
	var room []byte // the part's memory in dst, if it is a whole, contiguous chunk
	if data, ok := w.Placed.Bytes(); ok && int64(len(data)) == n && w.IsWhole() && w.Chain.InOrder() {
		room = data
	}
	if room == nil && w.partly(n) {
		found, err := w.readPart(ctx)
		// If the part is corrupt, the chunk may still have its old shape. The whole
		// chunk, or the one that is set aside, decides.
		if !errors.Is(err, codec.ErrCorrupt) {
			return w.orFill(found, err, skipFill)
		}
	}
	found, err := w.orAside(func() (bool, error) {
		if w.Chain.Plain() {
			return w.readPlain(ctx, n, room)
		}
		return w.readEncoded(ctx, n, room)
	})
	if found && err == nil {
		w.examine(w.info)
	}
	return w.orFill(found, err, skipFill)
}

// readPlain reads a chunk of n bytes that is not encoded into room. If room is nil, it
// reads only the part into its place.
func (w *worker) readPlain(ctx context.Context, n int64, room []byte) (bool, error) {
	weight := n
	if room != nil {
		weight = 0
	}
	weight, err := w.bytes.Acquire(ctx, weight)
	if err != nil {
		return false, err
	}
	defer w.bytes.Release(weight)
	found, buffer, err := w.decodePlain(ctx, n, room)
	defer buffer.Put()
	if found && err == nil && room == nil {
		w.Gather()
	}
	return found, err
}

// readEncoded is readPlain for an encoded chunk. In flight, the chunk takes memory only
// for its stored bytes. It takes memory for its elements once it has a core. So many
// chunks can be in flight while few are decoded.
func (w *worker) readEncoded(ctx context.Context, n int64, room []byte) (bool, error) {
	s, err := w.fetchWithin(ctx, n)
	defer s.release(w.bytes)
	if err != nil || s.data == nil {
		return false, err
	}
	w.cores.Enter()
	defer w.cores.Leave()
	if w.Chain.Varies() {
		return true, w.readText(ctx, n, room, s.data)
	}
	return true, w.decodeWithin(ctx, w.decodeWeight(n, room != nil), n, room, s.data)
}

// readText decodes a chunk whose elements differ in length. It retries with more memory
// until they fit.
func (w *worker) readText(ctx context.Context, n int64, room, src []byte) error {
	defer func() { w.text = 0 }()
	return w.Chain.Grow(src, func(text int64) error {
		w.text = text
		return w.decodeWithin(ctx, w.decodeWeight(n, room != nil)+w.Chain.TextWeight(text), n, room, src)
	})
}

// decodeWithin decodes the stored bytes of a chunk into room. If room is nil, it decodes
// only the part into its place. It takes weight bytes of the budget. The caller holds a
// core.
func (w *worker) decodeWithin(ctx context.Context, weight, n int64, room, src []byte) error {
	weight, err := w.bytes.AcquireMore(ctx, weight)
	if err != nil {
		return err
	}
	defer w.bytes.ReleaseMore(weight)
	w.within = room == nil
	buffer, err := w.decodeData(ctx, n, room, src)
	w.within = false
	defer buffer.Put()
	if err == nil && room == nil {
		w.Gather()
	}
	return err
}

// readHuge reads a part of a chunk that is too large to decode, if the part can be read
// by itself or the chunk is not stored. Otherwise it returns tooLarge.
func (w *worker) readHuge(ctx context.Context, tooLarge error, skipFill bool) error {
	_, countable := checked.Product(append(slices.Clone(w.Cell.Encoded), int64(w.Size))...)
	if countable && w.partial() && w.Part.Len() <= w.MaxChunk/partFactor/int64(w.Size) {
		found, err := w.readPart(ctx)
		return w.orFill(found, err, skipFill)
	}
	// A chunk that is not stored reads as fill values, regardless of its size.
	stored, err := store.Exists(ctx, w.Store, w.key)
	if err == nil && stored {
		err = tooLarge
	}
	return w.orFill(stored, err, skipFill)
}
