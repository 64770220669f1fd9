// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package shuffle

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
