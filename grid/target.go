package grid

import (
	"cmp"
	"math"
	"slices"

	"varve.dev/zarr/internal/checked"
)

// Target returns a regular chunk shape for an array of the given shape whose elements take size bytes, so that a chunk takes about and
// at most the given number of bytes; only a chunk of one element takes more where an element does. Chunks are as near
// to cubes as that permits: axes that are shorter than the side of the cube stay whole and leave more to the others, and the last axes,
// whose elements lie next to each other, get what rounding leaves over. A longer axis is cut into chunks as even as can be, so
// that the last one is no sliver; that costs up to half of the bytes. What fits is one chunk.
//
// A negative length, a size or number of bytes below one, and more than [MaxRank] axes wrap [ErrInvalid].
func Target(shape []int64, size, bytes int64) ([]int64, error) {
	if size < 1 || bytes < 1 {
		return nil, invalid("chunks of %d bytes of elements of %d bytes: both must be at least 1", bytes, size)
	}
	if err := checkShape(shape); err != nil {
		return nil, err
	}
	return within(shape, bytes/size, func(n, side int64) int64 { return checked.CeilDiv(n, checked.CeilDiv(n, side)) }), nil
}

// checkShape refuses negative lengths and too many axes.
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

// within returns a shape whose product is within the budget, as near to a cube as the axes permit. What cut returns for the length of
// an axis is at least 1 and at most the length and the side. An axis of length 0 is taken for one of 1.
func within(lengths []int64, budget int64, cut func(length, side int64) int64) []int64 {
	axes := make([]int, len(lengths))
	for i := range axes {
		axes[i] = i
	}
	// The short axes come first, and of equal ones those before: each leaves what it does not need.
	slices.SortStableFunc(axes, func(a, b int) int { return cmp.Compare(lengths[a], lengths[b]) })
	chunk := make([]int64, len(lengths))
	budget = max(1, budget)
	for done, i := range axes {
		chunk[i] = cut(max(1, lengths[i]), root(budget, len(axes)-done))
		budget /= chunk[i]
	}
	return chunk
}

// root returns the largest integer whose n-th power is at most x, which is at least 1.
func root(x int64, n int) int64 {
	if n == 1 {
		return x
	}
	r := max(1, int64(math.Pow(float64(x), 1/float64(n))))
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
		if p, ok = checked.Mul(p, r); !ok || p > x {
			return false
		}
	}
	return true
}
