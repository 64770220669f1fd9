package engine

import (
	"context"
	"errors"
	"io/fs"

	"varve.dev/zarr/store"
)

// A part is read by itself where it is a small part of a chunk that is not small.
const (
	largeChunk = 256 << 10 // bytes
	smallPart  = 8         // one in so many bytes of the chunk
	partFactor = 4         // bytes that are held to get one that is wanted, at most
)

// partly reports whether the part is to be read without the rest of a chunk of n bytes.
func (w *worker) partly(n int64) bool {
	return n >= largeChunk && w.Chain.Partial() && w.part.Len() <= n/int64(w.Size)/smallPart
}

// readPart reads the part of a chunk to its place, from one version of the stored chunk.
// It is false where there is no such chunk.
func (w *worker) readPart(ctx context.Context) (bool, error) {
	weight, err := w.bytes.Acquire(ctx, partFactor*w.part.Len()*int64(w.Size))
	if err != nil {
		return false, err
	}
	defer w.bytes.Release(weight)
	object, err := store.Open(ctx, w.Store, w.key)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	w.examine(object.Info())
	err = w.Chain.DecodePart(ctx, w.placed, w.cell.Encoded, w.part.Part, source{object})
	return true, errors.Join(err, object.Close())
}

// source shows an object of a store to codecs.
type source struct{ store.Object }

func (s source) Size() int64 { return s.Info().Size }

func (s source) Read(ctx context.Context, off, n int64, dst []byte) ([]byte, error) {
	return s.Object.Read(ctx, store.Request{Range: store.Span(off, n)}, dst)
}
