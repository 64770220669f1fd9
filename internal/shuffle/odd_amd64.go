//go:build !purego

package shuffle

// Elements of less than sixteen bytes for which there is no code are shuffled as if they
// were longer: what follows each is read, too, and goes to rows of the block that nobody
// copies.

// isOdd reports whether there is no code for elements of some bytes.
func isOdd(size int) bool { return size < 16 && size != 2 && size != 4 && size != 8 }

// oddGroups returns of how many groups, a multiple of two, sixteen bytes follow where
// each element begins.
func oddGroups(size, n int) int { return max(0, n-15/size) / (2 * group) * 2 }

// unshuffleOdd unshuffles m elements, a multiple of 64. It writes what is not known yet
// behind the last.
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
