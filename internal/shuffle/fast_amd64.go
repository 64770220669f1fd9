//go:build !purego

package shuffle

import "golang.org/x/sys/cpu"

// hasAVX2 is whether the processor runs the generated code.
var hasAVX2 = cpu.X86.HasAVX2

// group is how many elements the generated code takes at a time.
const group = 32

// shuffleFast shuffles the first elements and returns how many.
func shuffleFast(dst, src []byte, size, n int) int {
	groups := n / group
	if groups == 0 || !hasAVX2 {
		return 0
	}
	switch {
	case size == 2:
		shuffle2(&dst[0], &src[0], n, groups)
	case size == 4:
		shuffle4(&dst[0], &src[0], n, groups)
	case size == 8:
		shuffle8(&dst[0], &src[0], n, groups)
	case size >= 16:
		for j := range columns(size) {
			shuffleColumns(&dst[j*n], &src[j], n, size, groups)
		}
	default:
		return 0
	}
	return groups * group
}

// unshuffleFast undoes shuffleFast.
func unshuffleFast(dst, src []byte, size, n int) int {
	groups := n / group
	if groups == 0 || !hasAVX2 {
		return 0
	}
	switch {
	case size == 2:
		unshuffle2(&dst[0], &src[0], n, groups)
	case size == 4:
		unshuffle4(&dst[0], &src[0], n, groups)
	case size == 8:
		unshuffle8(&dst[0], &src[0], n, groups)
	case size >= 16:
		for j := range columns(size) {
			unshuffleColumns(&dst[j], &src[j*n], n, size, groups)
		}
	default:
		return 0
	}
	return groups * group
}

// columns yields where sixteen bytes of an element begin, so that all are covered. The last may overlap the one before it.
func columns(size int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for j := 0; j < size; j += 16 {
			if !yield(min(j, size-16)) {
				return
			}
		}
	}
}

// splitBitsFast splits the bits of the first bytes of plane and returns how many.
func splitBitsFast(dst []byte, stride int, plane []byte) int {
	groups := len(plane) / (8 * group)
	if groups == 0 || !hasAVX2 {
		return 0
	}
	_ = dst[7*stride+groups*group-1]
	splitBits32(&dst[0], &plane[0], stride, groups)
	return groups * 8 * group
}

// joinBitsFast undoes splitBitsFast.
func joinBitsFast(plane, src []byte, stride int) int {
	groups := len(plane) / (8 * group)
	if groups == 0 || !hasAVX2 {
		return 0
	}
	_ = src[7*stride+groups*group-1]
	joinBits32(&plane[0], &src[0], stride, groups)
	return groups * 8 * group
}
