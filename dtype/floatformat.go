// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"cmp"
	"encoding/hex"
	"math"
	"sort"
	"strconv"
	"strings"
	"sync"

	"varve.dev/zarr/internal/strictjson"
)

// floatFormat describes a format of floating-point numbers: a sign, a biased exponent and
// a fraction. Their bits are handled in the lower end of a uint64.
type floatFormat struct {
	name     string
	bytes    int // in memory; unused bits are 0
	bits     int
	fraction int // bits of the fraction
	special  special
	small    *smallFloat // tables for formats of up to 8 bits
}

// special is how a format encodes values that are not finite numbers.
type special uint8

const (
	ieee     special = iota // the largest exponent has the infinities and NaNs
	finite                  // all bits are finite numbers
	unsigned                // no infinities, and one NaN: the bits of -0
	lastNaN                 // no infinities; NaN has all bits but the sign set
	scale                   // no sign and no zero; NaN has all bits set
)

// Formats of floating-point numbers.
var (
	float16Format  = &floatFormat{name: "float16", bytes: 2, bits: 16, fraction: 10}
	bfloat16Format = &floatFormat{name: "bfloat16", bytes: 2, bits: 16, fraction: 7}
	float32Format  = &floatFormat{name: "float32", bytes: 4, bits: 32, fraction: 23}
	float64Format  = &floatFormat{name: "float64", bytes: 8, bits: 64, fraction: 52}

	// smallFormats are the formats of zarr-extensions with one byte per number in memory.
	// float8_e4m3fn is not among the extensions: TensorStore writes it under its name in
	// ml_dtypes.
	smallFormats = []*floatFormat{
		newSmall("float8_e3m4", 8, 4, 3, ieee),
		newSmall("float8_e4m3", 8, 3, 7, ieee),
		newSmall("float8_e4m3b11fnuz", 8, 3, 11, unsigned),
		newSmall("float8_e4m3fn", 8, 3, 7, lastNaN),
		newSmall("float8_e4m3fnuz", 8, 3, 8, unsigned),
		newSmall("float8_e5m2", 8, 2, 15, ieee),
		newSmall("float8_e5m2fnuz", 8, 2, 16, unsigned),
		newSmall("float8_e8m0fnu", 8, 0, 127, scale),
		newSmall("float6_e2m3fn", 6, 3, 1, finite),
		newSmall("float6_e3m2fn", 6, 2, 3, finite),
		newSmall("float4_e2m1fn", 4, 1, 1, finite),
	}
)

func (f *floatFormat) sign() uint64 {
	if f.special == scale {
		return 0
	}
	return 1 << (f.bits - 1)
}

func (f *floatFormat) mask() uint64 { return 1<<f.bits - 1 }

// inf returns the bits of infinity. It returns false if the format has none.
func (f *floatFormat) inf() (bits uint64, ok bool) {
	return f.sign() - 1<<f.fraction, f.special == ieee
}

// nan returns the bits that "NaN" stands for. In IEEE 754 formats the sign is 0 and only
// the top bit of the fraction is set. nan returns false if the format has no NaN.
func (f *floatFormat) nan() (bits uint64, ok bool) {
	switch f.special {
	case ieee:
		inf, _ := f.inf()
		return inf | 1<<(f.fraction-1), true
	case unsigned:
		return f.sign(), true
	case lastNaN:
		return f.sign() - 1, true
	case scale:
		return f.mask(), true
	}
	return 0, false
}

// isNaN reports whether the bits are any NaN.
func (f *floatFormat) isNaN(bits uint64) bool {
	if inf, ok := f.inf(); ok {
		return bits&^f.sign() > inf
	}
	nan, ok := f.nan()
	if f.special == lastNaN {
		bits &^= f.sign()
	}
	return ok && bits == nan
}

// parse reads a float from JSON, where it is a number or a string (zarr-specs v3 core,
// "Fill value").
func (f *floatFormat) parse(text string) (bits uint64, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		d, ok := parseDecimal(text)
		if !ok {
			return 0, false
		}
		return f.round(d)
	}
	// The longest text of a number, with every character escaped. A hostile document may
	// have megabytes.
	const most = len(`""`) + (len("0x")+16)*len(`\u0000`)
	if len(text) > most {
		return 0, false
	}
	v, err := strictjson.Parse([]byte(text), strictjson.Limits{})
	if err != nil {
		return 0, false
	}
	switch word, _ := v.Str(); word {
	case "NaN":
		return f.nan()
	case "Infinity":
		return f.inf()
	case "-Infinity":
		inf, ok := f.inf()
		return inf | f.sign(), ok
	default:
		return f.parseHex(word)
	}
}

