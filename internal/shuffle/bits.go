package shuffle

// tile is how many bytes have their bits shuffled at a time: they and the rows that they
// go to fit a first-level cache.
const tile = 8 << 10

// Bitshuffle writes the bits of src to dst, grouped by their place within elements of
// size bytes. Where the number of whole elements is no multiple of eight, src is copied
// as it is, and else what follows the last of them. dst has at least the length of src
// and shares no memory with it; size is at least 1.
func Bitshuffle(dst, src []byte, size int) {
	n := len(src) / size
	dst = dst[:len(src)]
	if n%8 != 0 {
		copy(dst, src)
		return
	}
	copy(dst[n*size:], src[n*size:])
	if size == 1 {
		splitBits(dst, n/8, src)
		return
	}
	var room [tile]byte
	planes, step := tileOf(room[:], size)
	for from := 0; from < n; from += step {
		m := min(step, n-from)
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

// tileOf returns memory for the bytes of some elements, at least eight, and how many
// these are.
func tileOf(room []byte, size int) (planes []byte, step int) {
	if step = len(room) / size / 8 * 8; step == 0 {
		return make([]byte, 8*size), 8
	}
	if whole := step / 256 * 256; whole > 0 {
		step = whole // what assembly takes at a time
	}
	return room, step
}

// splitBits writes the k-th bit of every byte of plane, of which there is a multiple of
// eight, to row k of dst. Rows begin stride bytes apart.
func splitBits(dst []byte, stride int, plane []byte) {
	first := splitBitsFast(dst, stride, plane)
	splitBitsPlain(dst, stride, plane, first)
}

// joinBits undoes splitBits.
func joinBits(plane, src []byte, stride int) {
	first := joinBitsFast(plane, src, stride)
	joinBitsPlain(plane, src, stride, first)
}
