// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"math/rand/v2"
	"slices"
)

// block is the model of an array: its elements in C order.
type block struct {
	shape []int64
	data  []byte
}

// randomBlock returns a block with long runs of the fill value, so that some chunks have
// only the fill value.
func randomBlock(r *rand.Rand, s spec, shape []int64) block {
	n := 1
	for _, extent := range shape {
		n *= int(extent)
	}
	data := randomElements(r, s.Type, n)
	size := len(s.Fill)
	for i, filled := 0, false; i < n; i++ {
		if r.IntN(20) == 0 {
			filled = !filled
		}
		if filled {
			copy(data[i*size:], s.Fill)
		}
	}
	return block{shape, data}
}

// resized returns the block in another shape. Elements in both shapes stay, and new ones
// are the fill value.
func (b block) resized(shape []int64, fill []byte) block {
	size, index := len(fill), make([]int64, len(shape))
	next := block{slices.Clone(shape), nil}
	if slices.Contains(shape, 0) {
		return next
	}
	for ok := true; ok; ok = advance(index, shape) {
		elem := fill
		if at, inside := b.offset(index); inside {
			elem = b.data[at*size:][:size]
		}
		next.data = append(next.data, elem...)
	}
	return next
}

// offset returns the position of an element, and whether there is one.
func (b block) offset(index []int64) (int, bool) {
	at := int64(0)
	for i, x := range index {
		if x >= b.shape[i] {
			return 0, false
		}
		at = at*b.shape[i] + x
	}
	return int(at), true
}

// advance moves to the next index in C order. It returns false after the last one.
func advance(index, shape []int64) bool {
	for i := len(index) - 1; i >= 0; i-- {
		if index[i]++; index[i] < shape[i] {
			return true
		}
		index[i] = 0
	}
	return false
}

// appended returns the block with another one after it along an axis.
func (b block) appended(axis int, more block, fill []byte) block {
	shape := slices.Clone(b.shape)
	shape[axis] += more.shape[axis]
	next := b.resized(shape, fill)
	index := make([]int64, len(shape))
	for i := 0; i < len(more.data); i += len(fill) {
		place := slices.Clone(index)
		place[axis] += b.shape[axis]
		at, _ := next.offset(place)
		copy(next.data[at*len(fill):], more.data[i:][:len(fill)])
		advance(index, more.shape)
	}
	return next
}
