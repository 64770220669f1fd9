// SPDX-License-Identifier: Apache-2.0

package strided

import (
	"unsafe"

	"varve.dev/zarr/internal/nontemporal"
)

// Copy copies src to dst. Both must have the same shape and element size and must not
// overlap. If both have heaps and these differ, the bytes of the elements are added to
// the heap of dst. References in a view without a heap are copied as they are, so they
// must be to the fill value or to empty elements.
func Copy(dst, src View) {
	if dst.empty() {
		return
	}
	if apart(dst.Heap, src.Heap) {
		adopt(dst, src)
		return
	}
	Move(dst, src)
}

// Move is [Copy], but copies references as they are. dst must have the heap of src or
// none.
func Move(dst, src View) {
	outerDst, n := dst.block()
	outerSrc, m := src.block()
	// Copy runs of n bytes, which are contiguous on both sides, at each position of the
	// axes before outer.
	outer := max(outerDst, outerSrc)
	if outer == outerSrc {
		n = m
	}
	// Runs as short as elements may be adjacent along another axis.
	if n <= 16 && copyPlanes(&dst, &src, outer, n) {
		return
	}
	if outer == len(dst.Shape) && outer > 0 {
		copyElements(&dst, &src, dst.Offset, src.Offset, 0)
		return
	}
	copyRows(&dst, &src, dst.Offset, src.Offset, 0, outer, n)
}

// copyRows walks the axes before outer and copies n contiguous bytes at each position.
func copyRows(dst, src *View, d, s int64, axis, outer int, n int64) {
	if axis == outer {
		copy(dst.Data[d:d+n], src.Data[s:s+n])
		return
	}
	count, ds, ss := dst.Shape[axis], dst.Strides[axis], src.Strides[axis]
	if axis == outer-1 {
		copyEach(dst.Data, src.Data, d, s, ds, ss, count, n)
		return
	}
	for range count {
		copyRows(dst, src, d, s, axis+1, outer, n)
		d += ds
		s += ss
	}
}

// copyEach copies count elements, or rows, of n bytes. Small chunks have rows as short as
// elements.
func copyEach(dst, src []byte, d, s, ds, ss, count, n int64) {
	switch n {
	case 1:
		copyStrided[[1]byte](dst, src, d, s, ds, ss, count)
	case 2:
		copyStrided[[2]byte](dst, src, d, s, ds, ss, count)
	case 4:
		copyStrided[[4]byte](dst, src, d, s, ds, ss, count)
	case 8:
		copyStrided[[8]byte](dst, src, d, s, ds, ss, count)
	case 16:
		copyStrided[[16]byte](dst, src, d, s, ds, ss, count)
	default:
		// Rows of large blocks are written past the cache, where the processor can do so.
		if n >= nontemporal.Row && len(dst) > nontemporal.Large && nontemporal.Rows(dst, src, d, s, ds, ss, count, n) {
			return
		}
		for range count {
			copy(dst[d:d+n], src[s:s+n])
			d += ds
			s += ss
		}
	}
}

// copyElements walks all axes and copies element by element along the last.
func copyElements(dst, src *View, d, s int64, axis int) {
	n, ds, ss := dst.Shape[axis], dst.Strides[axis], src.Strides[axis]
	if axis < len(dst.Shape)-1 {
		for range n {
			copyElements(dst, src, d, s, axis+1)
			d += ds
			s += ss
		}
		return
	}
	copyEach(dst.Data, src.Data, d, s, ds, ss, n, int64(dst.Size))
}

func copyStrided[E element](dst, src []byte, d, s, ds, ss, n int64) {
	if reverses(ds, ss, int64(unsafe.Sizeof(*new(E))), n) {
		copyReversed[E](dst, src, d, s, ds, n)
		return
	}
	for range n {
		*at[E](dst, d) = *at[E](src, s)
		d += ds
		s += ss
	}
}
