// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"varve.dev/zarr/internal/coding"
)

// A part is read without the rest of its chunk if the chunk is large and the part small,
// or lies close together, or if the chunk is read in blocks.
const (
	largeChunk = 256 << 10 // smallest size of a large chunk, in bytes
	smallPart  = 8         // a small part has at most 1/smallPart of the chunk
	closePart  = 2         // a part that lies close together spans at most 1/closePart of it
	partFactor = 4         // largest number of bytes in memory for each byte of the part
	partSpan   = 4 << 20   // bytes in memory that are always permitted
)

// partly reports whether to read the part without the rest of a chunk of n bytes, or
// without holding all of it.
func (w *worker) partly(n int64) bool {
	if block := w.block(); block > 0 && w.Picks == nil {
		return n > block && w.partial()
	}
	elements := n / int64(w.Size)
	return n >= largeChunk && w.partial() &&
		(w.Part.Len() <= elements/smallPart || w.Chain.Hull(w.Cell.Encoded, w.Part) <= elements/closePart)
}

// partial reports whether parts can be read without the rest. Fields of structs cannot.
func (w *worker) partial() bool {
	return w.Chain.Partial() && (w.Picks == nil || w.Picks.Windows == nil)
}

// readPart reads the part of a chunk into its place, from one version of the chunk. It
// returns false if the chunk is not stored.
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
	return w.decodePartOf(ctx, w.key, weight, coding.Extract{Shape: w.Cell.Encoded, Part: w.Part, Into: w.Placed})
}
