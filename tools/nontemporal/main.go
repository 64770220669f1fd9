// SPDX-License-Identifier: Apache-2.0

// Command nontemporal generates the AVX2 assembly of package internal/nontemporal.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"

	"varve.dev/zarr/tools/avx"
)

func main() {
	ConstraintExpr("amd64,!purego,!race") // the race detector needs Go code
	genLines()
	avx.Fence()
	Generate()
}

func genLines() {
	TEXT("lines", NOSPLIT, "func(dst, src *byte, n int)")
	Pragma("noescape")
	Doc("lines copies n blocks of 64 bytes with non-temporal stores. n must be positive, and dst aligned to 64 bytes.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	a, b := YMM(), YMM()
	avx.Loop(n, func() {
		VMOVDQU(Mem{Base: src}, a)
		VMOVDQU(Mem{Base: src, Disp: 32}, b)
		VMOVNTDQ(a, Mem{Base: dst})
		VMOVNTDQ(b, Mem{Base: dst, Disp: 32})
		ADDQ(Imm(64), src)
		ADDQ(Imm(64), dst)
	})
}
