// SPDX-License-Identifier: Apache-2.0

package strided

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
