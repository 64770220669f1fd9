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
	// Fail adds the array to an error, because a caller that compares two cannot tell
	// whose it is. It may be nil if there is one array only.
	Fail func(err error) error
	// Complete means that a missing chunk is an error.
	Complete bool
}

// fresh is Fresh with the array in the error.
func (a Array) fresh(ctx context.Context, s *snapshot.Array) (*snapshot.Array, error) {
	now, err := a.Fresh(ctx, s)
	return now, a.failed(err)
}

// failed adds the array to an error. Nil stays nil.
func (a Array) failed(err error) error {
	if err == nil || a.Fail == nil {
		return err
	}
	return a.Fail(err)
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
