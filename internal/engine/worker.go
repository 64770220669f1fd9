// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/transfer"
	"varve.dev/zarr/store"
)

// worker is the state of one goroutine, which handles one chunk at a time.
type worker struct {
	*run
	*transfer.Mover
	key   store.Key
	info  store.Info // of the stored chunk that was read last
	names []byte     // memory of keys, which saves one allocation for each key

	within bool  // decode only the part
	text   int64 // room in bytes for elements of variable length; 0 is MaxChunk
}

func newWorker(r *run) *worker {
	return &worker{run: r, Mover: transfer.NewMover(r.Grid.Rank(), r.Size)}
}

// begin sets the cell and the key of the chunk, and returns the bytes of the decoded
// chunk. If these exceed the limit, it sets both and returns an error.
func (w *worker) begin() (int64, error) {
	w.Grid.Cell(w.Visit.Chunk, w.Cell)
	w.key = w.cutKey()
	return w.ChunkBytes(w.Cell.Encoded)
}

// keyBlock is the largest size of the memory that keys are cut from, in bytes.
const keyBlock = 8 << 10

// cutKey returns the key of the chunk.
func (w *worker) cutKey() store.Key {
	// A key has the path, a prefix, and up to 20 characters for each number.
	longest := len(w.Path.String()) + 2 + 20*max(1, len(w.Visit.Chunk))
	if cap(w.names)-len(w.names) < longest {
		w.names = make([]byte, 0, max(longest, min(keyBlock, 4*cap(w.names))))
	}
	from := len(w.names)
	if dir := w.Path.String(); dir != "" {
		w.names = append(append(w.names, dir...), '/')
	}
	w.names = w.Keys.AppendKey(w.names, w.Visit.Chunk)
	key := w.names[from:] // never written again, so the unsafe string stays constant
	return store.Path{}.MustKey(unsafe.String(unsafe.SliceData(key), len(key)))
}

// fail adds the chunk to err.
func (w *worker) fail(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, codec.ErrRoom) {
		err = fmt.Errorf("%w: %w (Limits.Chunk and Limits.Block); read a part, or raise the limits for trusted data", ErrLimit, err)
	}
	return &ChunkError{w.key.String(), slices.Clone(w.Visit.Chunk), err}
}
