// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"strconv"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/store"
)

// asideDir is the directory, below that of the array, of chunks that are set aside.
const asideDir = own.Dir + "/aside/"

// errAlike is the error for a chunk that decodes in its old shape and in its new one.
// Readers could not tell which of the two is stored.
var errAlike = fmt.Errorf("%w: the stored bytes of the chunk do not tell its number of elements, so readers could decode it in its new, shorter shape; "+
	"keep the edges (grid.KeepEdges, no trim), or rewrite the array with codecs that record it (packbits with padding_encoding \"first_byte\", a shard index with a checksum)", codec.ErrUnsupported)

// aside returns the key under which the worker's chunk is set aside.
func (w *worker) aside() store.Key {
	return w.Path.MustKey(AsideName(w.Cell.Encoded, string(w.Keys.AppendKey(nil, w.Visit.Chunk))))
}

// AsideName returns the key under which a chunk with the encoded shape and the given key
// is set aside. Both keys are relative to the array.
func AsideName(shape []int64, key string) string {
	name := []byte(asideDir)
	if len(shape) == 0 {
		// The chunk of an array of rank 0 is never set aside, but its key must be valid.
		name = append(name, '0')
	}
	for i, n := range shape {
		if i > 0 {
			name = append(name, 'x')
		}
		name = strconv.AppendInt(name, n, 10)
	}
	return string(append(append(name, '/'), key...))
}

// orAside calls do for the chunk. If that is corrupt, it calls do for the chunk that is
// set aside.
func (w *worker) orAside(do func() (bool, error)) (bool, error) {
	found, err := do()
	if !errors.Is(err, codec.ErrCorrupt) {
		return found, err
	}
	// Between steps 2 and 3 of a reshape, or after a crash there, the key has the chunk
	// in its old shape.
	key, info := w.key, w.info
	w.key = w.aside()
	moved, asideErr := do()
	w.key, w.info = key, info
	if asideErr != nil || !moved {
		return false, err // the chunk is damaged; that is more important than asideErr
	}
	return true, nil
}
