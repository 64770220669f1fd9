// SPDX-License-Identifier: Apache-2.0

package number

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync/atomic"

	"varve.dev/zarr/dtype"
)

// Special lists the special values of a floating-point format.
type Special uint8

// The special values.
const (
	IEEE      Special = iota // infinities and NaNs have the highest exponent
	None                     // no infinity and no NaN
	MinusZero                // no infinity; the bits of -0 are the only NaN
	LastNaN                  // no infinity; all bits except the sign are set in NaN
	Scale                    // powers of two only, without sign and zero; all bits are set in NaN
)

// Layout is a binary floating-point format: a sign bit, unless Special is [Scale],
// exponent bits, and fraction bits.
type Layout struct {
	Exponent, Fraction int // bits
	Bias               int
	Special            Special

	table atomic.Pointer[[256]float64] // for formats of one byte
}

// magnitude returns the number of bits without the sign.
func (l *Layout) magnitude() int { return l.Exponent + l.Fraction }

// sign returns the sign bit, or 0 if the format has none.
func (l *Layout) sign() uint64 {
	if l.Special == Scale {
		return 0
	}
	return 1 << l.magnitude()
}

// infinity returns the bits of the infinity of [IEEE] formats.
func (l *Layout) infinity() uint64 { return (1<<l.Exponent - 1) << l.Fraction }

// greatest returns the bits of the largest finite number.
func (l *Layout) greatest() uint64 {
	switch l.Special {
	case IEEE:
		// The bits of finite numbers ascend up to those of infinity.
		return l.infinity() - 1
	case Scale, LastNaN:
		return 1<<l.magnitude() - 2
	}
	return 1<<l.magnitude() - 1
}

// NaN returns the bits of the quiet NaN without a payload, and whether the format has
// one.
func (l *Layout) NaN() (uint64, bool) {
	switch l.Special {
	case IEEE:
		return l.infinity() | 1<<(l.Fraction-1), true
	case MinusZero:
		return l.sign(), true
	case Scale, LastNaN:
		return 1<<l.magnitude() - 1, true
	}
	return 0, false
}

// Float64 returns the number that the low bits of x represent.
func (l *Layout) Float64(x uint64) float64 {
	if l.magnitude() <= 8 {
		// A table of 256 numbers is faster than computing them.
		return l.values()[x&0xff]
	}
	return l.compute(x)
}

// compute is Float64 without the table.
func (l *Layout) compute(x uint64) float64 {
	mag := x & (1<<l.magnitude() - 1)
	negative := x&l.sign() != 0
	nan, hasNaN := l.NaN()
	switch {
	case l.Special == LastNaN && mag == nan:
		return math.NaN()
	case hasNaN && l.Special != IEEE && x&(l.sign()|mag) == nan:
		return math.NaN()
	case l.Special == IEEE && mag == l.infinity():
		return math.Copysign(math.Inf(1), signOf(negative))
	case l.Special == IEEE && mag > l.infinity():
		return math.NaN()
	}
	exponent, fraction := int(mag>>l.Fraction), mag&(1<<l.Fraction-1)
	if exponent > 0 || l.Special == Scale {
		fraction |= 1 << l.Fraction
	} else {
		// Subnormal numbers have the exponent of the smallest normal ones, without the
		// leading bit.
		exponent = 1
	}
	v := math.Ldexp(float64(fraction), exponent-l.Bias-l.Fraction)
	return math.Copysign(v, signOf(negative))
}

func signOf(negative bool) float64 {
	if negative {
		return -1
	}
	return 1
}

// Verdict says how a number fits a floating-point format.
type Verdict uint8

// The verdicts.
const (
	Fits       Verdict = iota // possibly rounded
	Beyond                    // the rounded number is outside the finite range
	NoInfinity                // infinite, but the format has no infinity
	NoNaN                     // NaN, but the format has none
)

// Round returns the bits of x in the format, rounded. For a number that is Beyond, they
// are those of the infinity with its sign, or of the nearest finite number.
func (l *Layout) Round(x float64, m Mode) (uint64, Verdict) {
	b := math.Float64bits(x)
	negative, exponent, mantissa := b>>63 != 0, int(b>>52&0x7ff), b&(1<<52-1)
	switch {
	case exponent == 0x7ff && mantissa != 0:
		return l.roundNaN(b)
	case exponent == 0x7ff:
		return l.roundInfinity(negative)
	case exponent == 0:
		exponent = 1
	default:
		mantissa |= 1 << 52
	}
	return l.RoundMantissa(negative, mantissa, exponent-1075, m)
}

// roundNaN keeps the sign, the quiet bit and the high payload of a NaN as far as the
// format has room.
func (l *Layout) roundNaN(b uint64) (uint64, Verdict) {
	nan, ok := l.NaN()
	if !ok {
		return 0, NoNaN
	}
	if l.Special == IEEE {
		// Setting the quiet bit keeps a NaN whose payload is lost from becoming an
		// infinity.
		payload := b & (1<<52 - 1) >> (52 - l.Fraction)
		nan = b>>63<<l.magnitude() | l.infinity() | 1<<(l.Fraction-1) | payload
	}
	if l.Special == LastNaN {
		nan |= b >> 63 << l.magnitude()
	}
	return nan, Fits
}

