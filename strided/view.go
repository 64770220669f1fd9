// SPDX-License-Identifier: Apache-2.0

package strided

import (
	"slices"
	"unsafe"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/nontemporal"
)

// View is a block of elements of fixed width in memory, seen through strides. The element
// at index i is the Size bytes at Data[Offset + Σ i[k]*Strides[k]].
type View struct {
	Data    []byte
	Offset  int64   // bytes
	Shape   []int64 // elements
	Strides []int64 // bytes
	Size    int     // bytes per element
	Heap    *Heap   // bytes of elements of variable length; Size is RefSize then
}

// Part selects elements of a block. Along every axis it takes Count elements from Start
// on that are Step apart, unless Picks says otherwise.
type Part struct {
	Start, Step, Count []int64
	Picks              *Picks
}

// Len returns the number of elements in the part. It does not check for overflow.
func (p Part) Len() int64 {
	if p.Picks != nil && p.Picks.Points != nil {
		return int64(len(p.Picks.Points))
	}
	n := int64(1)
	for _, c := range p.Count {
		n *= c
	}
	return n
}

// Contiguous returns a view of a block in C order.
func Contiguous(data []byte, shape []int64, size int) View {
	return View{Data: data, Shape: shape, Strides: AppendStrides(nil, shape, size), Size: size}
}

// AppendStrides appends the strides of a block in C order, in bytes.
func AppendStrides(dst, shape []int64, size int) []int64 {
	n := len(dst)
	dst = append(dst, shape...)
	step := int64(size)
	for i := len(shape) - 1; i >= 0; i-- {
		dst[n+i] = step
		step *= shape[i]
	}
	return dst
}

// block returns the number of axes before the innermost ones that are contiguous in C
// order, and the size of these in bytes.
func (v View) block() (outer int, bytes int64) {
	outer, bytes = len(v.Shape), int64(v.Size)
	for outer > 0 && (v.Strides[outer-1] == bytes || v.Shape[outer-1] == 1) {
		outer--
		bytes *= v.Shape[outer]
	}
	return outer, bytes
}

// Bytes returns the bytes of the block. It returns false if they are not contiguous in C
// order.
func (v View) Bytes() ([]byte, bool) {
	outer, n := v.block()
	if outer > 0 {
		return nil, false
	}
	return v.Data[v.Offset : v.Offset+n : v.Offset+n], true
}

// empty reports whether the view has no elements.
func (v View) empty() bool { return slices.Contains(v.Shape, 0) }

// Sub returns the part of the block that lies in box.
func (v View) Sub(box grid.Box) View {
	shape := make([]int64, len(box))
	for i, in := range box {
		shape[i] = in.Len()
		v.Offset += in.Start * v.Strides[i]
	}
	v.Shape = shape
	return v
}

// AllEqual reports whether every element is elem, bit for bit.
func (v View) AllEqual(elem []byte) bool {
	if v.empty() {
		return true
	}
	outer, n := v.block()
	return v.rowsEqual(v.Offset, 0, outer, n, elem)
}

// Repeats returns the element that all others of the view share their memory with, and
// whether there is one. A view without elements has none.
func (v View) Repeats() (elem []byte, ok bool) {
	if v.empty() {
		return nil, false
	}
	for i, n := range v.Shape {
		if n > 1 && v.Strides[i] != 0 {
			return nil, false
		}
	}
	return v.Data[v.Offset : v.Offset+int64(v.Size)], true
}

func (v *View) rowsEqual(off int64, axis, outer int, n int64, elem []byte) bool {
	if axis == outer {
		return AllEqual(v.Data[off:off+n], elem)
	}
	for range v.Shape[axis] {
		if !v.rowsEqual(off, axis+1, outer, n, elem) {
			return false
		}
		off += v.Strides[axis]
	}
	return true
}

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

// Fill sets every element of v to elem.
func Fill(v View, elem []byte) {
	if !v.empty() {
		outer, n := v.block()
		fillRows(&v, v.Offset, 0, outer, n, elem)
	}
}

func fillRows(v *View, d int64, axis, outer int, n int64, elem []byte) {
	if axis < outer {
		for range v.Shape[axis] {
			fillRows(v, d, axis+1, outer, n, elem)
			d += v.Strides[axis]
		}
		return
	}
	FillBytes(v.Data[d:d+n], elem)
}

// FillBytes fills dst with repetitions of elem. The length of dst must be a multiple of
// that of elem.
func FillBytes(dst, elem []byte) {
	if isZero(elem) {
		clear(dst)
		return
	}
	// Every copy doubles the part that is filled.
	for done := copy(dst, elem); done < len(dst); {
		done += copy(dst[done:], dst[:done])
	}
}

// AllEqual reports whether data consists of repetitions of elem, bit for bit.
func AllEqual(data, elem []byte) bool {
	n := len(elem)
	if len(data) == 0 {
		return true
	}
	// data repeats elem if it starts with elem and each later byte equals the one n
	// before.
	return string(data[:n]) == string(elem) && string(data[n:]) == string(data[:len(data)-n])
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
