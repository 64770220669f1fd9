// SPDX-License-Identifier: Apache-2.0

// Package byteorder reorders elements in memory. It transposes planes, and reverses the
// byte order of numbers.
//
// Processors with AVX2 use assembly that tools/byteorder generates. Others, and programs
// with the build tag purego, use 64-bit arithmetic.
package byteorder

//go:generate go -C ../../tools run ./byteorder -out ../internal/byteorder/avx2_amd64.s -stubs ../internal/byteorder/avx2_amd64.go -pkg byteorder

import "encoding/binary"

// Squares of elements are transposed in 64-bit numbers, one for each row.

// turn8 copies m columns of eight rows of bytes, eight at a time.
func turn8(dst, src []byte, d, s, ds, ss, m int) {
	for ; m > 0; m -= 8 {
		x0, x1, x2, x3 := load(src, s), load(src, s+ss), load(src, s+2*ss), load(src, s+3*ss)
		x4, x5, x6, x7 := load(src, s+4*ss), load(src, s+5*ss), load(src, s+6*ss), load(src, s+7*ss)
		x0, x4 = swapHalves(x0, x4)
		x1, x5 = swapHalves(x1, x5)
		x2, x6 = swapHalves(x2, x6)
		x3, x7 = swapHalves(x3, x7)
		x0, x2 = swapQuarters(x0, x2)
		x1, x3 = swapQuarters(x1, x3)
		x4, x6 = swapQuarters(x4, x6)
		x5, x7 = swapQuarters(x5, x7)
		x0, x1 = swapEighths(x0, x1)
		x2, x3 = swapEighths(x2, x3)
		x4, x5 = swapEighths(x4, x5)
		x6, x7 = swapEighths(x6, x7)
		store(dst, d, x0)
		store(dst, d+ds, x1)
		store(dst, d+2*ds, x2)
		store(dst, d+3*ds, x3)
		store(dst, d+4*ds, x4)
		store(dst, d+5*ds, x5)
		store(dst, d+6*ds, x6)
		store(dst, d+7*ds, x7)
		d, s = d+8*ds, s+8
	}
}

// turn4 copies m columns of four rows of two-byte elements, four at a time.
func turn4(dst, src []byte, d, s, ds, ss, m int) {
	for ; m > 0; m -= 4 {
		x0, x1, x2, x3 := load(src, s), load(src, s+ss), load(src, s+2*ss), load(src, s+3*ss)
		x0, x2 = swapHalves(x0, x2)
		x1, x3 = swapHalves(x1, x3)
		x0, x1 = swapQuarters(x0, x1)
		x2, x3 = swapQuarters(x2, x3)
		store(dst, d, x0)
		store(dst, d+ds, x1)
		store(dst, d+2*ds, x2)
		store(dst, d+3*ds, x3)
		d, s = d+4*ds, s+8
	}
}

// turn2 copies m columns of two rows of four-byte elements, two at a time.
func turn2(dst, src []byte, d, s, ds, ss, m int) {
	for ; m > 0; m -= 2 {
		x0, x1 := swapHalves(load(src, s), load(src, s+ss))
		store(dst, d, x0)
		store(dst, d+ds, x1)
		d, s = d+2*ds, s+8
	}
}

// The upper part of every two of x changes places with the lower part of those of y.

func swapHalves(x, y uint64) (uint64, uint64) {
	return x&0xffffffff | y<<32, x>>32 | y&^0xffffffff
}

func swapQuarters(x, y uint64) (uint64, uint64) {
	const low = 0x0000ffff0000ffff
	return x&low | y&low<<16, x>>16&low | y&^low
}

func swapEighths(x, y uint64) (uint64, uint64) {
	const low = 0x00ff00ff00ff00ff
	return x&low | y&low<<8, x>>8&low | y&^low
}

// Little reports whether the host stores the least significant byte of a number first.
func Little() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }
