// SPDX-License-Identifier: Apache-2.0

package main

import (
	"syscall"
	"unsafe"
)

const (
	largePage = 2 << 20
	hugePage  = 14 // MADV_HUGEPAGE
)

// advise asks for large pages for b, as the library does for memory that it fills.
func advise(b []byte) {
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (largePage - 1)
	if skip >= uintptr(len(b)) {
		return
	}
	if n := (uintptr(len(b)) - skip) &^ (largePage - 1); n > 0 {
		_ = syscall.Madvise(b[skip:skip+n], hugePage) // only advice
	}
}
