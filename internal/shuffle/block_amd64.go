// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package shuffle

import "sync"

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
