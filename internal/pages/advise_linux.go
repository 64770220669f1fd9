package pages

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const large = 2 << 20 // bytes; processors with larger ones have these too, or nothing is won

// advise gives the advice for the whole pages of b.
func advise(b []byte) {
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (large - 1)
	if n := (uintptr(len(b)) - skip) &^ (large - 1); skip < uintptr(len(b)) && n > 0 {
		_ = unix.Madvise(b[skip:skip+n], unix.MADV_HUGEPAGE) // a system without them says so, and nothing is lost
	}
}
