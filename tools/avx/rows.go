// SPDX-License-Identifier: Apache-2.0

package avx

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// CopyRows generates a function that copies rows. It writes both halves of a cache line
// one after the other, in case the line leaves the cache soon.
func CopyRows() {
	TEXT("copyRows", NOSPLIT, "func(dst, src *byte, ds, ss, rows, bytes int)")
	Pragma("noescape")
	Doc("copyRows copies rows of some bytes, a multiple of 64 that is not 0. The rows of src are ss bytes apart, those of dst ds bytes.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	ds, ss := Load(Param("ds"), GP64()), Load(Param("ss"), GP64())
	rows, size := Load(Param("rows"), GP64()), Load(Param("bytes"), GP64())
	done := GP64()
	a, b := YMM(), YMM()
	Loop(rows, func() {
		XORQ(done, done)
		Label("line")
		VMOVDQU(Mem{Base: src, Index: done, Scale: 1}, a)
		VMOVDQU(Mem{Base: src, Disp: 32, Index: done, Scale: 1}, b)
		VMOVDQU(a, Mem{Base: dst, Index: done, Scale: 1})
		VMOVDQU(b, Mem{Base: dst, Disp: 32, Index: done, Scale: 1})
		ADDQ(Imm(64), done)
		CMPQ(done, size)
		JB(LabelRef("line"))
		ADDQ(ds, dst)
		ADDQ(ss, src)
	})
}
