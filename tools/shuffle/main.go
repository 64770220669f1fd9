// SPDX-License-Identifier: Apache-2.0

// Command shuffle generates the AVX2 assembly of package internal/shuffle.
//
// A register has two lanes of 16 bytes, which hold bytes of two groups of 16 elements.
// Number the bytes of a lane of all registers of a group: the upper bits of the number
// are the register, the lower four bits the byte in the lane. Shuffling rotates the bits
// of this number by four. Interleaving the bytes of registers i and i+size/2 rotates them
// by one. So four rounds of interleaving shuffle, and log2(size) rounds unshuffle.
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
	for _, size := range []int{2, 4, 8} {
		genShuffle(size)
		genUnshuffle(size)
	}
	genShuffleColumns()
	genUnshuffleColumns()
	avx.CopyRows()
	genPack()
	genSplitBits()
	genJoinBits()
	Generate()
}

// arguments loads dst, src, stride and the number of groups, which is at least one.
func arguments() (dst, src, stride, groups reg.Register) {
	return Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("stride"), GP64()), Load(Param("groups"), GP64())
}

func genShuffle(size int) {
	TEXT(fmt.Sprintf("shuffle%d", size), NOSPLIT, "func(dst, src *byte, stride, groups int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("shuffle%d shuffles groups of 32 elements of %d bytes. The first bytes go to the row dst, byte k to a row k*stride bytes later.", size, size))
	dst, src, stride, groups := arguments()
	to := avx.NewRows(dst, stride, size)
	avx.Loop(groups, func() {
		v := loadGroup(src, size)
		for range 4 {
			v = avx.Interleave(v, 1)
		}
		for i, y := range v {
			VMOVDQU(y, to.At(i))
		}
		ADDQ(U32(32*size), src)
		to.Advance(32)
	})
}

// loadGroup loads 32 consecutive elements.
func loadGroup(src reg.Register, size int) []reg.VecVirtual {
	var v []reg.VecVirtual
	for i := range size {
		v = append(v, avx.LoadPair(Mem{Base: src, Disp: 16 * i}, Mem{Base: src, Disp: 16 * (i + size)}))
	}
	return v
}

func genUnshuffle(size int) {
	TEXT(fmt.Sprintf("unshuffle%d", size), NOSPLIT, "func(dst, src *byte, stride, groups int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("unshuffle%d undoes shuffle%d: bytes stride bytes apart in src go to consecutive elements.", size, size))
	dst, src, stride, groups := arguments()
	from := avx.NewRows(src, stride, size)
	avx.Loop(groups, func() {
		v := loadRows(from, size)
		for round := size; round > 1; round /= 2 {
			v = avx.Interleave(v, 1)
		}
		storeGroup(v, dst)
		ADDQ(U32(32*size), dst)
		from.Advance(32)
	})
}

// loadRows loads 32 bytes of each row.
func loadRows(from avx.Rows, n int) []reg.VecVirtual {
	var v []reg.VecVirtual
	for i := range n {
		y := YMM()
		VMOVDQU(from.At(i), y)
		v = append(v, y)
	}
	return v
}

// storeGroup stores 32 consecutive elements.
func storeGroup(v []reg.VecVirtual, dst reg.Register) {
	for i, y := range v {
		avx.StorePair(y, Mem{Base: dst, Disp: 16 * i}, Mem{Base: dst, Disp: 16 * (i + len(v))})
	}
}
