// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package shuffle

import (
	"sync"

	"golang.org/x/sys/cpu"
)

// hasAVX2 reports whether the processor runs the generated code.
var hasAVX2 = cpu.X86.HasAVX2

// group is the number of elements that the generated code takes at a time.
const group = 32

// shuffleFast shuffles the first elements and returns their number.
func shuffleFast(dst, src []byte, size, n int) int {
	groups := n / group
	if groups == 0 || !hasAVX2 {
		return 0
	}
	switch {
	case size == 2:
		shuffle2(&dst[0], &src[0], n, groups)
	case size == 4:
		shuffle4(&dst[0], &src[0], n, groups)
	case isOdd(size):
		groups = oddGroups(size, n)
		shuffleInBlock(dst, src, size, n, groups*group)
	case isCrowded(n):
		groups = groups / 2 * 2 // whole lines
		shuffleInBlock(dst, src, size, n, groups*group)
	default:
		for j := range columns(size) {
			shuffleGroups(&dst[j*n], &src[j], n, size, groups)
		}
	}
	return groups * group
}

// unshuffleFast undoes shuffleFast.
func unshuffleFast(dst, src []byte, size, n int) int {
	groups := n / group
	if groups == 0 || !hasAVX2 {
		return 0
	}
	switch {
	case size == 2:
		unshuffle2(&dst[0], &src[0], n, groups)
	case size == 4:
		unshuffle4(&dst[0], &src[0], n, groups)
	case isOdd(size):
		groups = oddGroups(size, n)
		unshuffleOdd(dst, src, size, n, groups*group)
	case isCrowded(n) && size > 8: // eight rows that are read have room
		groups = groups / 2 * 2
		unshuffleInBlock(dst, src, size, n, groups*group)
	default:
		for j := range columns(size) {
			unshuffleGroups(&dst[j], &src[j*n], n, size, groups)
		}
	}
	return groups * group
}

// columns yields offsets of ranges of sixteen bytes that cover an element. The last may
// overlap the one before it.
func columns(size int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for j := 0; j < size; j += 16 {
			if !yield(max(0, min(j, size-16))) {
				return
			}
		}
	}
}

// shuffleGroups shuffles elements of eight bytes, or sixteen bytes of longer ones.
func shuffleGroups(dst, src *byte, stride, size, groups int) {
	if size == 8 {
		shuffle8(dst, src, stride, groups)
		return
	}
	shuffleColumns(dst, src, stride, size, groups)
}

// unshuffleGroups undoes shuffleGroups.
func unshuffleGroups(dst, src *byte, stride, size, groups int) {
	if size == 8 {
		unshuffle8(dst, src, stride, groups)
		return
	}
	unshuffleColumns(dst, src, stride, size, groups)
}

// splitBitsFast splits the bits of the first bytes of plane and returns their number.
func splitBitsFast(dst []byte, stride int, plane []byte) int {
	groups := len(plane) / (8 * group)
	if groups == 0 || !hasAVX2 {
		return 0
	}
	// Assembly does not check bounds.
	_ = dst[7*stride+groups*group-1]
	splitBits32(&dst[0], &plane[0], stride, groups)
	return groups * 8 * group
}

// joinBitsFast undoes splitBitsFast.
func joinBitsFast(plane, src []byte, stride int) int {
	groups := len(plane) / (8 * group)
	if groups == 0 || !hasAVX2 {
		return 0
	}
	// Assembly does not check bounds.
	_ = src[7*stride+groups*group-1]
	joinBits32(&plane[0], &src[0], stride, groups)
	return groups * 8 * group
}

// Rows whose distance is a multiple of a page map to the same few sets of the L1 cache,
// so eight or sixteen of them evict each other. Such rows are shuffled in a block with
// another distance, and long runs of its rows are copied.

const (
	page  = 4096
	run   = 512      // elements that are shuffled in the block at a time
	pitch = run + 64 // bytes from one row of the block to the next
)

// block has room for sixteen rows, and for elements of sixteen bytes.
type block struct {
	rows     [16 * pitch]byte
	elements [16 * run]byte
}

// blocks is a pool. Blocks on the heap begin at cache lines.
var blocks = sync.Pool{New: func() any { return new(block) }}

// isCrowded reports whether rows that begin n bytes apart map to the same cache sets.
func isCrowded(n int) bool { return (n+group-1)%page < 2*group-1 }

// shuffleInBlock shuffles m elements, a multiple of 64.
func shuffleInBlock(dst, src []byte, size, n, m int) {
	b := blocks.Get().(*block)
	for i := 0; i < m; i += run {
		some := min(run, m-i)
		for j := range columns(size) {
			shuffleGroups(&b.rows[0], &src[i*size+j], pitch, size, some/group)
			// Elements of fewer than 16 bytes have fewer rows. The others are not copied.
			copyRows(&dst[j*n+i], &b.rows[0], n, pitch, min(16, size), some)
		}
	}
	blocks.Put(b)
}

// unshuffleInBlock undoes shuffleInBlock.
func unshuffleInBlock(dst, src []byte, size, n, m int) {
	b := blocks.Get().(*block)
	for i := 0; i < m; i += run {
		some := min(run, m-i)
		for j := range columns(size) {
			copyRows(&b.rows[0], &src[j*n+i], pitch, n, min(16, size), some)
			unshuffleGroups(&dst[i*size+j], &b.rows[0], pitch, size, some/group)
		}
	}
	blocks.Put(b)
}

// Elements of 3, 5 and other sizes below sixteen bytes have no assembly of their own.
// They are shuffled as if they had sixteen bytes. The bytes after each element go to
// rows of the block that are not copied.

// isOdd reports whether there is no assembly for elements of size bytes.
func isOdd(size int) bool { return size < 16 && size != 2 && size != 4 && size != 8 }

// oddGroups returns the number of groups, a multiple of two, in which sixteen bytes
// follow the start of each element.
func oddGroups(size, n int) int { return max(0, n-15/size) / (2 * group) * 2 }

// unshuffleOdd unshuffles m elements, a multiple of 64. It overwrites bytes after the
// last element, which are set later.
func unshuffleOdd(dst, src []byte, size, n, m int) {
	b := blocks.Get().(*block)
	for i := 0; i < m; i += run {
		some := min(run, m-i)
		copyRows(&b.rows[0], &src[i], pitch, n, size, some)
		unshuffleColumns(&b.elements[0], &b.rows[0], pitch, 16, some/group)
		pack(&dst[i*size], &b.elements[0], size, some)
	}
	blocks.Put(b)
}
