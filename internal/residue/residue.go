// SPDX-License-Identifier: Apache-2.0

// Package residue computes sums of long strings of bytes from their parts, in any order.
//
// The string is read as little-endian words of 64 bits, and these as the coefficients of
// a polynomial: its value at [base], modulo the prime 2^127 - 1, is the sum of the
// string. The part of a string at an offset contributes a number that depends on nothing
// but its bytes and the offset, so the parts may be added in any order. Two different
// strings of n words have the same sum for at most n of the 2^127 - 1 possible bases.
// The base is public, so the sum finds accidents, and no forgeries.
package residue

import (
	"encoding/binary"
	"math/bits"
	"sync"
)

// Number is a number modulo the prime 2^127 - 1. The zero value is 0.
type Number struct{ hi, lo uint64 }

// base is made of the first 128 binary digits of the fraction of pi.
var base = Number{0x243f6a8885a308d3, 0x13198a2e03707344}

// top is the high word of the prime. The low word has all bits set.
const top = 1<<63 - 1

// reduced returns hi:lo, of up to 128 bits, modulo the prime.
func reduced(hi, lo uint64) Number {
	// 2^127 is 1 modulo the prime, so the bits above it are added.
	lo, carry := bits.Add64(lo, hi>>63, 0)
	hi = hi&top + carry
	if hi>>63 != 0 { // only for 2^127, from a carry through all bits
		return Number{0, 1}
	}
	if hi == top && lo == 1<<64-1 {
		return Number{}
	}
	return Number{hi, lo}
}

// Plus returns a + b.
func (a Number) Plus(b Number) Number {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry) // at most 2^128 - 4 in all
	return reduced(hi, lo)
}

// Minus returns a - b.
func (a Number) Minus(b Number) Number {
	// The prime minus b has the inverted bits of b.
	return a.Plus(reduced(^b.hi&top, ^b.lo))
}

// Times returns a · b.
func (a Number) Times(b Number) Number {
	// The product is w3:w2:w1:w0, below 2^254.
	h0, w0 := bits.Mul64(a.lo, b.lo)
	h1, l1 := bits.Mul64(a.hi, b.lo)
	h2, l2 := bits.Mul64(a.lo, b.hi)
	h3, l3 := bits.Mul64(a.hi, b.hi)
	w1, c := bits.Add64(h0, l1, 0)
	w2, c := bits.Add64(h1, h2, c)
	w3 := h3 + c
	w1, c = bits.Add64(w1, l2, 0)
	w2, c = bits.Add64(w2, l3, c)
	w3 += c
	// Cut it at bit 127 and add both parts, each below 2^127.
	low := Number{w1 & top, w0}
	high := Number{w3<<1 | w2>>63, w2<<1 | w1>>63}
	return low.Plus(high)
}

// Bytes returns the 16 bytes of the number, the highest first.
func (a Number) Bytes() [16]byte {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], a.hi)
	binary.BigEndian.PutUint64(b[8:], a.lo)
	return b
}

// FromBytes returns the number that [Number.Bytes] has returned.
func FromBytes(b [16]byte) Number {
	return reduced(binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:]))
}

const (
	word  = 8  // bytes
	block = 64 // words whose products are added before they are reduced
)

// powers are the powers of the base that sums need.
type powers struct {
	first  [block]Number     // base^i
	block  Number            // base^block
	window [word][256]Number // base^(i · 256^k)
}

// ofBase computes the powers at their first use.
var ofBase = sync.OnceValue(func() *powers {
	p := &powers{}
	p.first[0] = Number{0, 1}
	for i := 1; i < block; i++ {
		p.first[i] = p.first[i-1].Times(base)
	}
	p.block = p.first[block-1].Times(base)
	step := base
	for k := range p.window {
		p.window[k][0] = Number{0, 1}
		for i := 1; i < 256; i++ {
			p.window[k][i] = p.window[k][i-1].Times(step)
		}
		step = p.window[k][255].Times(step)
	}
	return p
})

