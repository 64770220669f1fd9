// SPDX-License-Identifier: Apache-2.0

package shuffle

// tile is the number of bytes that are bit-shuffled at a time. With their destination
// they fit into an L1 cache.
const tile = 8 << 10

// Bitshuffle writes the bits of src to dst, grouped by their position within elements of
// size bytes. It copies the bytes after the last whole element, and all of src if the
// number of whole elements is not a multiple of eight. dst must be at least as long as
// src and must not overlap it. size must be at least 1.
func Bitshuffle(dst, src []byte, size int) {
	n := len(src) / size
	dst = dst[:len(src)]
	if n%8 != 0 {
		// c-blosc 1 does not shuffle such a block.
		copy(dst, src)
		return
	}
	copy(dst[n*size:], src[n*size:])
	if size == 1 {
		// Elements of one byte need no shuffle of bytes before.
		splitBits(dst, n/8, src)
		return
	}
	var room [tile]byte
	planes, step := tileOf(room[:], size)
	for from := 0; from < n; from += step {
		m := min(step, n-from)
		// Shuffle the bytes of a tile first, so that the bits of one row are in adjacent
		// bytes.
		Shuffle(planes, src[from*size:(from+m)*size], size)
		for j := range size {
			splitBits(dst[j*n+from/8:], n/8, planes[j*m:(j+1)*m])
		}
	}
}

// Bitunshuffle undoes [Bitshuffle] of elements of the same size.
func Bitunshuffle(dst, src []byte, size int) {
	n := len(src) / size
	dst = dst[:len(src)]
	if n%8 != 0 {
		copy(dst, src)
		return
	}
	copy(dst[n*size:], src[n*size:])
	if size == 1 {
		joinBits(dst[:n], src, n/8)
		return
	}
	var room [tile]byte
	planes, step := tileOf(room[:], size)
	for from := 0; from < n; from += step {
		m := min(step, n-from)
		for j := range size {
			joinBits(planes[j*m:(j+1)*m], src[j*n+from/8:], n/8)
		}
		Unshuffle(dst[from*size:(from+m)*size], planes[:m*size], size)
	}
}

// tileOf returns memory for the bytes of step elements, at least eight.
func tileOf(room []byte, size int) (planes []byte, step int) {
	if step = len(room) / size / 8 * 8; step == 0 {
		return make([]byte, 8*size), 8
	}
	if whole := step / 256 * 256; whole > 0 {
		step = whole // what assembly takes at a time
	}
	return room, step
}

// splitBits writes bit k of every byte of plane to row k of dst. Rows begin stride bytes
// apart. The length of plane is a multiple of eight.
func splitBits(dst []byte, stride int, plane []byte) {
	first := splitBitsFast(dst, stride, plane)
	splitBitsPlain(dst, stride, plane, first)
}

// joinBits undoes splitBits.
func joinBits(plane, src []byte, stride int) {
	first := joinBitsFast(plane, src, stride)
	joinBitsPlain(plane, src, stride, first)
}
