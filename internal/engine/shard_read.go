// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/store"
)

// block returns the number of bytes of a chunk to read at a time, or 0 for all.
func (a *Array) block() int64 {
	if a.Block == 0 && a.near() {
		return nearBlock
	}
	return a.Block
}

// work returns the resources of a codec call that holds the given bytes of the budget.
func (w *worker) work(bytes int64) *coding.Work {
	work := &coding.Work{Cores: w.cores, Bytes: bytes, Requests: w.concurrency(), Span: span, Small: farSmall, Guess: farGuess, Observer: w.Observer, Key: w.key}
	if w.Chain.Varies() {
		work.Memory = w.bytes
	}
	work.Gap = min(mostGap, max(leastGap, farCost/int64(work.Requests)))
	if work.Block = w.block(); w.near() {
		work.Gap, work.Small, work.Guess = nearGap, nearGap, 0
	}
	if w.Gap != 0 {
		work.Gap = max(0, w.Gap)
		work.Small, work.Guess = min(work.Small, work.Gap), min(work.Guess, work.Gap)
	}
	if w.Span != 0 {
		work.Span = w.Span
	}
	return work
}

// readDivided reads the part of a shard into its place.
func (w *worker) readDivided(ctx context.Context, skipFill bool) error {
	found, err := w.decodePart(ctx, coding.Extract{Shape: w.Cell.Encoded, Part: w.Part, Into: w.Placed, Whole: w.IsWhole(), Zeroed: skipFill})
	return w.orFill(found, err, skipFill)
}

// decodePart decodes a part of the chunk. If the chunk is corrupt, it decodes the one
// that is set aside. It returns false if the chunk is not stored.
func (w *worker) decodePart(ctx context.Context, p coding.Extract) (bool, error) {
	weight, _, err := w.reserve(ctx, func() int64 { return min(w.Chain.Fetched(p), w.most) })
	if err != nil {
		return false, err
	}
	defer w.bytes.Release(weight)
	return w.decodePartIn(ctx, weight, p)
}

// decodePartIn is decodePart with weight bytes of the budget.
func (w *worker) decodePartIn(ctx context.Context, weight int64, p coding.Extract) (bool, error) {
	found, err := w.decodePartOf(ctx, w.key, weight, p)
	if !errors.Is(err, codec.ErrCorrupt) {
		return found, err
	}
	info := w.info
	// Between steps 2 and 3 of a reshape, or after a crash there, the key has the shard
	// in its old shape.
	p.Zeroed = false // the failed attempt may have written to the place of the part
	moved, asideErr := w.decodePartOf(ctx, w.aside(), weight, p)
	w.info = info
	if asideErr != nil || !moved {
		return false, err
	}
	return true, nil
}

func (w *worker) decodePartOf(ctx context.Context, key store.Key, weight int64, p coding.Extract) (bool, error) {
	src := w.source(key)
	err := w.Chain.DecodePart(ctx, w.work(weight), p, src)
	info, closeErr := src.close()
	w.info = info
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	w.examine(info)
	return true, closeErr
}

// decodeDivided is decodeStored for a shard.
func (w *worker) decodeDivided(ctx context.Context, n int64, room []byte) (bool, *budget.Buffer, error) {
	heap := w.heapFor(room)
	room, buffer := roomFor(n, room)
	w.Show(room, heap)
	p := coding.Extract{Shape: w.Cell.Encoded, Part: everything(w.Cell.Encoded), Into: w.Decoded, Whole: true}
	found, err := w.decodePartOf(ctx, w.key, n, p)
	if err == nil && room == nil && heap.Full() {
		err = fmt.Errorf("%w: the elements of a chunk of shape %v have more bytes than a chunk may have (Limits.Chunk)", ErrLimit, w.Cell.Encoded)
	}
	if err != nil || !found {
		buffer.Put()
		return false, nil, err
	}
	return true, buffer, nil
}
