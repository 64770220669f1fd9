package engine

import (
	"context"

	"varve.dev/zarr/internal/coding"
)

// A part is read by itself where it is a small part of a chunk that is not small, or a
// part of one that is read in blocks.
const (
	largeChunk = 256 << 10 // bytes
	smallPart  = 8         // one in so many bytes of the chunk
	partFactor = 4         // bytes that are held to get one that is wanted, at most,
	partSpan   = 4 << 20   // and that are held in any case
)

// partly reports whether the part is to be read without the rest of a chunk of n bytes,
// or without holding all of it.
func (w *worker) partly(n int64) bool {
	if block := w.block(); block > 0 && w.Picks == nil {
		return n > block && w.partial()
	}
	return n >= largeChunk && w.partial() && w.Part.Len() <= n/int64(w.Size)/smallPart
}

// partial reports whether parts can be read by themselves: of whole elements.
func (w *worker) partial() bool {
	return w.Chain.Partial() && (w.Picks == nil || w.Picks.Windows == nil)
}

// readPart reads the part of a chunk to its place, from one version of the stored chunk.
// It is false where there is no such chunk.
func (w *worker) readPart(ctx context.Context) (bool, error) {
	held := w.block()
	if held == 0 {
		held = max(partSpan, partFactor*w.Part.Len()*int64(w.Size))
	}
	weight, err := w.bytes.Acquire(ctx, held)
	if err != nil {
		return false, err
	}
	defer w.bytes.Release(weight)
	return w.decodePartOf(ctx, w.key, weight, coding.Extract{Shape: w.Cell.Encoded, Part: w.Part.Part, Into: w.Placed})
}
