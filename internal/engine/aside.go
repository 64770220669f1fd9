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

// errAlike is the error for a chunk that decodes in its old shape and in its new one, so
// that readers could not tell which of them is stored.
var errAlike = fmt.Errorf("%w: the stored chunk does not tell how many elements it has, so that it could be read as the shorter one; "+
	"keep the edges (grid.KeepEdges, no trim), or rewrite the array with codecs that count (packbits with padding_encoding \"first_byte\", an index of shards with a checksum)", codec.ErrUnsupported)

// aside returns the key under which the worker's chunk is set aside.
func (w *worker) aside() store.Key {
	return w.Path.MustKey(AsideName(w.Cell.Encoded, string(w.Keys.AppendKey(nil, w.Visit.Chunk))))
}

// AsideName returns the key under which a chunk with the encoded shape and the given key
// is set aside. Both keys are relative to the array.
func AsideName(shape []int64, key string) string {
	name := []byte(asideDir)
	if len(shape) == 0 {
		// Nothing cuts the chunk of an array of rank 0, so none is ever set aside. The
		// key must be legal all the same.
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

// orAside calls do for the chunk, and if that is corrupt, for the one that is set aside.
func (w *worker) orAside(do func() (bool, error)) (bool, error) {
	found, err := do()
	if !errors.Is(err, codec.ErrCorrupt) {
		return found, err
	}
	// The chunk may have its old shape, between steps 2 and 3.
	key, info := w.key, w.info
	w.key = w.aside()
	moved, asideErr := do()
	w.key, w.info = key, info
	if asideErr != nil || !moved {
		return false, err // the chunk is damaged, which matters more than asideErr
	}
	return true, nil
}
