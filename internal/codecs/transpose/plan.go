// SPDX-License-Identifier: Apache-2.0

package transpose

import "slices"

// axis is an axis of the destination, with its length and the strides in bytes of
// destination and source.
type axis struct{ n, dst, src int64 }

// plan is a permutation with as few axes as possible.
type plan struct {
	width int64  // bytes that are next to each other on both sides
	axes  []axis // slowest of the destination first, none of length 1
}

// newPlan plans for a source with the given shape, without zeros, and elements of size
// bytes. It appends to axes, so that the caller can keep them on the stack. It merges
// axes that are contiguous on both sides.
func newPlan(axes []axis, shape []int64, order []int, size int64) plan {
	width, dst := size, size
	for i := len(order) - 1; i >= 0; i-- {
		a := axis{n: shape[order[i]], dst: dst, src: stride(shape, order[i], size)}
		dst *= a.n
		last := len(axes) - 1
		switch {
		case a.n == 1:
		// Elements are contiguous along this axis on both sides: treat them as one.
		case last < 0 && a.src == width:
			width *= a.n
		// The axis continues the one after it on both sides: merge them.
		case last >= 0 && a.src == axes[last].n*axes[last].src:
			axes[last].n *= a.n
		default:
			axes = append(axes, a)
		}
	}
	slices.Reverse(axes)
	return plan{width, axes}
}

// stride returns the stride in bytes along an axis of an array in C order.
func stride(shape []int64, axis int, size int64) int64 {
	for _, n := range shape[axis+1:] {
		size *= n
	}
	return size
}

// each calls f with the offsets in bytes of every position.
func each(axes []axis, f func(dst, src int64)) {
	var array [8]int64
	index := append(array[:0], make([]int64, len(axes))...)
	var dst, src int64
	for more := true; more; {
		f(dst, src)
		more = false
		for i := len(axes) - 1; i >= 0 && !more; i-- {
			a := axes[i]
			index[i]++
			dst += a.dst
			src += a.src
			// At the end of an axis, go back to its start and advance the axis before it.
			if more = index[i] < a.n; !more {
				index[i] = 0
				dst -= a.n * a.dst
				src -= a.n * a.src
			}
		}
	}
}