// parseHex reads "0x" and the bits of a number, two digits per byte and most significant
// first.
func (f *floatFormat) parseHex(word string) (bits uint64, ok bool) {
	digits, ok := strings.CutPrefix(word, "0x")
	b, err := hex.DecodeString(digits)
	if !ok || err != nil || len(b) != f.bytes {
		return 0, false
	}
	for _, c := range b {
		bits = bits<<8 | uint64(c)
	}
	return bits, bits&^f.mask() == 0
}

// round returns the number nearest to d, with ties to even. A number that is too large
// becomes infinite, as in IEEE 754. round returns false if the format has no infinity for
// it.
func (f *floatFormat) round(d decimal) (bits uint64, ok bool) {
	switch f {
	case float16Format:
		return uint64(FromFloat32(d.roundToOdd())), true
	case bfloat16Format:
		return uint64(BFloat16FromFloat32(d.roundToOdd())), true
	case float32Format:
		x, _ := strconv.ParseFloat(d.String(), 32)
		return uint64(math.Float32bits(float32(x))), true
	case float64Format:
		x, _ := strconv.ParseFloat(d.String(), 64)
		return math.Float64bits(x), true
	}
	// All of these formats are at least two bits shorter than a float32; see roundToOdd.
	bits, ok = f.small.encode(d.roundToOdd())
	return bits, ok && (f.special == ieee || !f.isNaN(bits))
}

// appendJSON appends the shortest form that parse reads back as the same bits.
func (f *floatFormat) appendJSON(dst []byte, bits uint64) []byte {
	nan, hasNaN := f.nan()
	inf, hasInf := f.inf()
	switch {
	case hasNaN && bits == nan:
		return append(dst, `"NaN"`...)
	case hasInf && bits == inf:
		return append(dst, `"Infinity"`...)
	case hasInf && bits == inf|f.sign():
		return append(dst, `"-Infinity"`...)
	case bits <= f.mask() && !f.isNaN(bits):
		return f.appendFinite(dst, bits)
	}
	dst = append(dst, `"0x`...)
	for shift := 8*f.bytes - 4; shift >= 0; shift -= 4 {
		dst = append(dst, "0123456789abcdef"[bits>>shift&0xf])
	}
	return append(dst, '"')
}

// appendText appends the number as text for people.
func (f *floatFormat) appendText(dst []byte, bits uint64) []byte {
	bits &= f.mask()
	inf, hasInf := f.inf()
	switch {
	case f.isNaN(bits):
		return append(dst, "nan"...)
	case !hasInf || bits&^f.sign() < inf:
		return f.appendFinite(dst, bits)
	case bits&f.sign() != 0:
		dst = append(dst, '-')
	}
	return append(dst, "inf"...)
}

// appendFinite appends a decimal of a finite number that reads back as the same bits.
// Like NumPy it uses an exponent for very large and small numbers. The text never looks
// like an integer.
func (f *floatFormat) appendFinite(dst []byte, bits uint64) []byte {
	x, size := f.shortest(bits)
	// These are the limits of NumPy.
	if abs := math.Abs(x); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.AppendFloat(dst, x, 'e', -1, size)
	}
	n := len(dst)
	dst = strconv.AppendFloat(dst, x, 'f', -1, size)
	for _, c := range dst[n:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, ".0"...)
}

// shortest returns a number whose shortest decimal stands for the finite number with the
// given bits. size is the number of bits to pass to [strconv.AppendFloat].
//
// The decimal is the shortest that rounds to the number, with two exceptions, because
// programs read decimals as numbers of 64 bits. Formats of up to 8 bits have few numbers
// and short decimals, and are exact: 448 of float8_e4m3fn is not 450. Integers of 16 bits
// are exact: 65504 of float16 is not 65500.
func (f *floatFormat) shortest(bits uint64) (x float64, size int) {
	switch f {
	case float64Format:
		return math.Float64frombits(bits), 64
	case float32Format:
		return float64(math.Float32frombits(uint32(bits))), 32
	case float16Format:
		return shortest(Float16(bits).Float32(), 5, func(x float32) bool { return uint64(FromFloat32(x)) == bits }), 64
	case bfloat16Format:
		return shortest(BFloat16(bits).Float32(), 4, func(x float32) bool { return uint64(BFloat16FromFloat32(x)) == bits }), 64
	}
	return float64(f.small.value[bits]), 64
}

