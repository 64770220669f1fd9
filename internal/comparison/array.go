// SPDX-License-Identifier: Apache-2.0

package comparison

import (
	"context"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/snapshot"
)

// Array is an array to compare.
type Array struct {
	// State returns the known state of the array.
	State func() *snapshot.Array
	// Fresh returns the newest state, or s if that is the newest.
	Fresh func(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error)
	// Read reads the elements of a box, of fixed size, in C order.
	Read func(ctx context.Context, box grid.Box, dst []byte) error
	// Elements returns the elements of a box, of variable length.
	Elements func(ctx context.Context, box grid.Box) (element.Buffer, error)
	// Complete means that a missing chunk is an error.
	Complete bool
}

// width returns the bytes of an element, or an estimate for elements of variable length.
func width(t dtype.Type) int64 {
	if t.Variable() {
		return likelyBytes
	}
	return int64(t.Size())
}

// likelyBytes is the assumed size of an element of variable length. It is large, because
// the memory of texts is known only when they are read.
const likelyBytes = 1 << 10
