// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"bytes"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

const large = 2 << 20 // bytes of a large page; with another page size the advice has no effect

// asked reports whether the system uses large pages only where programs ask for them. In
// the other modes, always and never, advice would change nothing.
var asked = sync.OnceValue(func() bool {
	mode, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	return err == nil && bytes.Contains(mode, []byte("[madvise]"))
})

// advise gives the advice for the whole large pages of b, or withdraws it.
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
		_ = unix.Madvise(b[skip:skip+n], how) // ignore errors: it is only advice
	}
}
