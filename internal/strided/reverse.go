// SPDX-License-Identifier: Apache-2.0

package strided

import "unsafe"

// reverses reports whether elements of n bytes are adjacent on both sides but in opposite
// orders.
func reverses(ds, ss, n, count int64) bool {
	return count > 1 && (ds == n && ss == -n || ds == -n && ss == n)
}

// copyReversed copies count elements in reverse order. d and s are the offsets of the
// first one in dst and src.
func copyReversed[E element](dst, src []byte, d, s, ds int64, count int64) {
	n := int64(unsafe.Sizeof(*new(E)))
	// Start at the lowest offset on the side that runs backwards.
	if ds < 0 {
		d -= (count - 1) * n
	} else {
		s -= (count - 1) * n
	}
	to := unsafe.Slice(at[E](dst[:d+count*n], d), count)
	from := unsafe.Slice(at[E](src[:s+count*n], s), count)
	for len(from) >= 4 {
		last := to[len(to)-4:][:4]
		last[3], last[2], last[1], last[0] = from[0], from[1], from[2], from[3]
		from, to = from[4:], to[:len(to)-4]
	}
	for i, e := range from {
		to[len(from)-1-i] = e
	}
}
