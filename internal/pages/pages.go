// Package pages asks the operating system for large pages where much memory is about to be filled: memory is handed out page by
// page when it is first touched, and of pages of 2 MiB that takes a fifth of the time that it takes of pages of 4 KiB.
package pages

import (
	"unsafe"
)

// Large asks for large pages under a slice, up to its capacity, of at least 4 MiB that is about to be filled, and returns it. It is advice:
// where the system knows no such pages, or has none, or the memory was touched before, all is as it was. Only whole pages inside of the
// slice are meant, so that no memory is taken that was not asked for.
func Large[E any](s []E) []E {
	var e E
	if n := uintptr(cap(s)) * unsafe.Sizeof(e); n >= least {
		advise(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), n))
	}
	return s
}

// least is the size from which on advice is given, in bytes: with less, little is won of a call of the system.
const least = 4 << 20
