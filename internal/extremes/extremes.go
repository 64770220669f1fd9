// SPDX-License-Identifier: Apache-2.0

// Package extremes finds the least and the largest of many numbers, and counts those that
// are missing or equal the fill value.
//
// Processors with AVX2 use assembly that tools/extremes generates. Elsewhere the package
// finds nothing, and its caller takes the numbers one by one.
package extremes

//go:generate go -C ../../tools run ./extremes -out ../internal/extremes/avx2_amd64.s -stubs ../internal/extremes/avx2_amd64.go -pkg extremes

// Numbers says how to read numbers and which of them to count. Absent and Fill are keys:
// integers that rise with the numbers; see [Numbers.Key].
type Numbers struct {
	Size          int  // bytes, 1, 2, 4 or 8
	Float, Signed bool // Signed is for integers
	// Absent is the key of missing numbers, if HasAbsent is set. NaN is missing anyway.
	Absent    int64
	HasAbsent bool
	Fill      int64 // its key
}

// Found is what some numbers hold. Least and Most are keys; they count only if not all
// numbers are missing.
type Found struct {
	Least, Most        int64
	Missing, NaN, Fill int64
}

// Key returns the key of the number with the given bits. That of a float is plus or minus
// its magnitude, so both zeros have the same.
func (n *Numbers) Key(bits uint64) int64 {
	shift := 64 - 8*n.Size
	switch {
	case n.Float:
		key := int64(bits << shift & (1<<63 - 1) >> shift)
		if bits<<shift>>63 != 0 {
			key = -key
		}
		return key
	case n.Signed:
		return int64(bits<<shift) >> shift
	}
	return int64(bits<<shift^1<<63) >> shift
}

// Bits returns the bits of the number with a key.
func (n *Numbers) Bits(key int64) uint64 {
	shift := 64 - 8*n.Size
	switch {
	case n.Float && key < 0:
		return uint64(-key) | 1<<63>>shift
	case n.Float || n.Signed:
		return uint64(key) << shift >> shift
	}
	return (uint64(key)<<shift ^ 1<<63) >> shift
}
