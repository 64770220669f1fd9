package pages

import (
	"bytes"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

const large = 2 << 20 // bytes; processors with larger ones have these too, or nothing is won

// asked is whether the system makes pages large where it is asked to, and only there.
// Otherwise there is nothing to ask for, and nothing to take back.
var asked = sync.OnceValue(func() bool {
	mode, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	return err == nil && bytes.Contains(mode, []byte("[madvise]"))
})

// advise gives the advice for the whole pages of b, or takes it back.
func advise(b []byte, on bool) {
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (large - 1)
	if skip >= uintptr(len(b)) || !asked() {
		return
	}
	n := (uintptr(len(b)) - skip) &^ (large - 1)
	how := unix.MADV_NOHUGEPAGE
	if on {
		how = unix.MADV_HUGEPAGE
	}
	if n > 0 {
		_ = unix.Madvise(b[skip:skip+n], how) // a system without them says so, and nothing is lost
	}
}
