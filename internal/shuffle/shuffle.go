// Package shuffle reorders the bytes or the bits of elements so that like ones stand
// together, which compresses better.
//
// The layouts are those of c-blosc 1: Shuffle puts the first bytes of all elements before
// all second bytes, and so on. Bitshuffle puts the lowest bits of all first bytes first,
// then the next bits, eight elements a byte, the first element in the lowest bit.
// Processors with AVX2 use assembly that tools/shuffle generates; all others, and
// programs built with the tag purego, use 64-bit arithmetic.
package shuffle

//go:generate go -C ../../tools run ./shuffle -out ../internal/shuffle/avx2_amd64.s -stubs ../internal/shuffle/avx2_amd64.go -pkg shuffle

// Shuffle writes the bytes of src to dst, grouped by their place within elements of size
// bytes. What follows the last whole element is copied. dst has at least the length of
// src and shares no memory with it; size is at least 1.
func Shuffle(dst, src []byte, size int) {
	n := len(src) / size
	dst = dst[:len(src)]
	if size == 1 || n <= 1 {
		copy(dst, src)
		return
	}
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
