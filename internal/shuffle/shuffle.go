// SPDX-License-Identifier: Apache-2.0

// Package shuffle reorders the bytes or the bits of elements so that similar ones are
// adjacent, which compresses better.
//
// The layouts are those of c-blosc 1. Shuffle writes the first bytes of all elements,
// then all second bytes, and so on. Bitshuffle writes the lowest bits of all first bytes,
// then the next bits, and so on. A byte has the bits of eight elements, the first in the
// lowest bit.
//
// Processors with AVX2 use assembly that tools/shuffle generates. Others, and programs
// with the build tag purego, use 64-bit arithmetic.
package shuffle

//go:generate go -C ../../tools run ./shuffle -out ../internal/shuffle/avx2_amd64.s -stubs ../internal/shuffle/avx2_amd64.go -pkg shuffle

import "strings"

// Shuffle writes the bytes of src to dst, grouped by their position within elements of
// size bytes. It copies the bytes after the last whole element. dst must be at least as
// long as src and must not overlap it. size must be at least 1.
func Shuffle(dst, src []byte, size int) {
	n := len(src) / size
	dst = dst[:len(src)]
	if size == 1 || n <= 1 {
		copy(dst, src)
		return
	}
	// Assembly takes whole groups. The plain code does the rest.
	first := shuffleFast(dst, src, size, n)
	shufflePlain(dst, src, size, first, n)
	copy(dst[n*size:], src[n*size:])
}

// Unshuffle undoes [Shuffle] of elements of the same size.
func Unshuffle(dst, src []byte, size int) {
	n := len(src) / size
	dst = dst[:len(src)]
	if size == 1 || n <= 1 {
		copy(dst, src)
		return
	}
	first := unshuffleFast(dst, src, size, n)
	unshufflePlain(dst, src, size, first, n)
	copy(dst[n*size:], src[n*size:])
}

// Size returns the number that is the size of an element in metadata, if word is one.
// netcdf-c writes it as a text.
func Size(word string) (number string, ok bool) {
	if word == "" || strings.Trim(word, "0123456789") != "" {
		return "", false
	}
	if number = strings.TrimLeft(word, "0"); number == "" {
		number = "0"
	}
	return number, true
}
