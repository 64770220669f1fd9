package grid

import "unsafe"

// element is an element as an array of bytes, so that it is moved in one instruction whatever its alignment.
type element interface {
	[1]byte | [2]byte | [4]byte | [8]byte | [16]byte
}

// at returns the element at byte off of data; the slice expression checks the bounds.
func at[E element](data []byte, off int64) *E {
	var e E
	return (*E)(unsafe.Pointer(unsafe.SliceData(data[off : off+int64(unsafe.Sizeof(e))])))
}
