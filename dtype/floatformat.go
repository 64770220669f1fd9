package dtype

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"varve.dev/zarr/internal/strictjson"
)

// floatFormat is a way to hold floating point numbers in bits, which are handled in the lower end of a uint64:
// a sign, an exponent with a bias, and a fraction.
type floatFormat struct {
	name     string
	bytes    int // in memory; bits that are not used are 0
	bits     int
	fraction int // bits of it
	special  special
	small    *smallFloat // of formats of up to 8 bits
}

// special says which bits are no finite number.
type special uint8

const (
	ieee     special = iota // the highest exponent is for infinities and NaN
	finite                  // none
	unsigned                // one NaN, and no infinities: the bits of -0
	lastNaN                 // no infinities; NaN has all bits set but the sign, which is either
	scale                   // no sign and no zero; all bits set is NaN
)

// The formats.
var (
	float16Format  = &floatFormat{name: "float16", bytes: 2, bits: 16, fraction: 10}
	bfloat16Format = &floatFormat{name: "bfloat16", bytes: 2, bits: 16, fraction: 7}
	float32Format  = &floatFormat{name: "float32", bytes: 4, bits: 32, fraction: 23}
	float64Format  = &floatFormat{name: "float64", bytes: 8, bits: 64, fraction: 52}

	// smallFormats are those of zarr-extensions, of a byte each in memory, and float8_e4m3fn,
	// which TensorStore writes under the name that ml_dtypes has for it.
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

// inf returns the bits of infinity, where there is one.
func (f *floatFormat) inf() (bits uint64, ok bool) {
	return f.sign() - 1<<f.fraction, f.special == ieee
}

// nan returns the NaN that "NaN" stands for: of those of IEEE 754 the one with sign 0 and only the top bit of the fraction set.
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

// isNaN reports whether the bits are a NaN, any of them.
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

// parse reads a float as JSON spells it (zarr-specs v3 core, "Fill value"): a number, or a string.
func (f *floatFormat) parse(text string) (bits uint64, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		d, ok := parseDecimal(text)
		if !ok {
			return 0, false
		}
		return f.round(d)
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

// parseHex reads "0x" and the bits of a number as two digits a byte, most significant first.
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

// round returns the number nearest to d, ties to even. What is too large is infinite, as IEEE 754 has it, and no value of a format
// without infinity.
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

// appendText appends the number as people read it.
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

// appendFinite appends the shortest decimal of a finite number, with an exponent where the number is
// very large or small, as NumPy does, and never looking like an integer.
func (f *floatFormat) appendFinite(dst []byte, bits uint64) []byte {
	x, size := f.shortest(bits)
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

// shortest returns a number whose shortest decimal, as a float of the given bits, is the shortest that rounds to a finite number.
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
	return f.small.short[bits], 64
}

// shortest returns the float64 whose shortest decimal, of at most so many digits, is the shortest that is taken for x.
func shortest(x float32, digits int, same func(float32) bool) float64 {
	if x == 0 {
		return float64(x)
	}
	// Just off the number itself, so that a digit half way goes up: a power of two has its nearer neighbour below.
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
