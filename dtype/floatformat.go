// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"

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
