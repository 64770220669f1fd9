// SPDX-License-Identifier: Apache-2.0

// Package budget bounds memory. It has a limit on bytes in use, and pooled buffers.
package budget

import (
	"math/bits"
	"sync"
)

// Buffer is memory from the pool. Get returns it with an empty B of at least the
// requested capacity.
type Buffer struct {
	B     []byte
	class int
}

// minShift is the size of the smallest class, 512 bytes.
const minShift = 9

// classes has four pools for each power of two, so that at most a fifth of a buffer is
// unused.
var classes [4 * (63 - minShift)]sync.Pool

// Get returns a buffer with room for n bytes. Its bytes are not cleared.
func Get(n int64) *Buffer {
	class, size := classOf(n)
	if size >= large {
		if b := takeLarge(class); b != nil {
			return b
		}
	} else if b, ok := classes[class].Get().(*Buffer); ok {
		b.B = b.B[:0]
		return b
	}
	return &Buffer{make([]byte, 0, size), class}
}

// Put returns the buffer to its pool. The caller must not use its bytes again. Put drops
// the buffer if B was replaced by a longer slice, and ignores a nil buffer.
func (b *Buffer) Put() {
	if b == nil {
		return
	}
	class, size := classOf(int64(cap(b.B)))
	if class != b.class || size != int64(cap(b.B)) {
		return
	}
	if size >= large {
		putLarge(b)
		return
	}
	classes[class].Put(b)
}

// Bytes returns the first n bytes of the buffer, with undefined contents.
func (b *Buffer) Bytes(n int64) []byte { return b.B[:n] }

// classOf returns the class for n bytes and the capacity of its buffers.
func classOf(n int64) (class int, size int64) {
	if n <= 1<<minShift {
		return 0, 1 << minShift
	}
	shift := bits.Len64(uint64(n-1)) - 1 // 1<<shift < n <= 2<<shift
	quarter := int64(1) << shift >> 2
	step := (n - 1 - 1<<shift) / quarter // 0…3
	return (shift-minShift)*4 + int(step) + 1, 1<<shift + (step+1)*quarter
}
