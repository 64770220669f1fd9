// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package byteorder

// orders has the source of each of 16 bytes, by unit.
var orders = [17][16]byte{
	2:  {1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14},
	4:  {3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12},
	8:  {7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8},
	16: {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0},
}

// bytesFast reverses numbers with generated code and returns the number of bytes done.
func bytesFast(dst, src []byte, unit int) int {
	groups := len(src) / 128
	if groups == 0 || !hasAVX2 || unit > 16 || unit&(unit-1) != 0 {
		return 0
	}
	swap128(&dst[0], &src[0], &orders[unit][0], groups)
	return 128 * groups
}