// shortest returns an integer below 10^16 as it is. For any other number it returns a
// float64 whose decimal, of at most the given number of digits, is the shortest for which
// same reports true.
func shortest(x float32, digits int, same func(float32) bool) float64 {
	if abs := math.Abs(float64(x)); abs < 1e16 && abs == math.Trunc(abs) {
		return float64(x)
	}
	// Start slightly above x, so that a digit half way is rounded up. The neighbour below
	// a power of two is nearer than the one above.
	off := float64(x) * (1 + 0x1p-52)
	var buf [32]byte
	short := 0.0
	for n := 1; n <= digits; n++ {
		short, _ = strconv.ParseFloat(string(strconv.AppendFloat(buf[:0], off, 'e', n-1, 64)), 64)
		if same(float32(short)) {
			break
		}
	}
	return short
}

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
		if infinite := hasInf && bits&^s.format.sign() == inf; !ok || infinite && !math.IsInf(float64(x), 0) {
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

// decimal is an exact JSON number: 0.digits * 10^point. The digits neither begin nor end
// with 0, and zero has none.
type decimal struct {
	negative bool
	digits   string
	point    int64
}

// maxExponent is the largest exponent kept. No document has that many digits, so a number
// with a larger exponent is out of every range.
const maxExponent = 1 << 40

// parseDecimal reads a number of any length in the grammar of JSON.
func parseDecimal(s string) (d decimal, ok bool) {
	s, d.negative = strings.CutPrefix(s, "-")
	whole, s := cutDigits(s)
	// JSON allows no leading zeros.
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return d, false
	}
	fraction := ""
	if rest, found := strings.CutPrefix(s, "."); found {
		if fraction, s = cutDigits(rest); fraction == "" {
			return d, false
		}
	}
	exponent, ok := parseExponent(s)
	if !ok {
		return d, false
	}
	digits := whole + fraction
	d.digits = strings.TrimLeft(digits, "0")
	// Each leading zero that was removed moves the point to the left.
	d.point = int64(len(whole)-len(digits)+len(d.digits)) + exponent
	d.digits = strings.TrimRight(d.digits, "0")
	// All zeros are equal, whatever their exponents.
	if d.digits == "" {
		d.point = 0
	}
	return d, true
}

// cutDigits splits s after its leading digits.
func cutDigits(s string) (digits, rest string) {
	rest = strings.TrimLeft(s, "0123456789")
	return s[:len(s)-len(rest)], rest
}

// parseExponent reads the exponent at the end of a number. It may be missing.
func parseExponent(s string) (exponent int64, ok bool) {
	if s == "" {
		return 0, true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return 0, false
	}
	digits, negative := strings.CutPrefix(s[1:], "-")
	if !negative {
		digits = strings.TrimPrefix(digits, "+")
	}
	if !isDigits(digits) {
		return 0, false
	}
	// An overflow is an exponent that is too large as well.
	exponent, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || exponent > maxExponent {
		exponent = maxExponent
	}
	if negative {
		exponent = -exponent
	}
	return exponent, true
}

// String formats the number with a small exponent, however the number was spelled.
// [strconv.ParseFloat] would limit a large exponent before it counts the zeros.
func (d decimal) String() string {
	s := "0." + d.digits + "0e" + strconv.FormatInt(d.point, 10)
	if d.negative {
		return "-" + s
	}
	return s
}

// integer returns the magnitude of the number. It returns false if that is not an integer
// or overflows uint64.
func (d decimal) integer() (magnitude uint64, ok bool) {
	zeros := d.point - int64(len(d.digits))
	switch {
	case d.digits == "":
		return 0, true
	// A uint64 has at most 20 digits. The check also bounds the zeros appended below.
	case zeros < 0 || d.point > 20:
		return 0, false
	}
	magnitude, err := strconv.ParseUint(d.digits+strings.Repeat("0", int(zeros)), 10, 64)
	return magnitude, err == nil
}

// compare compares the magnitudes of two numbers.
func (d decimal) compare(e decimal) int {
	if d.digits == "" || e.digits == "" {
		return cmp.Compare(len(d.digits), len(e.digits))
	}
	return cmp.Or(cmp.Compare(d.point, e.point), strings.Compare(d.digits, e.digits))
}

// roundToOdd rounds d to a float32 and sets the last bit if that is not exact. Rounding
// the result again, to a width at least two bits shorter, then gives the same as rounding
// d itself. A number close to the middle of two neighbours cannot land on the middle in
// the first step.
func (d decimal) roundToOdd() float32 {
	x64, _ := strconv.ParseFloat(d.String(), 32)
	x := float32(x64)
	// An odd result needs no change, whether it is exact or not.
	if math.IsInf(x64, 0) || math.Float32bits(x)&1 == 1 {
		return x
	}
	// No float32 has more than 112 significant digits.
	exact, _ := parseDecimal(strconv.FormatFloat(math.Abs(x64), 'e', 112, 64))
	// x is even and may be inexact: if so, take its odd neighbour on the side of d.
	towards := math.Copysign(0, x64)
	switch d.compare(exact) {
	case 0:
		return x
	case 1:
		towards = math.Copysign(math.Inf(1), x64)
	}
	return math.Nextafter32(x, float32(towards))
}
