// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"varve.dev/zarr/tools/avx"
)

// Eight consecutive bytes are transposed as eight rows of eight bits. Splitting the bits
// of many bytes is then shuffling elements of eight bytes.

// swaps are the three steps that transpose 8 by 8 bits. Each exchanges the bits in mask
// with those shift bits above them.
var swaps = []struct {
	shift uint64
	mask  uint64
}{{7, 0x00aa00aa00aa00aa}, {14, 0x0000cccc0000cccc}, {28, 0x00000000f0f0f0f0}}

// masks loads the masks of the swaps.
func masks() []reg.VecVirtual {
	var list []reg.VecVirtual
	for _, s := range swaps {
		y, t := YMM(), GP64()
		MOVQ(Imm(s.mask), t)
		MOVQ(t, y.AsX())
		VPBROADCASTQ(y.AsX(), y)
		list = append(list, y)
	}
	return list
}

// transposeBits transposes the bits of every eight consecutive bytes of x.
func transposeBits(x reg.VecVirtual, masks []reg.VecVirtual) {
	t, u := YMM(), YMM()
	for i, s := range swaps {
		VPSRLQ(Imm(s.shift), x, t)
		VPXOR(x, t, t)
		VPAND(masks[i], t, t)
		VPSLLQ(Imm(s.shift), t, u)
		VPXOR(x, t, x)
		VPXOR(x, u, x)
	}
}

func genSplitBits() {
	TEXT("splitBits32", NOSPLIT, "func(dst, src *byte, stride, groups int)")
	Pragma("noescape")
	Doc("splitBits32 splits the bits of groups of 256 bytes: 32 bytes of each group go to each of eight rows, which are stride bytes apart.")
	dst, src, stride, groups := arguments()
	m, to := masks(), avx.NewRows(dst, stride, 8)
	avx.Loop(groups, func() {
		v := loadGroup(src, 8)
		for _, y := range v {
			transposeBits(y, m)
		}
		for range 4 {
			v = avx.Interleave(v, 1)
		}
		for i, y := range v {
			VMOVDQU(y, to.At(i))
		}
		ADDQ(U32(256), src)
		to.Advance(32)
	})
}

func genJoinBits() {
	TEXT("joinBits32", NOSPLIT, "func(dst, src *byte, stride, groups int)")
	Pragma("noescape")
	Doc("joinBits32 undoes splitBits32.")
	dst, src, stride, groups := arguments()
	m, from := masks(), avx.NewRows(src, stride, 8)
	avx.Loop(groups, func() {
		v := loadRows(from, 8)
		for range 3 {
			v = avx.Interleave(v, 1)
		}
		for _, y := range v {
			transposeBits(y, m)
		}
		storeGroup(v, dst)
		ADDQ(U32(256), dst)
		from.Advance(32)
	})
}
