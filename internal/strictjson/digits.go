// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"encoding/binary"
	"math/bits"
)

// The functions in this file process eight digits at a time. Grids contain millions of
// short numbers whose lengths no branch predictor can guess. Counting digits with
// arithmetic takes a third of the time.

const (
	ones     = 0x0101010101010101
	zeros    = 0x3030303030303030 // '0' eight times
	toHigh   = 0x7676767676767676 // carries every byte above 9 into the high bit
	highBits = 0x8080808080808080
)

func isDigit(c byte) bool { return c-'0' < 10 }

// digits returns the offset of the first byte at or after i that is not a digit.
func digits(d []byte, i int) int {
	for ; len(d)-i >= 8; i += 8 {
		if n := countDigits(binary.LittleEndian.Uint64(d[i:]) ^ zeros); n < 8 {
			return i + n
		}
	}
	// Fewer than eight bytes are left, or none.
	for i < len(d) && isDigit(d[i]) {
		i++
	}
	return i
}

// countDigits returns how many of the low bytes of x, from the lowest one, are at most 9.
func countDigits(x uint64) int { return bits.TrailingZeros64((x+toHigh|x)&highBits) / 8 }

// eightDigits parses the n digits, 1 to 8, at the start of d. It returns false if they
// are not all digits, or if d has fewer than eight bytes.
func eightDigits(d []byte, n int) (int64, bool) {
	if len(d) < 8 || n > 8 || n < 1 {
		return 0, false
	}
	// The first digit is in the lowest byte. It is worth the most.
	x := binary.LittleEndian.Uint64(d) ^ zeros
	if countDigits(x) < n {
		return 0, false
	}
	x <<= 8 * (8 - n) // leading zeros; neighbours are then joined, twice
	// Join neighbouring digits to numbers below 100 in every other byte.
	x = x*10 + x>>8
	// Then scale these numbers by powers of 100 and add them, two in each multiplication.
	const even = 0x000000ff000000ff
	x = (x&even)*(100+1000000<<32) + (x>>16&even)*(1+10000<<32)
	return int64(x >> 32), true
}

// plainBytes advances from i while the next eight bytes are typical of lists of numbers.
// At the result, or in the seven bytes after it, is a quote, a bracket, a letter or the
// end.
func plainBytes(d []byte, i int) int {
	const (
		quotes  = '"' * ones
		letters = 0xc0 * ones // brackets and letters have one of these bits; digits, signs, commas and white space have none
	)
	for ; len(d)-i >= 8; i += 8 {
		x := binary.LittleEndian.Uint64(d[i:])
		y := x ^ quotes
		// The second term has a high bit for every zero byte of y, that is for every
		// quote.
		if (x&letters)|((y-ones)&^y&highBits) != 0 {
			break
		}
	}
	return i
}