// power returns base^n.
func (p *powers) power(n uint64) Number {
	result := p.window[0][n&255]
	for k := 1; n > 255; k++ {
		n >>= 8
		if n&255 != 0 {
			result = result.Times(p.window[k][n&255])
		}
	}
	return result
}

// Of returns what data contributes to the sum of a string that contains it at offset,
// counted in bytes.
func Of(data []byte, offset int64) Number {
	if len(data) == 0 {
		return Number{}
	}
	p := ofBase()
	var sum Number
	if skip := int(offset % word); skip > 0 {
		// The first word of the string that data reaches into has other bytes before it.
		n := min(len(data), word-skip)
		sum = Number{0, partial(data[:n]) << (8 * skip)}
		if data = data[n:]; len(data) > 0 {
			sum = sum.Plus(p.aligned(data).Times(base))
		}
	} else {
		sum = p.aligned(data)
	}
	if n := uint64(offset / word); n > 0 {
		sum = sum.Times(p.power(n))
	}
	return sum
}

// partial returns less than a word, or one, as a number.
func partial(data []byte) uint64 {
	var w [word]byte
	copy(w[:], data)
	return binary.LittleEndian.Uint64(w[:])
}

// aligned returns the sum of a string.
func (p *powers) aligned(data []byte) Number {
	const size = block * word
	whole := len(data) / size * size
	sum := p.short(data[whole:])
	// From the last block to the first: each step multiplies what follows.
	for at := whole - size; at >= 0; at -= size {
		sum = sum.Times(p.block).Plus(p.ofWords(data[at : at+size]))
	}
	return sum
}

// short returns the sum of a string of less than a block.
func (p *powers) short(data []byte) Number {
	n := len(data) / word
	sum := p.ofWords(data[:n*word])
	if rest := data[n*word:]; len(rest) > 0 {
		sum = sum.Plus(p.first[n].Times(Number{0, partial(rest)}))
	}
	return sum
}

// ofWords returns the sum of at most a block of words. It adds the products with the low
// and the high words of the powers, of 192 bits each, and reduces them once.
func (p *powers) ofWords(data []byte) Number {
	var l0, l1, l2, h0, h1, h2, c uint64
	for i := range p.first[:len(data)/word] {
		w, power := binary.LittleEndian.Uint64(data[i*word:]), &p.first[i]
		hi, lo := bits.Mul64(w, power.lo)
		l0, c = bits.Add64(l0, lo, 0)
		l1, c = bits.Add64(l1, hi, c)
		l2 += c
		hi, lo = bits.Mul64(w, power.hi)
		h0, c = bits.Add64(h0, lo, 0)
		h1, c = bits.Add64(h1, hi, c)
		h2 += c
	}
	low := reduced(l1, l0).Plus(Number{0, 2 * l2}) // 2^128 is 2
	high := reduced(h1, h0).Plus(Number{0, 2 * h2})
	return low.Plus(high.Times(Number{1, 0}))
}

// Repeated returns the sum of a string that consists of n copies of a unit. A unit that
// is not a number of words long needs a longer string of copies for one that is; the
// last copy may be cut off, so size is the length of the string in bytes.
func Repeated(unit []byte, size int64) Number {
	for len(unit)%word != 0 {
		unit = append(unit[:len(unit):len(unit)], unit...)
	}
	if len(unit) == 0 {
		return Number{}
	}
	p := ofBase()
	count := size / int64(len(unit))
	sum := p.aligned(unit).Times(p.geometric(uint64(len(unit)/word), uint64(count)))
	done := count * int64(len(unit))
	return sum.Plus(Of(unit[:size-done], done))
}

// geometric returns the sum of n powers of base^step, from the power 0 on.
func (p *powers) geometric(step, n uint64) Number {
	sum, next := Number{}, Number{0, 1} // of the powers below m, and the power m
	for i := bits.Len64(n) - 1; i >= 0; i-- {
		sum = sum.Plus(sum.Times(next)) // m doubles
		next = next.Times(next)
		if n>>i&1 == 1 {
			sum = sum.Plus(next)
			next = next.Times(p.power(step))
		}
	}
	return sum
}
