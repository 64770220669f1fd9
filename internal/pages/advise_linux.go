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

// asked reports whether the system uses large pages only if programs ask for them. In the
// other modes, always and never, advice has no effect.
var asked = sync.OnceValue(func() bool {
	mode, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	return err == nil && bytes.Contains(mode, []byte("[madvise]"))
})

// advise gives or withdraws the advice for all large pages that lie within b.
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
		_ = unix.Madvise(b[skip:skip+n], how) // only advice, so ignore errors
	}
}
