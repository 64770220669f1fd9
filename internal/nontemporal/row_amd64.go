//go:build !purego && !race

package nontemporal

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// available is whether the processor runs the generated code.
var available = cpu.X86.HasAVX2

const line = 64 // bytes of a line of the cache

// row copies a row: whole lines of dst past the cache, and what is before and behind them
// as ever.
func row(dst, src []byte) {
	head := int(-uintptr(unsafe.Pointer(unsafe.SliceData(dst))) & (line - 1))
	whole := (len(dst) - head) / line
	copy(dst[:head], src)
	lines(&dst[head], &src[head], whole)
	done := head + whole*line
	copy(dst[done:], src[done:])
}
