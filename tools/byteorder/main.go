// SPDX-License-Identifier: Apache-2.0

// Command byteorder generates the AVX2 assembly of package internal/byteorder.
//
// A register holds 16 bytes of one row of a plane in its lower lane, and 16 bytes of
// another row in the upper one. If 16 bytes have n elements, then n registers hold a
// square of n by n elements in each lane. Number the elements of a square: the upper bits
// of the number are the register, the lower bits the element in the lane. Turning
// (transposing) the square exchanges both halves of these bits. Interleaving the elements
// of registers i and i+n/2 rotates the bits by one. So four rounds turn bytes, three turn
// elements of two bytes, and so on.
//
// The lanes of a turned register are 32 bytes of a row of the destination. The next rows
// of the source give 32 more, so that whole cache lines are written.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"varve.dev/zarr/tools/avx"
)

func main() {
	ConstraintExpr("amd64,!purego")
	for _, size := range []int{1, 2, 4, 8, 16} {
		for _, bytes := range []int{32, 64} {
			genTurn(size, bytes)
		}
	}
	avx.CopyRows()
	genStream()
	avx.Fence()
	genSwap()
	Generate()
}

// genTurn generates a function that transposes, and fills bytes of each row of dst.
func genTurn(size, bytes int) {
	name := fmt.Sprintf("turn%dto%d", size, bytes)
	TEXT(name, NOSPLIT, "func(dst, src *byte, ds, ss, groups int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s turns groups of %d columns of %d rows, elements of %d bytes. The rows of src are ss bytes apart, those of dst ds bytes.",
		name, 16/size, bytes/size, size))
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	ds, ss := Load(Param("ds"), GP64()), Load(Param("ss"), GP64())
	groups := Load(Param("groups"), GP64())
	columns := 16 / size
	to := avx.NewRows(dst, ds, min(8, columns))
	if size <= 2 {
		three := avx.Thrice(ss)
		avx.Loop(groups, func() { turnFar(size, bytes, src, ss, three, to, ds) })
		return
	}
	from := avx.NewRows(src, ss, bytes/size)
	avx.Loop(groups, func() {
		var v []reg.VecVirtual
		for row := 0; row < bytes/size; row += 2 * columns {
			v = append(v, turned(loadSquares(from, row, columns), size)...)
		}
		for i := range columns {
			for k := 0; k < bytes/32; k++ {
				VMOVDQU(v[k*columns+i], to.At(i).Offset(32*k))
			}
		}
		from.Advance(16)
		step(to, ds, columns)
	})
}

// step advances the addresses by columns rows.
func step(to avx.Rows, ds reg.Register, columns int) {
	for _, b := range to.Base {
		switch columns {
		case 1:
			ADDQ(ds, b)
		default:
			LEAQ(Mem{Base: b, Index: ds, Scale: uint8(min(8, columns))}, b)
		}
	}
}

// loadSquares loads 16 bytes of columns rows for each lane.
func loadSquares(from avx.Rows, row, columns int) []reg.VecVirtual {
	var v []reg.VecVirtual
	for i := range columns {
		v = append(v, avx.LoadPair(from.At(row+i), from.At(row+i+columns)))
	}
	return v
}

// turned turns the squares in both lanes of v.
func turned(v []reg.VecVirtual, size int) []reg.VecVirtual {
	for n := 1; n < 16/size; n *= 2 {
		v = avx.Interleave(v, size)
	}
	return v
}

// turnFar turns a group of small elements. It computes addresses again, because there are
// too few registers for the addresses of all rows. Elements of one byte would also need
// one vector register more than there are. So their first round keeps eight columns, and
// everything is done twice.
func turnFar(size, bytes int, src, ss, three reg.Register, to avx.Rows, ds reg.Register) {
	passes := 2 / size // of eight columns each
	for half := range passes {
		p := GP64()
		MOVQ(src, p)
		for k := 0; k < bytes/32; k++ {
			e := newEights(p, ss, three, 4/size)
			v := turnedFar(e, size, half)
			if k+1 < bytes/32 {
				LEAQ(Mem{Base: e[len(e)-1].Base[0], Index: ss, Scale: 4}, p)
			}
			for i, y := range v {
				VMOVDQU(y, to.At(i).Offset(32*k))
			}
		}
		step(to, ds, 8)
	}
	ADDQ(Imm(16), src)
}

// eights are the addresses of four rows each, eight rows apart.
type eights []avx.Rows

func newEights(base, ss, three reg.Register, n int) eights {
	var e eights
	for i := range n {
		p := GP64()
		if i == 0 {
			MOVQ(base, p)
		} else {
			LEAQ(Mem{Base: e[i-1].Base[0], Index: ss, Scale: 8}, p)
		}
		e = append(e, avx.Rows{Base: []reg.Register{p}, One: ss, Three: three})
	}
	return e
}

