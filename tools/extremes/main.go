// SPDX-License-Identifier: Apache-2.0

// Command extremes generates the AVX2 assembly of package internal/extremes.
//
// Each lane of a register has one number, as a key: a signed integer that rises with the
// numbers. A float is a sign and a magnitude, so its key is plus or minus the magnitude,
// and both zeros have one key. Keys beyond those of the infinities are NaN. A lane of a
// missing number is replaced by the largest key before the least is taken, and by the
// smallest one before the largest is taken. So there is no branch.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("amd64,!purego")
	for _, size := range []int{1, 2, 4, 8} {
		genScan(size, false)
	}
	genScan(4, true)
	genScan(8, true)
	Generate()
}

// The constants and the results, each 32 bytes.
const (
	flip = 32 * iota // is added to integers without sign, bit by bit
	absent
	enabled // all bits are set if there is an absent key
	filled
	largest
	infinity
)

// genScan generates the function for numbers of size bytes.
func genScan(size int, float bool) {
	name := fmt.Sprintf("scan%d", size)
	if float {
		name = fmt.Sprintf("scanFloat%d", size)
	}
	TEXT(name, NOSPLIT, "func(data *byte, n int, of, to *byte)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s scans n times 32 bytes of numbers of %d bytes, at least one time.", name, size))
	data, n := Load(Param("data"), GP64()), Load(Param("n"), GP64())
	of, to := Load(Param("of"), GP64()), Load(Param("to"), GP64())
	constant := func(at int) reg.VecVirtual {
		y := YMM()
		VMOVDQU(Mem{Base: of, Disp: at}, y)
		return y
	}
	gone, on, fill, top, bottom := constant(absent), constant(enabled), constant(filled), constant(largest), YMM()
	VPCMPEQD(bottom, bottom, bottom)
	VPXOR(top, bottom, bottom)
	least, most := YMM(), YMM()
	VMOVDQA(top, least)
	VMOVDQA(bottom, most)
	missing, nan, fills, zero := YMM(), YMM(), YMM(), YMM()
	for _, y := range []reg.VecVirtual{missing, nan, fills, zero} {
		VPXOR(y, y, y)
	}
	last := constant(flip)
	if float {
		last = constant(infinity)
	}
	Label("loop")
	x, bad, t := YMM(), YMM(), YMM()
	VMOVDQU(Mem{Base: data}, x)
	if float {
		sign, magnitude := YMM(), YMM()
		greater(size, x, zero, sign)
		VPAND(top, x, magnitude)
		greater(size, last, magnitude, bad)
		subtract(size, bad, nan, nan)
		VPXOR(magnitude, sign, x)
		subtract(size, sign, x, x)
	} else {
		VPXOR(last, x, x)
	}
	equal(size, gone, x, t)
	VPAND(on, t, t)
	if float {
		VPOR(t, bad, bad)
	} else {
		bad = t
	}
	subtract(size, bad, missing, missing)
	e := YMM()
	equal(size, fill, x, e)
	subtract(size, e, fills, fills)
	low, high := YMM(), YMM()
	VPBLENDVB(bad, top, x, low)
	VPBLENDVB(bad, bottom, x, high)
	smaller(size, low, least)
	larger(size, high, most)
	ADDQ(Imm(32), data)
	DECQ(n)
	JNZ(LabelRef("loop"))
	for i, y := range []reg.VecVirtual{least, most, missing, nan, fills} {
		VMOVDQU(y, Mem{Base: to, Disp: 32 * i})
	}
	VZEROUPPER()
	RET()
}

// greater sets to where y is greater than x.
func greater(size int, x Op, y, to reg.Register) {
	switch size {
	case 4:
		VPCMPGTD(x, y, to)
	case 8:
		VPCMPGTQ(x, y, to)
	}
}

func equal(size int, x Op, y, to reg.Register) {
	switch size {
	case 1:
		VPCMPEQB(x, y, to)
	case 2:
		VPCMPEQW(x, y, to)
	case 4:
		VPCMPEQD(x, y, to)
	case 8:
		VPCMPEQQ(x, y, to)
	}
}

// subtract sets to to y minus x.
func subtract(size int, x Op, y, to reg.Register) {
	switch size {
	case 1:
		VPSUBB(x, y, to)
	case 2:
		VPSUBW(x, y, to)
	case 4:
		VPSUBD(x, y, to)
	case 8:
		VPSUBQ(x, y, to)
	}
}

// smaller sets y to the smaller numbers of both.
func smaller(size int, x, y reg.Register) {
	switch size {
	case 1:
		VPMINSB(x, y, y)
	case 2:
		VPMINSW(x, y, y)
	case 4:
		VPMINSD(x, y, y)
	case 8:
		t := YMM()
		VPCMPGTQ(x, y, t)
		VPBLENDVB(t, x, y, y)
	}
}

// larger sets y to the larger numbers of both.
func larger(size int, x, y reg.Register) {
	switch size {
	case 1:
		VPMAXSB(x, y, y)
	case 2:
		VPMAXSW(x, y, y)
	case 4:
		VPMAXSD(x, y, y)
	case 8:
		t := YMM()
		VPCMPGTQ(y, x, t)
		VPBLENDVB(t, x, y, y)
	}
}
