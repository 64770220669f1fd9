// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"

	"varve.dev/zarr/internal/quantity"
)

// Fault is one fault of a stored chunk.
type Fault struct {
	// Inner leads to the inner chunk at fault: its index in the chunk, then the index of
	// an inner chunk of that, and so on. It is empty if the chunk has no inner chunks, or
	// if its own index is damaged.
	Inner [][]int64
	// Off and Len are the range at fault, in bytes from the start of the stored chunk.
	// If a shard index points outside the chunk, they are its values, at most 2^63-1.
	Off, Len int64
	// Shared is set if the range also belongs to another inner chunk and nothing else is
	// wrong. Readers are not affected. A writer that overwrites the range in place would
	// change both inner chunks. Compacting the chunk repairs it.
	Shared bool
	// Err is the reason. Unless Shared is set, it wraps [ErrCorrupt], or [ErrLimit] if
	// the chunk is too large to be checked. A check of many chunks that continues after a
	// failed read reports the error of the store.
	Err error
}

// Error returns where the fault is, and what is wrong.
func (f Fault) Error() string {
	if len(f.Inner) == 0 {
		return f.Err.Error()
	}
	return fmt.Sprintf("inner chunk %v (%s from byte %d on): %v", f.Inner, quantity.Count(f.Len, "bytes"), f.Off, f.Err)
}

// Unwrap returns Err.
func (f Fault) Unwrap() error { return f.Err }

// Check is the result of checking one stored chunk.
type Check struct {
	Bytes  int64   // length of the stored chunk
	Inner  int64   // stored inner chunks, not counting those inside inner chunks
	Dead   int64   // bytes that belong to no inner chunk and no index, nested ones included
	Faults []Fault // the first faults, at most 1000
	More   int64   // number of further faults
}
