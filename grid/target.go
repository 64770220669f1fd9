// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"cmp"
	"math"
	"slices"

	"varve.dev/zarr/internal/checked"
)

// Target returns a regular chunk shape for an array of the given shape with elements of
// size bytes. A chunk takes about the given number of bytes, and never more unless a
// single element does. An array that fits is one chunk.
//
// Chunks are as close to cubes as that permits. Axes shorter than the side of the cube
// stay whole and leave more to the others. Of equally long axes the last ones, whose
// elements are closest in memory, get what rounding leaves. Longer axes are cut as evenly
// as possible, so that the last chunk is not a sliver. A chunk may therefore have as
// little as half of the bytes.
//
// Target returns an error that wraps [ErrInvalid] for a negative length, a size or a
// number of bytes below 1, and more than [MaxRank] axes.
func Target(shape []int64, size, bytes int64) ([]int64, error) {
	if size < 1 || bytes < 1 {
		return nil, invalid("chunks of %d bytes of elements of %d bytes: both must be at least 1", bytes, size)
	}
	if err := checkShape(shape); err != nil {
		return nil, err
	}
	return within(shape, bytes/size, func(n, side int64) int64 { return checked.CeilDiv(n, checked.CeilDiv(n, side)) }), nil
}

// checkShape returns an error for a negative length and for too many axes.
func checkShape(shape []int64) error {
	if len(shape) > MaxRank {
		return invalid("%d axes, at most %d are possible", len(shape), MaxRank)
	}
	for i, n := range shape {
		if n < 0 {
			return onAxis(i, invalid("extent must not be negative, got %d", n))
		}
	}
	return nil
}

// within returns a shape whose product is at most budget, as close to a cube as the axes
// permit. cut returns a length of at least 1 for an axis, which must not exceed the
// length of the axis or the side. An axis of length 0 counts as one of length 1.
func within(lengths []int64, budget int64, cut func(length, side int64) int64) []int64 {
	axes := make([]int, len(lengths))
	for i := range axes {
		axes[i] = i
	}
	// Short axes come first, because each leaves what it does not need to the others. The
	// sort is stable: of equal axes the last ones get what rounding leaves.
	slices.SortStableFunc(axes, func(a, b int) int { return cmp.Compare(lengths[a], lengths[b]) })
	chunk := make([]int64, len(lengths))
	budget = max(1, budget)
	for done, i := range axes {
		chunk[i] = cut(max(1, lengths[i]), root(budget, len(axes)-done))
		budget /= chunk[i]
	}
	return chunk
}

// root returns the largest integer whose n-th power is at most x. x must be at least 1.
func root(x int64, n int) int64 {
	if n == 1 {
		return x
	}
	r := max(1, int64(math.Pow(float64(x), 1/float64(n))))
	// The floating-point root may be off in either direction.
	for !fits(r, n, x) {
		r--
	}
	for fits(r+1, n, x) {
		r++
	}
	return r
}

// fits reports whether the n-th power of r is at most x.
func fits(r int64, n int, x int64) bool {
	p, ok := int64(1), true
	for range n {
		// An overflow exceeds x, too.
		if p, ok = checked.Mul(p, r); !ok || p > x {
			return false
		}
	}
	return true
}
