// SPDX-License-Identifier: Apache-2.0

//go:build !purego && !race

package nontemporal

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// available reports whether the processor has AVX2.
var available = cpu.X86.HasAVX2

const line = 64 // bytes of a line of the cache

// row copies a row. It writes whole cache lines of dst past the cache, and the bytes
// before and after them as usual.
func row(dst, src []byte) {
	// The first bytes end where a cache line of dst begins.
	head := int(-uintptr(unsafe.Pointer(unsafe.SliceData(dst))) & (line - 1))
	whole := (len(dst) - head) / line
	copy(dst[:head], src)
	// A row has at least Row bytes, so at least one whole line, as lines requires.
	lines(&dst[head], &src[head], whole)
	done := head + whole*line
	copy(dst[done:], src[done:])
}
