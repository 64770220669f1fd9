// SPDX-License-Identifier: Apache-2.0

// Package engine moves elements between memory and stored chunks. It schedules reads and
// writes with a bounded number of goroutines, a budget of bytes, and pooled buffers. It
// handles the keys of chunks, but no metadata documents.
package engine

import (
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// ErrLimit means that a chunk or an operation exceeds a limit of the [Array].
var ErrLimit = codec.ErrLimit

// Array describes an array to the engine. It is immutable and safe for concurrent use.
type Array struct {
	Store store.Store
	Path  store.Path
	Grid  *grid.Grid
	Keys  metadata.KeyEncoding
	Chain *coding.Chain
	Fill  []byte        // one element in memory ([codec.Spec.Element])
	Size  int           // bytes of an element in memory ([codec.Spec.Width])
	Heap  *strided.Heap // an empty heap, nil unless elements differ in length

	// Concurrency is the number of requests in flight or, for a near store, of chunks in
	// work. 0 chooses by the store.
	Concurrency int
	Budget      int64 // bytes in flight; 0 chooses by the touched chunks
	MaxChunk    int64 // largest decoded chunk, in bytes
	KeepFill    bool  // store chunks that hold only the fill value
	Fenced      bool  // other programs may grow the array, and the store has no locks
	// RequireChunks makes reading a chunk that is not stored fail with [ErrMissing].
	RequireChunks bool
	// Block is the number of bytes of an unencoded chunk to read at a time. 0 chooses by
	// the store.
	Block int64
	// Gap and Span control how ranges of one stored chunk are joined ([coding.Work]). 0
	// chooses by the store.
	Gap, Span int64

	// Observer, if not nil, gets an event for each chunk that is decoded or encoded.
	Observer observe.Observer

	ratio budget.Ratio // of the bytes of stored chunks to those of decoded ones
}

// ChunkError is an error of an operation on one chunk.
type ChunkError struct {
	Key   string
	Index []int64
	Err   error
}

// Error returns the index and the key of the chunk, and the message of Err.
func (e *ChunkError) Error() string { return fmt.Sprintf("chunk %v (%s): %v", e.Index, e.Key, e.Err) }

// Unwrap returns Err.
func (e *ChunkError) Unwrap() error { return e.Err }

// Key returns the key of the chunk at index.
func (a *Array) Key(index []int64) store.Key {
	var room [64]byte
	return a.Path.MustKey(string(a.Keys.AppendKey(room[:0], index)))
}

// ChunkBytes returns the bytes of a decoded chunk of the given shape. It returns
// [ErrLimit] if they exceed MaxChunk.
func (a *Array) ChunkBytes(shape []int64) (int64, error) {
	n, ok := checked.Product(shape...)
	if ok {
		n, ok = checked.Mul(n, int64(a.Size))
	}
	if !ok || n > a.MaxChunk {
		return 0, fmt.Errorf("%w: a chunk of shape %v has more than %d bytes (Limits.Chunk)", ErrLimit, shape, a.MaxChunk)
	}
	return n, nil
}