func (l *Layout) roundInfinity(negative bool) (uint64, Verdict) {
	if l.Special != IEEE {
		return l.beyond(negative), NoInfinity
	}
	return l.beyond(negative), Fits
}

// beyond returns the bits for numbers that are too large.
func (l *Layout) beyond(negative bool) uint64 {
	switch {
	case l.Special == IEEE && negative:
		return l.sign() | l.infinity()
	case l.Special == IEEE:
		return l.infinity()
	case l.Special == Scale && negative:
		return 0
	case negative:
		return l.sign() | l.greatest()
	}
	return l.greatest()
}

// RoundMantissa is Round for the number mantissa * 2^exponent.
func (l *Layout) RoundMantissa(negative bool, mantissa uint64, exponent int, m Mode) (uint64, Verdict) {
	if mantissa == 0 || l.Special == Scale && negative {
		return l.roundZero(negative && mantissa == 0, mantissa != 0)
	}
	mantissa, exponent = normal(mantissa, exponent)
	// quantum is the exponent of the last bit that is kept.
	quantum := exponent + 63 - l.Fraction
	if least := 1 - l.Bias - l.Fraction; l.Special != Scale {
		// Below the smallest normal number the last bit does not get smaller. Such
		// numbers are subnormal.
		quantum = max(quantum, least)
	}
	kept := m.round(negative, mantissa, quantum-exponent)
	// Rounding up carried into another bit. The bits below it are 0.
	if kept>>(l.Fraction+1) != 0 {
		kept, quantum = kept>>1, quantum+1
	}
	return l.assemble(negative, kept, quantum)
}

// assemble returns the bits of kept * 2^quantum. kept fits the format.
func (l *Layout) assemble(negative bool, kept uint64, quantum int) (uint64, Verdict) {
	field := quantum + l.Fraction + l.Bias
	switch {
	case l.Special == Scale && field < 0:
		return 0, Beyond
	case kept>>l.Fraction == 0:
		field = 0 // subnormal
	}
	mag := uint64(field)<<l.Fraction | kept&(1<<l.Fraction-1)
	if field >= 1<<l.Exponent || mag > l.greatest() {
		return l.beyond(negative), Beyond
	}
	if negative && (mag != 0 || l.Special != MinusZero) {
		// In MinusZero formats the bits of -0 are NaN, so a negative zero becomes 0.
		mag |= l.sign()
	}
	return mag, Fits
}

// roundZero returns the bits of zero. Formats of powers of two have neither zero nor
// negative numbers.
func (l *Layout) roundZero(negative, other bool) (uint64, Verdict) {
	switch {
	case l.Special == Scale || other:
		return 0, Beyond
	case negative && l.Special != MinusZero:
		return l.sign(), Fits
	}
	return 0, Fits
}

// normal shifts the mantissa, which is not 0, so that its highest bit is set.
func normal(mantissa uint64, exponent int) (uint64, int) {
	n := bits.LeadingZeros64(mantissa)
	return mantissa << n, exponent - n
}

func (f *Format) loadFloats(dst []float64, src []byte) {
	switch {
	case f.Bytes == 8:
		for i := range dst {
			dst[i] = math.Float64frombits(binary.NativeEndian.Uint64(src[8*i:]))
		}
	case f.Bytes == 4:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(binary.NativeEndian.Uint32(src[4*i:])))
		}
	case f.Bytes == 1:
		table := f.Layout.values()
		for i := range dst {
			dst[i] = table[src[i]]
		}
	case f.Layout.Fraction == 10:
		for i := range dst {
			dst[i] = float64(dtype.Float16(binary.NativeEndian.Uint16(src[2*i:])).Float32())
		}
	default:
		for i := range dst {
			// A bfloat16 is the upper half of a float32.
			dst[i] = float64(math.Float32frombits(uint32(binary.NativeEndian.Uint16(src[2*i:])) << 16))
		}
	}
}

// values returns the numbers of a format of one byte, ignoring higher bits.
func (l *Layout) values() *[256]float64 {
	if t := l.table.Load(); t != nil {
		return t
	}
	t := new([256]float64)
	for i := range t {
		t[i] = l.compute(uint64(i))
	}
	// Concurrent calls may each make a table. All are equal.
	l.table.Store(t)
	return t
}

func (f *Format) storeFloats(dst []byte, src []float64) {
	switch f.Bytes {
	case 8:
		for i, x := range src {
			binary.NativeEndian.PutUint64(dst[8*i:], math.Float64bits(x))
		}
	case 4:
		for i, x := range src {
			binary.NativeEndian.PutUint32(dst[4*i:], math.Float32bits(float32(x)))
		}
	case 2:
		half := f.Layout.Fraction == 10
		for i, x := range src {
			// The fast path is right only if the conversion to float32 was exact.
			// Otherwise the number would be rounded twice.
			if short := float32(x); half && float64(short) == x {
				binary.NativeEndian.PutUint16(dst[2*i:], uint16(dtype.FromFloat32(short)))
				continue
			}
			b, _ := f.Layout.Round(x, NearestEven)
			binary.NativeEndian.PutUint16(dst[2*i:], uint16(b))
		}
	case 1:
		for i, x := range src {
			b, _ := f.Layout.Round(x, NearestEven)
			dst[i] = byte(b)
		}
	}
}
