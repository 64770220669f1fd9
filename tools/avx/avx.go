// SPDX-License-Identifier: Apache-2.0

// Package avx has the parts that generators of AVX2 assembly share.
package avx

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Rows are the addresses of rows that begin stride bytes apart.
type Rows struct {
	Base  []reg.Register // every fourth row
	One   reg.Register   // the stride
	Three reg.Register   // three strides
}

// NewRows returns addresses for n rows. Advance changes the register base.
func NewRows(base, stride reg.Register, n int) Rows {
	r := Rows{Base: []reg.Register{base}, One: stride}
	if n > 2 {
		r.Three = Thrice(stride)
	}
	for i := 4; i < n; i += 4 {
		next := GP64()
		LEAQ(Mem{Base: r.Base[len(r.Base)-1], Index: stride, Scale: 4}, next)
		r.Base = append(r.Base, next)
	}
	return r
}

// Thrice returns three strides.
func Thrice(stride reg.Register) reg.Register {
	three := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, three)
	return three
}

// At returns the address of row i.
func (r Rows) At(i int) Mem {
	m := Mem{Base: r.Base[i/4]}
	switch i % 4 {
	case 1:
		m.Index, m.Scale = r.One, 1
	case 2:
		m.Index, m.Scale = r.One, 2
	case 3:
		m.Index, m.Scale = r.Three, 1
	}
	return m
}

// Advance moves all rows by n bytes.
func (r Rows) Advance(n int) {
	for _, b := range r.Base {
		ADDQ(Imm(uint64(n)), b)
	}
}

// Interleave does one round: it interleaves the numbers in registers i and i+half into
// registers 2i and 2i+1. The numbers have size bytes: 1, 2, 4 or 8.
func Interleave(v []reg.VecVirtual, size int) []reg.VecVirtual {
	half := len(v) / 2
	out := make([]reg.VecVirtual, 0, len(v))
	for i := range half {
		low := YMM()
		UnpackLow(size, v[i+half], v[i], low)
		UnpackHigh(size, v[i+half], v[i], v[i])
		out = append(out, low, v[i])
	}
	return out
}

// UnpackLow interleaves the lower halves of the lanes of y and x, numbers of size bytes.
func UnpackLow(size int, x Op, y, to reg.Register) {
	switch size {
	case 1:
		VPUNPCKLBW(x, y, to)
	case 2:
		VPUNPCKLWD(x, y, to)
	case 4:
		VPUNPCKLDQ(x, y, to)
	case 8:
		VPUNPCKLQDQ(x, y, to)
	}
}

// UnpackHigh interleaves the upper halves of the lanes.
func UnpackHigh(size int, x Op, y, to reg.Register) {
	switch size {
	case 1:
		VPUNPCKHBW(x, y, to)
	case 2:
		VPUNPCKHWD(x, y, to)
	case 4:
		VPUNPCKHDQ(x, y, to)
	case 8:
		VPUNPCKHQDQ(x, y, to)
	}
}

// LoadPair loads 16 bytes for each lane.
func LoadPair(low, high Mem) reg.VecVirtual {
	y := YMM()
	VPXOR(y, y, y) // costs nothing, and tells the generator that old contents are not used
	VMOVDQU(low, y.AsX())
	VINSERTI128(Imm(1), high, y, y)
	return y
}

// StorePair stores the lanes of y.
func StorePair(y reg.VecVirtual, low, high Mem) {
	VMOVDQU(y.AsX(), low)
	VEXTRACTI128(Imm(1), y, high)
}

// Loop repeats body count times, and ends the function.
func Loop(count reg.Register, body func()) {
	Label("loop")
	body()
	DECQ(count)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// Fence generates the function to call after stores that bypass the cache.
func Fence() {
	TEXT("fence", NOSPLIT, "func()")
	Doc("fence orders earlier stores that bypass the cache before all later stores.")
	SFENCE()
	RET()
}

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
