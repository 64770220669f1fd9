// SPDX-License-Identifier: Apache-2.0

// Package budget bounds memory. It has a limit on bytes in use, and pooled buffers.
package budget

import (
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"weak"
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

// Ratio learns the ratio of encoded to decoded bytes of values. It is the largest so far,
// not counting a fixed number of bytes that every value may have. The zero Ratio has seen
// no value. It is safe for concurrent use.
type Ratio struct {
	bits atomic.Uint64 // of a float64 >= 0; the bits of such numbers sort as the numbers do
	seen atomic.Int64
}

// Learn records a value with the given encoded and decoded bytes.
func (r *Ratio) Learn(encoded, decoded int64) {
	now := math.Float64bits(float64(max(0, encoded-spareBytes)) / float64(max(1, decoded)))
	for old := r.bits.Load(); now > old && !r.bits.CompareAndSwap(old, now); old = r.bits.Load() {
	}
	if encoded > 0 {
		r.seen.Add(1) // last, so that a reader which sees the count also sees the ratio
	}
}

// The margin above the learned ratio: a quarter, some bytes, and more if few values were
// seen.
const (
	spare      = 1.25
	spareFew   = 4
	spareBytes = 4 << 10
	// spareReady limits the margin of Ready for few values, in bytes.
	spareReady = 1 << 20
)

// Expect returns a probable upper bound of the encoded bytes of a value. It has a margin
// and is at most most. Before the first value it returns first.
func (r *Ratio) Expect(decoded, first, most int64) int64 {
	return r.expect(decoded, first, most, math.Inf(1))
}

// Ready returns the bytes of memory to take for an encoded value. It is [Ratio.Expect]
// for short values. For long ones its margin is smaller, because unused memory costs
// more there than a rare reallocation.
func (r *Ratio) Ready(decoded, first, most int64) int64 {
	return r.expect(decoded, first, most, spareReady)
}

// expect is Expect. few limits, in bytes, the margin that is due to few values.
func (r *Ratio) expect(decoded, first, most int64, few float64) int64 {
	seen := r.seen.Load()
	if seen == 0 {
		return first
	}
	likely := math.Float64frombits(r.bits.Load()) * float64(decoded)
	likely = spare*likely + min(few, spareFew/float64(seen)*likely) + spareBytes
	if likely < float64(most) {
		return int64(likely)
	}
	return most
}

// large is the size in bytes from which on buffers are kept in one list. A sync.Pool
// keeps buffers for each processor, so each processor would allocate the largest ones.
const large = 16 << 20

// spares has the large buffers that are not in use. A garbage collection frees them.
var spares struct {
	mu  sync.Mutex
	all []weak.Pointer[Buffer]
}

// takeLarge returns a spare buffer of the class or the next larger one, or nil.
func takeLarge(class int) (found *Buffer) {
	spares.mu.Lock()
	defer spares.mu.Unlock()
	spares.all = slices.DeleteFunc(spares.all, func(p weak.Pointer[Buffer]) bool {
		b := p.Value()
		if b == nil {
			return true
		}
		if found != nil || b.class < class || b.class > class+1 {
			return false
		}
		found = b
		return true
	})
	if found != nil {
		found.B = found.B[:0]
	}
	return found
}

// putLarge adds a buffer to the spare ones.
func putLarge(b *Buffer) {
	spares.mu.Lock()
	defer spares.mu.Unlock()
	spares.all = append(spares.all, weak.Make(b))
}
