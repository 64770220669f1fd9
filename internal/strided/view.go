// SPDX-License-Identifier: Apache-2.0

// Package strided copies and fills blocks of elements in memory, whatever their layout.
//
// A [View] is a block seen through strides: rows of a larger array, a column of a table,
// or a reversed axis. [Copy] copies elements between two views of one shape. It copies
// whole rows if both views have them, and planes if their axes are in another order. A
// [Part] selects some elements of a block. Its [Picks] name elements that are not evenly
// spaced. A [Heap] holds the bytes of elements of variable length.
//
// No function allocates memory per element, or checks what the caller guarantees: that
// shapes agree, and that all offsets lie within Data.
package strided

import (
	"slices"
	"unsafe"

	"varve.dev/zarr/grid"
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

// Repeats returns the single element in memory that a view with zero strides repeats. It
// returns false if elements have memory of their own, or if there are none.
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

// element is an element as an array of bytes. It is copied in one instruction and needs
// no alignment.
type element interface {
	[1]byte | [2]byte | [4]byte | [8]byte | [16]byte
}

// at returns the element at byte off of data. It panics if the element does not lie
// within data.
func at[E element](data []byte, off int64) *E {
	var e E
	return (*E)(unsafe.Pointer(unsafe.SliceData(data[off : off+int64(unsafe.Sizeof(e))])))
}

// AppendElements appends the bytes of the elements of v, in C order, to data, and the end
// of each within data to offsets. v must have a heap.
func (v View) AppendElements(data []byte, offsets []int64) ([]byte, []int64) {
	for ref := range v.elements {
		data = append(data, v.Heap.Bytes(ref)...)
		offsets = append(offsets, int64(len(data)))
	}
	return data, offsets
}

// ElementBytes returns the number of bytes of the elements of v. If v has a heap, these
// are the bytes that the references refer to.
func (v View) ElementBytes() (n int64) {
	if v.Heap == nil {
		n = int64(v.Size)
		for _, l := range v.Shape {
			n *= l
		}
		return n
	}
	for ref := range v.elements {
		_, _, length := loadRef(ref)
		n += int64(length)
	}
	return n
}

// elements yields the bytes of every element of v in C order. If v has a heap, these are
// references.
func (v View) elements(yield func(elem []byte) bool) {
	if !v.empty() {
		v.walk(v.Offset, 0, yield)
	}
}

// walk yields the elements at off along the axes from axis on.
func (v *View) walk(off int64, axis int, yield func([]byte) bool) bool {
	if axis == len(v.Shape) {
		return yield(v.Data[off : off+int64(v.Size)])
	}
	for range v.Shape[axis] {
		if !v.walk(off, axis+1, yield) {
			return false
		}
		off += v.Strides[axis]
	}
	return true
}

// adopt copies elements from another heap, together with their bytes.
func adopt(dst, src View) {
	n := int64(RefSize)
	for _, l := range dst.Shape {
		n *= l
	}
	// Copy the references in C order to a block of their own, and replace each there by a
	// reference to the same bytes in the heap of dst.
	refs := View{Data: make([]byte, n), Shape: dst.Shape, Strides: AppendStrides(nil, dst.Shape, RefSize), Size: RefSize}
	Move(refs, src)
	dst.Heap.take(refs.Data, src.Heap)
	Move(dst, refs)
}

// reverses reports whether elements of n bytes are adjacent on both sides but in opposite
// orders.
func reverses(ds, ss, n, count int64) bool {
	return count > 1 && (ds == n && ss == -n || ds == -n && ss == n)
}

// copyReversed copies count elements in reverse order. d and s are the offsets of the
// first one in dst and src.
func copyReversed[E element](dst, src []byte, d, s, ds int64, count int64) {
	n := int64(unsafe.Sizeof(*new(E)))
	// Start at the lowest offset on the side that runs backwards.
	if ds < 0 {
		d -= (count - 1) * n
	} else {
		s -= (count - 1) * n
	}
	to := unsafe.Slice(at[E](dst[:d+count*n], d), count)
	from := unsafe.Slice(at[E](src[:s+count*n], s), count)
	for len(from) >= 4 {
		last := to[len(to)-4:][:4]
		last[3], last[2], last[1], last[0] = from[0], from[1], from[2], from[3]
		from, to = from[4:], to[:len(to)-4]
	}
	for i, e := range from {
		to[len(from)-1-i] = e
	}
}
