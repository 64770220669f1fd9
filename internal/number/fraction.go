// SPDX-License-Identifier: Apache-2.0

package number

import (
	"encoding/binary"
	"math/bits"
)

// RoundFraction copies the floats of src to dst and keeps only keep bits of their
// fraction, rounded to nearest even, as numcodecs' BitRound does. A number may round to
// infinity. NaNs are not changed.
func (f *Format) RoundFraction(dst, src []byte, keep int) {
	drop := f.Layout.Fraction - keep
	if drop <= 0 {
		copy(dst, src)
		return
	}
	// Adding half a step, less one bit unless the kept part is odd, rounds to nearest
	// even.
	half, inf := uint64(1)<<(drop-1)-1, f.Layout.infinity()
	mask, magnitude := ^uint64(0)<<drop, f.Layout.sign()-1
	round := func(x uint64) uint64 {
		// Rounding could turn a NaN into an infinity.
		if x&magnitude > inf {
			return x
		}
		return (x + x>>drop&1 + half) & mask
	}
	switch f.Bytes {
	case 1:
		for i, x := range src {
			dst[i] = byte(round(uint64(x)))
		}
	case 2:
		for i := 0; i+2 <= len(src); i += 2 {
			binary.NativeEndian.PutUint16(dst[i:], uint16(round(uint64(binary.NativeEndian.Uint16(src[i:])))))
		}
	case 4:
		for i := 0; i+4 <= len(src); i += 4 {
			binary.NativeEndian.PutUint32(dst[i:], uint32(round(uint64(binary.NativeEndian.Uint32(src[i:])))))
		}
	case 8:
		for i := 0; i+8 <= len(src); i += 8 {
			binary.NativeEndian.PutUint64(dst[i:], round(binary.NativeEndian.Uint64(src[i:])))
		}
	}
}

// RoundMagnitude rounds the n integers of a block to keep bits from the highest set bit,
// to nearest even. A number that would then exceed its type becomes the largest one with
// that many significant bits. Negative numbers are rounded by their magnitude.
func (f *Format) RoundMagnitude(b *Block, n, keep int) {
	low, high := f.Limits()
	if f.Carrier == Unsigned {
		for i, x := range b.U[:n] {
			b.U[i] = roundBits(x, keep, high)
		}
		return
	}
	for i, x := range b.I[:n] {
		if x >= 0 {
			b.I[i] = int64(roundBits(uint64(x), keep, high))
		} else {
			// The magnitude of the smallest int64 fits into a uint64.
			b.I[i] = -int64(roundBits(-uint64(x), keep, -uint64(low)))
		}
	}
}

// roundBits rounds x, which is at most most, to keep bits.
func roundBits(x uint64, keep int, most uint64) uint64 {
	drop := bits.Len64(x) - keep
	if drop <= 0 {
		return x
	}
	mask := ^uint64(0) << drop
	sum, over := bits.Add64(x, x>>drop&1+1<<(drop-1)-1, 0)
	// Rounding up left the range of the type.
	if over != 0 || sum > most {
		sum = most
	}
	return sum & mask
}
