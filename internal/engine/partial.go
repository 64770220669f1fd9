package engine

import (
	"context"

	"varve.dev/zarr/codec"
)

// A part is read by itself where it is a small part of a chunk that is not small.
const (
	largeChunk = 256 << 10 // bytes
	smallPart  = 8         // one in so many bytes of the chunk
	partFactor = 4         // bytes that are held to get one that is wanted, at most
)

// partly reports whether the part is to be read without the rest of a chunk of n bytes.
func (w *worker) partly(n int64) bool {
	return n >= largeChunk && w.Picks == nil && w.Chain.Partial() && w.Part.Len() <= n/int64(w.Size)/smallPart
}

// readPart reads the part of a chunk to its place, from one version of the stored chunk.
// It is false where there is no such chunk.
func (w *worker) readPart(ctx context.Context) (bool, error) {
	weight, err := w.bytes.Acquire(ctx, partFactor*w.Part.Len()*int64(w.Size))
	if err != nil {
		return false, err
	}
	defer w.bytes.Release(weight)
	return w.decodePartOf(ctx, w.key, weight, codec.Part{Shape: w.Cell.Encoded, Part: w.Part.Part, Into: w.Placed})
}
