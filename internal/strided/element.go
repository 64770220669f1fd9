// SPDX-License-Identifier: Apache-2.0

package strided

import "unsafe"

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
