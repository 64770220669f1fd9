// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"varve.dev/zarr/tools/avx"
)

// Elements of 16 bytes would need one register more than there are. But after the first
// round, bytes from the upper and the lower halves of registers are never mixed again. So
// each half is shuffled separately in eight registers.

// halves are sixteen rows of bytes. Only the first or the last eight have addresses at a
// time.
type halves struct {
	avx.Rows
	back reg.Register // from the last eight rows to the first, 32 bytes further
}

func newHalves(base, stride reg.Register) halves {
	h := halves{avx.NewRows(base, stride, 8), GP64()}
	MOVQ(stride, h.back)
	SHLQ(Imm(3), h.back)
	SUBQ(Imm(32), h.back)
	return h
}

// up moves the addresses from the first eight rows to the last.
func (h halves) up() {
	for _, b := range h.Base {
		LEAQ(Mem{Base: b, Index: h.One, Scale: 8}, b)
	}
}

// next moves the addresses from the last eight rows to the first of the next group.
func (h halves) next() {
	for _, b := range h.Base {
		SUBQ(h.back, b)
	}
}

// elements are the addresses of four elements of each quarter of a group, which begin
// step bytes apart.
type elements [4]avx.Rows

func newElements(base, step, three reg.Register) elements {
	var e elements
	for i := range e {
		p := GP64()
		if i == 0 {
			MOVQ(base, p)
		} else {
			LEAQ(Mem{Base: e[i-1].Base[0], Index: step, Scale: 8}, p)
		}
		e[i] = avx.Rows{Base: []reg.Register{p}, One: step, Three: three}
	}
	return e
}

// four advances by four elements.
func (e elements) four() {
	for _, r := range e {
		LEAQ(Mem{Base: r.Base[0], Index: r.One, Scale: 4}, r.Base[0])
	}
}

// end sets p to the end of the 32 elements. It must be called after four.
func (e elements) end(p reg.Register) {
	LEAQ(Mem{Base: e[3].Base[0], Index: e[3].One, Scale: 4}, p)
}

func genShuffleColumns() {
	TEXT("shuffleColumns", NOSPLIT, "func(dst, src *byte, stride, step, groups int)")
	Pragma("noescape")
	Doc("shuffleColumns shuffles 16 bytes of each element, in groups of 32 elements that begin step bytes apart.")
	dst, src, stride, groups := arguments()
	step := Load(Param("step"), GP64())
	to, three := newHalves(dst, stride), GP64()
	LEAQ(Mem{Base: step, Index: step, Scale: 2}, three)
	avx.Loop(groups, func() {
		for half := range 2 {
			if half == 1 {
				to.up()
			}
			e := newElements(src, step, three)
			v := loadColumns(e, half)
			if half == 1 {
				e.end(src)
			}
			for range 3 {
				v = avx.Interleave(v, 1)
			}
			for i, y := range v {
				VMOVDQU(y, to.At(i))
			}
		}
		to.next()
	})
}

// loadColumns loads 32 elements and does the first round of interleaving, of which it
// keeps one half.
func loadColumns(e elements, half int) []reg.VecVirtual {
	var v []reg.VecVirtual
	for i := range 8 {
		if i == 4 {
			e.four()
		}
		x := avx.LoadPair(e[0].At(i%4), e[2].At(i%4))
		y := avx.LoadPair(e[1].At(i%4), e[3].At(i%4))
		if half == 0 {
			VPUNPCKLBW(y, x, x)
		} else {
			VPUNPCKHBW(y, x, x)
		}
		v = append(v, x)
	}
	return v
}

func genUnshuffleColumns() {
	TEXT("unshuffleColumns", NOSPLIT, "func(dst, src *byte, stride, step, groups int)")
	Pragma("noescape")
	Doc("unshuffleColumns undoes shuffleColumns.")
	dst, src, stride, groups := arguments()
	step := Load(Param("step"), GP64())
	from, three := newHalves(src, stride), GP64()
	LEAQ(Mem{Base: step, Index: step, Scale: 2}, three)
	avx.Loop(groups, func() {
		for half := range 2 {
			v := loadHalf(from, half)
			for range 3 {
				v = avx.Interleave(v, 1)
			}
			e := newElements(dst, step, three)
			storeColumns(v, e, half)
			if half == 1 {
				e.end(dst)
			}
		}
		from.next()
	})
}

// loadHalf loads 32 bytes of each of sixteen rows and does the first round of
// interleaving, of which it keeps one half. After the second half, the addresses are
// those of the last eight rows.
func loadHalf(from halves, half int) []reg.VecVirtual {
	v := loadRows(from.Rows, 8)
	from.up()
	for i, x := range v {
		if half == 0 {
			VPUNPCKLBW(from.At(i), x, x)
		} else {
			VPUNPCKHBW(from.At(i), x, x)
		}
	}
	if half == 0 {
		from.next()
		for _, b := range from.Base {
			SUBQ(Imm(32), b)
		}
	}
	return v
}

// storeColumns stores the first or the last eight of the sixteen elements of each lane.
func storeColumns(v []reg.VecVirtual, e elements, half int) {
	for i, y := range v {
		if i == 4 {
			e.four()
		}
		avx.StorePair(y, e[half].At(i%4), e[half+2].At(i%4))
	}
}

func genPack() {
	TEXT("pack", NOSPLIT, "func(dst, src *byte, size, count int)")
	Pragma("noescape")
	Doc("pack copies elements of size bytes from places 16 bytes apart in src to consecutive places. It writes 16 bytes each; the next element overwrites the rest.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	size, count := Load(Param("size"), GP64()), Load(Param("count"), GP64())
	x := XMM()
	avx.Loop(count, func() {
		VMOVDQU(Mem{Base: src}, x)
		VMOVDQU(x, Mem{Base: dst})
		ADDQ(Imm(16), src)
		ADDQ(size, dst)
	})
}
