// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/strided"
)

// The limits of a [codec.Environment] that does not set them.
const (
	DefaultChunk = 1 << 30 // bytes of a decoded chunk
	DefaultInner = 1 << 24 // inner chunks of a shard; their index has 256 MiB
)

// Element returns the fill value of a spec as one element of [codec.Block.Data].
func Element(s codec.Spec) []byte {
	if s.Type.Variable() {
		return strided.NewHeap(s.Fill).Fill()
	}
	return s.Fill
}

// HeapOf returns an empty heap for the elements of a block, or nil if they have one
// width.
func HeapOf(s codec.Spec) *strided.Heap {
	if s.Type.Variable() {
		return strided.NewHeap(s.Fill)
	}
	return nil
}

// Width returns the bytes of an element in [codec.Block.Data]: the size of its type, or
// of a reference if elements differ in length.
func Width(s codec.Spec) int {
	if s.Type.Variable() {
		return strided.RefSize
	}
	return s.Type.Size()
}
