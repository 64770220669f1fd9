// Command shuffle generates the AVX2 assembly of package internal/shuffle.
//
// Registers hold 16 bytes a lane, and the two lanes of one hold two groups of 16 elements. The place of a byte in the size
// registers of a group is a number: the register, then the byte in it. To shuffle is to rotate the bits of that number
// by four, and to interleave the bytes of the registers i and i+size/2 rotates it by one. So four rounds shuffle, and as many
// rounds as the size has bits unshuffle.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("amd64,!purego")
	for _, size := range []int{2, 4, 8} {
		genShuffle(size)
		genUnshuffle(size)
	}
	genShuffleColumns()
	genUnshuffleColumns()
	genSplitBits()
	genJoinBits()
	Generate()
}

// rows are addresses of memory that begins stride bytes apart.
type rows struct {
	base  []reg.Register // every fourth row
	one   reg.Register   // the stride
	three reg.Register   // three strides
}

// newRows makes addresses for n rows; base is changed while rows are used.
func newRows(base, stride reg.Register, n int) rows {
	r := rows{base: []reg.Register{base}, one: stride}
	if n > 2 {
		three := GP64()
		LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, three)
		r.three = three
	}
	for i := 4; i < n; i += 4 {
		next := GP64()
		LEAQ(Mem{Base: r.base[len(r.base)-1], Index: stride, Scale: 4}, next)
		r.base = append(r.base, next)
	}
	return r
}

// at returns the address of row i.
func (r rows) at(i int) Mem {
	m := Mem{Base: r.base[i/4]}
	switch i % 4 {
	case 1:
		m.Index, m.Scale = r.one, 1
	case 2:
		m.Index, m.Scale = r.one, 2
	case 3:
		m.Index, m.Scale = r.three, 1
	}
	return m
}

// advance moves all rows by n bytes.
func (r rows) advance(n int) {
	for _, b := range r.base {
		ADDQ(Imm(uint64(n)), b)
	}
}

// interleave makes one round: byte by byte of the registers i and i+half become the registers 2i and 2i+1.
func interleave(v []reg.VecVirtual) []reg.VecVirtual {
	half := len(v) / 2
	out := make([]reg.VecVirtual, 0, len(v))
	for i := range half {
		low := YMM()
		VPUNPCKLBW(v[i+half], v[i], low)
		VPUNPCKHBW(v[i+half], v[i], v[i])
		out = append(out, low, v[i])
	}
	return out
}

// loadPair loads 16 bytes for each lane.
func loadPair(low, high Mem) reg.VecVirtual {
	y := YMM()
	VPXOR(y, y, y) // costs nothing, and tells the generator that the upper lane is not from before
	VMOVDQU(low, y.AsX())
	VINSERTI128(Imm(1), high, y, y)
	return y
}

// storePair stores the lanes of y.
func storePair(y reg.VecVirtual, low, high Mem) {
	VMOVDQU(y.AsX(), low)
	VEXTRACTI128(Imm(1), y, high)
}

// arguments loads dst, src, stride and the number of groups, of which there is at least one.
func arguments() (dst, src, stride, groups reg.Register) {
	return Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("stride"), GP64()), Load(Param("groups"), GP64())
}

// loop repeats body as often as count says.
func loop(count reg.Register, body func()) {
	Label("loop")
	body()
	DECQ(count)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func genShuffle(size int) {
	TEXT(fmt.Sprintf("shuffle%d", size), NOSPLIT, "func(dst, src *byte, stride, groups int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("shuffle%d shuffles groups of 32 elements of %d bytes. Their first bytes go to dst, the others to where stride bytes more lead.", size, size))
	dst, src, stride, groups := arguments()
	to := newRows(dst, stride, size)
	loop(groups, func() {
		v := loadGroup(src, size)
		for range 4 {
			v = interleave(v)
		}
		for i, y := range v {
			VMOVDQU(y, to.at(i))
		}
		ADDQ(U32(32*size), src)
		to.advance(32)
	})
}

// loadGroup loads 32 elements that follow each other.
func loadGroup(src reg.Register, size int) []reg.VecVirtual {
	var v []reg.VecVirtual
	for i := range size {
		v = append(v, loadPair(Mem{Base: src, Disp: 16 * i}, Mem{Base: src, Disp: 16 * (i + size)}))
	}
	return v
}

func genUnshuffle(size int) {
	TEXT(fmt.Sprintf("unshuffle%d", size), NOSPLIT, "func(dst, src *byte, stride, groups int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("unshuffle%d undoes shuffle%d: what lies stride bytes apart in src goes to elements that follow each other.", size, size))
	dst, src, stride, groups := arguments()
	from := newRows(src, stride, size)
	loop(groups, func() {
		v := loadRows(from, size)
		for round := size; round > 1; round /= 2 {
			v = interleave(v)
		}
		storeGroup(v, dst)
		ADDQ(U32(32*size), dst)
		from.advance(32)
	})
}

// loadRows loads 32 bytes of each row.
func loadRows(from rows, n int) []reg.VecVirtual {
	var v []reg.VecVirtual
	for i := range n {
		y := YMM()
		VMOVDQU(from.at(i), y)
		v = append(v, y)
	}
	return v
}

// storeGroup stores 32 elements one after the other.
func storeGroup(v []reg.VecVirtual, dst reg.Register) {
	for i, y := range v {
		storePair(y, Mem{Base: dst, Disp: 16 * i}, Mem{Base: dst, Disp: 16 * (i + len(v))})
	}
}