// four advances by four rows.
func (e eights) four() {
	for _, r := range e {
		LEAQ(Mem{Base: r.Base[0], Index: r.One, Scale: 4}, r.Base[0])
	}
}

// turnedFar loads 32 rows of elements of one byte, or 16 rows of two bytes. It returns
// eight columns, one per register.
func turnedFar(e eights, size, half int) []reg.VecVirtual {
	var v []reg.VecVirtual
	for i := range 8 {
		if i == 4 {
			e.four()
		}
		if size == 2 {
			v = append(v, avx.LoadPair(e[0].At(i%4), e[1].At(i%4)))
			continue
		}
		x := avx.LoadPair(e[0].At(i%4), e[2].At(i%4))
		y := avx.LoadPair(e[1].At(i%4), e[3].At(i%4))
		if half == 0 {
			avx.UnpackLow(size, y, x, x)
		} else {
			avx.UnpackHigh(size, y, x, x)
		}
		v = append(v, x)
	}
	for range 3 {
		v = avx.Interleave(v, size)
	}
	return v
}

// genStream generates the function that writes lines past the cache. It is for data that
// is written once and does not fit the cache.
func genStream() {
	TEXT("stream", NOSPLIT, "func(dst, src, next *byte, ds, ss, ns, rows, bytes, skip int)")
	Pragma("noescape")
	Doc("stream copies rows of some bytes, and the bytes kept before them in src, to the cache lines of dst that they complete, and keeps",
		"their last 64 bytes there. With a skip of 64 instead of 0, it omits the line that a row of dst begins in the middle of.",
		"The rows to read next begin at next, ns bytes apart. They are prefetched to the L2 cache, because the L1 cache has no room for them.")
	dst, src, next := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("next"), GP64())
	rows, size := Load(Param("rows"), GP64()), Load(Param("bytes"), GP64())
	a, b := YMM(), YMM()
	avx.Loop(rows, func() {
		from, to, ahead, end, part := GP64(), GP64(), GP64(), GP64(), GP64()
		MOVQ(dst, part)
		ANDQ(Imm(63), part)
		MOVQ(src, from)
		SUBQ(part, from)
		MOVQ(dst, to)
		SUBQ(part, to)
		LEAQ(Mem{Base: dst, Index: size, Scale: 1}, end)
		ANDQ(I8(-64), end)
		NEGQ(part) // sets the carry where a row begins within a line
		SBBQ(part, part)
		ANDQ(NewParamAddr("skip", 64), part)
		ADDQ(part, from)
		ADDQ(part, to)
		MOVQ(next, ahead)
		JMP(LabelRef("check"))
		Label("line")
		VMOVDQU(Mem{Base: from}, a)
		VMOVDQU(Mem{Base: from, Disp: 32}, b)
		PREFETCHT1(Mem{Base: ahead})
		VMOVNTDQ(a, Mem{Base: to})
		VMOVNTDQ(b, Mem{Base: to, Disp: 32})
		ADDQ(Imm(64), from)
		ADDQ(Imm(64), to)
		ADDQ(Imm(64), ahead)
		Label("check")
		CMPQ(to, end)
		JB(LabelRef("line"))
		VMOVDQU(Mem{Base: src, Index: size, Scale: 1, Disp: -64}, a)
		VMOVDQU(Mem{Base: src, Index: size, Scale: 1, Disp: -32}, b)
		VMOVDQU(a, Mem{Base: src, Disp: -64})
		VMOVDQU(b, Mem{Base: src, Disp: -32})
		ADDQ(NewParamAddr("ds", 24), dst)
		ADDQ(NewParamAddr("ss", 32), src)
		ADDQ(NewParamAddr("ns", 40), next)
	})
}

func genSwap() {
	TEXT("swap128", NOSPLIT, "func(dst, src, order *byte, groups int)")
	Pragma("noescape")
	Doc("swap128 copies groups of 128 bytes, and reorders every 16 bytes by the 16 indices in order. dst may be src.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	order := Load(Param("order"), GP64())
	groups := Load(Param("groups"), GP64())
	mask := YMM()
	VBROADCASTI128(Mem{Base: order}, mask)
	avx.Loop(groups, func() {
		var v []reg.VecVirtual
		for i := range 4 {
			y := YMM()
			VMOVDQU(Mem{Base: src, Disp: 32 * i}, y)
			VPSHUFB(mask, y, y)
			v = append(v, y)
		}
		for i, y := range v {
			VMOVDQU(y, Mem{Base: dst, Disp: 32 * i})
		}
		ADDQ(U32(128), src)
		ADDQ(U32(128), dst)
	})
}
