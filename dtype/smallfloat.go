package dtype

import (
	"math"
	"sort"
	"sync"
)

// smallFloat has the numbers of a format of up to 8 bits.
type smallFloat struct {
	format *floatFormat
	value  [256]float32 // of all bits; those that are not used are ignored
	short  [256]float64 // with the shortest decimals that stand for them
	middle []float64    // between the number without sign of each index and the next one

	rounded func() *[1 << 15]uint16 // the codes of all numbers of 15 bits, see codes
}

// newSmall makes a format from its bits, those of the fraction, and the bias of the exponent.
func newSmall(name string, bits, fraction, bias int, s special) *floatFormat {
	f := &floatFormat{name: name, bytes: 1, bits: bits, fraction: fraction, special: s}
	f.small = &smallFloat{format: f}
	for i := range f.small.value {
		f.small.value[i] = f.value(uint64(i)&f.mask(), bias)
	}
	f.small.findMiddles(bias)
	f.small.rounded = sync.OnceValue(f.small.codes)
	for i := range f.mask() + 1 {
		x := f.small.value[i]
		f.small.short[i] = float64(x)
		if !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) {
			f.small.short[i] = shortest(x, 9, func(x float32) bool {
				bits, ok := f.small.encode(x)
				return ok && bits == i
			})
		}
	}
	return f
}

// value computes the number that bits stand for.
func (f *floatFormat) value(bits uint64, bias int) float32 {
	inf, hasInf := f.inf()
	switch {
	case f.isNaN(bits) && hasInf: // with the payload it has
		return math.Float32frombits(uint32(bits&f.sign())<<(32-f.bits) | singleInf | uint32(bits&(1<<f.fraction-1))<<(23-f.fraction))
	case f.isNaN(bits) && f.special == lastNaN: // with the sign it has
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

// magnitude computes the number that bits without a sign stand for, also where they would be beyond the finite ones.
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

// findMiddles computes where numbers are rounded to the one below or above.
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

// encode returns the bits of the number nearest to x, ties to even. A NaN keeps its sign and the upper bits of its payload where the
// format has such, and becomes quiet where those are 0. It is not ok where the format has nothing to stand for x: a NaN in
// a format without one, a number beyond the largest in one without infinities, for which it returns the largest or NaN, and
// what is not positive in one without signs.
func (s *smallFloat) encode(x float32) (bits uint64, ok bool) {
	f := s.format
	if x != x {
		return s.encodeNaN(math.Float32bits(x))
	}
	if f.special == scale && x <= 0 {
		return f.mask(), false
	}
	sign := uint64(0)
	if math.Signbit(float64(x)) {
		sign, x = f.sign(), -x
	}
	abs := float64(x)
	i := uint64(sort.SearchFloat64s(s.middle, abs)) // the first whose middle is not below
	if i < uint64(len(s.middle)) && s.middle[i] == abs && (i&1 == 1 || f.special == scale) {
		i++ // the even one of two equally near; a digit that is alone is 1, which is odd
	}
	if i == uint64(len(s.middle)) {
		return s.beyond(sign)
	}
	if f.special == unsigned && i == 0 {
		sign = 0 // there is no -0
	}
	return i | sign, true
}

// beyond returns what stands for a number beyond the largest.
func (s *smallFloat) beyond(sign uint64) (bits uint64, ok bool) {
	f := s.format
	if inf, ok := f.inf(); ok {
		return inf | sign, true
	}
	if nan, ok := f.nan(); ok {
		return nan, false
	}
	return uint64(len(s.middle)) - 1 | sign, false
}

// encodeNaN returns the bits of a NaN, where the format has one.
func (s *smallFloat) encodeNaN(x uint32) (bits uint64, ok bool) {
	f := s.format
	inf, hasInf := f.inf()
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

// noCode marks numbers that a format has nothing to stand for.
const noCode = 1 << 15

// codes returns what stands for every float32 that is cut to its upper 15 bits, which have two more of the fraction than any
// of the formats; the last one is set where bits were lost, so that a number close to the middle of two does not land on it.
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

// set sets codes to the numbers nearest to those of src, and returns how many there are before the first that has none.
func (s *smallFloat) set(codes []byte, src []float32) int {
	table := s.rounded()
	for i, x := range src {
		b := math.Float32bits(x)
		upper := b >> 17
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
