// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"math"
	"sort"
	"sync"
)

// smallFloat has tables for a format of up to 8 bits.
type smallFloat struct {
	format *floatFormat
	value  [256]float32 // number for each byte, whose unused bits are ignored
	middle []float64    // middle[i] lies between the numbers i and i+1, without sign

	rounded func() *[1 << 15]uint16 // result of codes
}

// newSmall returns a format with the given numbers of bits in all and in the fraction,
// and the bias of the exponent.
func newSmall(name string, bits, fraction, bias int, s special) *floatFormat {
	f := &floatFormat{name: name, bytes: 1, bits: bits, fraction: fraction, special: s}
	f.small = &smallFloat{format: f}
	for i := range f.small.value {
		f.small.value[i] = f.value(uint64(i)&f.mask(), bias)
	}
	f.small.findMiddles(bias)
	f.small.rounded = sync.OnceValue(f.small.codes)
	return f
}

// value computes the number with the given bits.
func (f *floatFormat) value(bits uint64, bias int) float32 {
	inf, hasInf := f.inf()
	switch {
	// Keep sign and payload.
	case f.isNaN(bits) && hasInf:
		return math.Float32frombits(uint32(bits&f.sign())<<(32-f.bits) | singleInf | uint32(bits&(1<<f.fraction-1))<<(23-f.fraction))
	// Keep the sign.
	case f.isNaN(bits) && f.special == lastNaN:
		return math.Float32frombits(uint32(bits&f.sign())<<(32-f.bits) | 0x7fc00000)
	case f.isNaN(bits):
		return math.Float32frombits(0x7fc00000)
	case hasInf && bits == inf:
		return float32(math.Inf(1))
	case hasInf && bits == inf|f.sign():
		return float32(math.Inf(-1))
	}
	x := f.magnitude(bits&^f.sign(), bias)
	if bits&f.sign() != 0 {
		x = -x
	}
	return float32(x)
}

// magnitude computes the number with the given bits, without a sign. It does so even for
// bits that are beyond the finite numbers.
func (f *floatFormat) magnitude(bits uint64, bias int) float64 {
	exponent, fraction := int(bits>>f.fraction), float64(bits&(1<<f.fraction-1))
	switch {
	case f.special == scale:
		return math.Ldexp(1, exponent-bias)
	case exponent == 0: // subnormal
		return math.Ldexp(fraction, 1-bias-f.fraction)
	}
	return math.Ldexp(fraction+float64(uint64(1)<<f.fraction), exponent-bias-f.fraction)
}

// findMiddles computes the middles between neighbours, at which rounding changes.
func (s *smallFloat) findMiddles(bias int) {
	count := s.format.mask()>>1 + 1 // numbers without sign
	switch s.format.special {
	case ieee:
		inf, _ := s.format.inf()
		count = inf
	case scale:
		count = s.format.mask()
	case lastNaN:
		count--
	}
	for i := range count {
		s.middle = append(s.middle, (s.format.magnitude(i, bias)+s.format.magnitude(i+1, bias))/2)
	}
}

// encode returns the bits of the number nearest to x, with ties to even. A NaN keeps its
// sign and the upper bits of its payload if the format has them, and becomes quiet if
// these bits are 0.
//
// encode returns false if the format cannot represent x: a NaN in a format without one, a
// number beyond the largest in a format without infinities, and a number that is not
// positive in a format without signs. For a number beyond the largest it returns the bits
// of NaN or of the largest number.
func (s *smallFloat) encode(x float32) (bits uint64, ok bool) {
	f := s.format
	// NaN is the only value that differs from itself.
	if x != x {
		return s.encodeNaN(math.Float32bits(x))
	}
	// This format has neither a sign nor zero.
	if f.special == scale && x <= 0 {
		return f.mask(), false
	}
	sign := uint64(0)
	if math.Signbit(float64(x)) {
		sign, x = f.sign(), -x
	}
	abs := float64(x)
	// The first number whose middle with the next one is not below abs.
	i := uint64(sort.SearchFloat64s(s.middle, abs))
	if i < uint64(len(s.middle)) && s.middle[i] == abs && (i&1 == 1 || f.special == scale) {
		// Of two equally near numbers take the even one. In a format without a fraction
		// the significand is 1, which is odd, so the next number is taken.
		i++
	}
	if i == uint64(len(s.middle)) {
		return s.beyond(sign)
	}
	if f.special == unsigned && i == 0 {
		sign = 0 // the format has no -0
	}
	return i | sign, true
}

// beyond returns the bits for a number beyond the largest.
func (s *smallFloat) beyond(sign uint64) (bits uint64, ok bool) {
	f := s.format
	if inf, ok := f.inf(); ok {
		return inf | sign, true
	}
	// The number does not fit: NaN is only a placeholder.
	if nan, ok := f.nan(); ok {
		return nan, false
	}
	return uint64(len(s.middle)) - 1 | sign, false
}

// encodeNaN returns the bits of a NaN. It returns false if the format has none.
func (s *smallFloat) encodeNaN(x uint32) (bits uint64, ok bool) {
	f := s.format
	inf, hasInf := f.inf()
	// Keep the upper bits of the payload.
	payload := uint64(x) & (1<<23 - 1) >> (23 - f.fraction)
	if !hasInf || payload == 0 {
		bits, ok = f.nan()
	} else {
		bits, ok = inf|payload, true
	}
	if hasInf || f.special == lastNaN {
		bits |= uint64(x>>31) * f.sign()
	}
	return bits, ok
}

// noCode marks numbers that a format cannot represent.
const noCode = 1 << 15

// codes returns the bits for every float32 by its upper 15 bits. These have two more bits
// of the fraction than any small format. The last one is set if lower bits are lost, so
// that a number close to the middle of two neighbours does not land on it.
func (s *smallFloat) codes() *[1 << 15]uint16 {
	table := new([1 << 15]uint16)
	for i := range table {
		x := math.Float32frombits(uint32(i) << 17)
		bits, ok := s.encode(x)
		inf, hasInf := s.format.inf()
		if became := hasInf && bits&^s.format.sign() == inf; !ok || became && !math.IsInf(float64(x), 0) {
			bits |= noCode
		}
		table[i] = uint16(bits)
	}
	return table
}

// set sets codes to the numbers nearest to src. It returns the number of codes before the
// first number that the format cannot represent.
func (s *smallFloat) set(codes []byte, src []float32) int {
	table := s.rounded()
	for i, x := range src {
		b := math.Float32bits(x)
		upper := b >> 17
		// Record the lost bits in the last one that is kept.
		if b&(1<<17-1) != 0 {
			upper |= 1
		}
		code := table[upper&(1<<15-1)]
		if code&noCode != 0 {
			return i
		}
		codes[i] = byte(code)
	}
	return len(src)
}
