// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package shuffle

import "golang.org/x/sys/cpu"

// hasAVX2 reports whether the processor runs the generated code.
var hasAVX2 = cpu.X86.HasAVX2

// group is the number of elements that the generated code takes at a time.
const group = 32

// shuffleFast shuffles the first elements and returns their number.
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
	case isOdd(size):
		groups = oddGroups(size, n)
		shuffleInBlock(dst, src, size, n, groups*group)
	case isCrowded(n):
		groups = groups / 2 * 2 // whole lines
		shuffleInBlock(dst, src, size, n, groups*group)
	default:
		for j := range columns(size) {
			shuffleGroups(&dst[j*n], &src[j], n, size, groups)
		}
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
	case isOdd(size):
		groups = oddGroups(size, n)
		unshuffleOdd(dst, src, size, n, groups*group)
	case isCrowded(n) && size > 8: // eight rows that are read have room
		groups = groups / 2 * 2
		unshuffleInBlock(dst, src, size, n, groups*group)
	default:
		for j := range columns(size) {
			unshuffleGroups(&dst[j], &src[j*n], n, size, groups)
		}
	}
	return groups * group
}

// columns yields offsets of ranges of sixteen bytes that cover an element. The last may
// overlap the one before it.
func columns(size int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for j := 0; j < size; j += 16 {
			if !yield(max(0, min(j, size-16))) {
				return
			}
		}
	}
}

// shuffleGroups shuffles elements of eight bytes, or sixteen bytes of longer ones.
func shuffleGroups(dst, src *byte, stride, size, groups int) {
	if size == 8 {
		shuffle8(dst, src, stride, groups)
		return
	}
	shuffleColumns(dst, src, stride, size, groups)
}

// unshuffleGroups undoes shuffleGroups.
func unshuffleGroups(dst, src *byte, stride, size, groups int) {
	if size == 8 {
		unshuffle8(dst, src, stride, groups)
		return
	}
	unshuffleColumns(dst, src, stride, size, groups)
}

// splitBitsFast splits the bits of the first bytes of plane and returns their number.
func splitBitsFast(dst []byte, stride int, plane []byte) int {
	groups := len(plane) / (8 * group)
	if groups == 0 || !hasAVX2 {
		return 0
	}
	// Assembly does not check bounds.
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
	// Assembly does not check bounds.
	_ = src[7*stride+groups*group-1]
	joinBits32(&plane[0], &src[0], stride, groups)
	return groups * 8 * group
}
