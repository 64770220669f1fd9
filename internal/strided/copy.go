// SPDX-License-Identifier: Apache-2.0

package strided

import (
	"unsafe"

	"varve.dev/zarr/internal/byteorder"
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

// In a transpose the elements that are adjacent in memory lie along one axis in the
// source and along another in the destination. Copying along either axis would use one
// element of every cache line touched. Planes of the two axes are transposed in blocks
// instead.

// foldedRank is the largest number of axes of a copy by planes, after folding.
const foldedRank = 8

// leastSide is the least length, in elements, of both sides of a plane that is copied in
// blocks.
const leastSide = 4

// folded is an axis of a copy: its length, and the bytes between neighbours on each side.
type folded struct{ n, dst, src int64 }

// fold appends the axes before outer. It leaves out axes of length 1 and merges two axes
// if both sides continue from one to the other without a gap.
func fold(axes []folded, dst, src *View, outer int) []folded {
	for i, n := range dst.Shape[:outer] {
		next := folded{n, dst.Strides[i], src.Strides[i]}
		last := len(axes) - 1
		switch {
		case n == 1:
		case last >= 0 && axes[last].dst == n*next.dst && axes[last].src == n*next.src:
			axes[last] = folded{axes[last].n * n, next.dst, next.src}
		default:
			axes = append(axes, next)
		}
	}
	return axes
}

// planes copies planes of two axes. Elements of dst are adjacent along a, those of src
// along b.
type planes struct {
	dst, src []byte
	a, b     folded
	size     int64 // bytes per element
}

// copyPlanes copies the axes before outer plane by plane, if that is worth it, and
// reports whether it did. Runs of size bytes count as elements here.
func copyPlanes(dst, src *View, outer int, size int64) bool {
	// Cheap checks first: most copies are not transposes.
	if outer < 2 || size > 16 || size&(size-1) != 0 || !follow(dst, outer, size) || !follow(src, outer, size) {
		return false
	}
	var room [foldedRank]folded
	axes := fold(room[:0], dst, src, outer)
	// So many axes are rare: the plain copy handles them.
	if len(axes) > foldedRank {
		return false
	}
	a, b := -1, -1
	for i, x := range axes {
		if x.dst == size && a < 0 {
			a = i
		}
		if x.src == size && b < 0 {
			b = i
		}
	}
	// The innermost axis is the same on both sides, or the plane is too small.
	if a < 0 || b < 0 || a == b || axes[a].n < leastSide || axes[b].n < leastSide {
		return false
	}
	p := planes{dst.Data, src.Data, axes[a], axes[b], size}
	axes[a].n, axes[b].n = 1, 1 // plane walks these two
	p.walk(axes, dst.Offset, src.Offset)
	return true
}

// follow reports whether runs of size bytes are adjacent along one of the axes before
// outer.
func follow(v *View, outer int, size int64) bool {
	for i, step := range v.Strides[:outer] {
		if step == size && v.Shape[i] >= leastSide {
			return true
		}
	}
	return false
}

// walk copies a plane for every index of axes.
func (p *planes) walk(axes []folded, d, s int64) {
	if len(axes) == 0 {
		p.plane(d, s)
		return
	}
	for range axes[0].n {
		p.walk(axes[1:], d, s)
		d += axes[0].dst
		s += axes[0].src
	}
}

func (p *planes) plane(d, s int64) {
	dst := byteorder.Side{Data: p.dst, Offset: int(d), Stride: int(p.b.dst)}
	src := byteorder.Side{Data: p.src, Offset: int(s), Stride: int(p.a.src)}
	byteorder.Plane(dst, src, int(p.a.n), int(p.b.n), int(p.size))
}
