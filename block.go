// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"fmt"
	"iter"

	"varve.dev/zarr/internal/snapshot"
)

// Block is a piece of an array in memory: its shape, and its elements in C order.
type Block[T any] struct {
	Shape []int64
	Data  []T
}

// newBlock returns a block for a selection, filled with zero values.
func newBlock[T any](r *snapshot.Selected) Block[T] {
	return Block[T]{r.Shape(), make([]T, r.Len())}
}

// At returns the element at an index of the block. Like indexing a slice, it panics if
// the index is out of range or has the wrong number of axes.
func (b Block[T]) At(index ...int64) T { return b.Data[b.offset(index, len(b.Shape))] }

// Set replaces the element at an index of the block. It panics as [Block.At] does.
func (b Block[T]) Set(value T, index ...int64) { b.Data[b.offset(index, len(b.Shape))] = value }

// Row returns the part of Data that has the given index along the leading axes. For a
// matrix, Row(i) is row i. Without an index it is all of Data. It panics as [Block.At]
// does.
func (b Block[T]) Row(index ...int64) []T {
	if len(index) > len(b.Shape) {
		b.refuse(index)
	}
	size := int64(1)
	for _, n := range b.Shape[len(index):] {
		size *= n
	}
	start := b.offset(index, len(index)) * size
	// Clip the capacity, so that an append to the row does not overwrite the next one.
	return b.Data[start : start+size : start+size]
}

// offset returns the position, in C order, of an index of the first axes.
func (b Block[T]) offset(index []int64, axes int) int64 {
	if len(index) != axes {
		b.refuse(index)
	}
	at := int64(0)
	for i, k := range index {
		if k < 0 || k >= b.Shape[i] {
			b.refuse(index)
		}
		at = at*b.Shape[i] + k
	}
	return at
}

func (b Block[T]) refuse(index []int64) {
	panic(fmt.Sprintf("zarr: index %v of a block of shape %v", index, b.Shape))
}

// indexBatch is how many indices [Block.All] allocates at once.
const indexBatch = 256

// All yields every index of the block, in C order, with its element. Indices may be kept.
func (b Block[T]) All() iter.Seq2[[]int64, T] {
	return func(yield func([]int64, T) bool) {
		rank := len(b.Shape)
		var last, room []int64
		for i, value := range b.Data {
			if len(room) < rank {
				// The caller may keep an index, so memory is never reused. Allocating
				// many indices at once is still cheap.
				room = make([]int64, rank*min(indexBatch, len(b.Data)-i))
			}
			index := room[:rank:rank]
			room = room[rank:]
			if copy(index, last); i > 0 {
				b.next(index)
			}
			if !yield(index, value) {
				return
			}
			last = index
		}
	}
}

// next advances an index in C order.
func (b Block[T]) next(index []int64) {
	for i := len(index) - 1; i >= 0; i-- {
		if index[i]++; index[i] < b.Shape[i] {
			return
		}
		index[i] = 0
	}
}
