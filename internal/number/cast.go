// SPDX-License-Identifier: Apache-2.0

package number

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync/atomic"

	"varve.dev/zarr/dtype"
)

// Overflow is the treatment of numbers beyond the range of the target type of a cast.
type Overflow uint8

// The treatments.
const (
	Fails  Overflow = iota
	Clamps          // they become the nearest number, or an infinity if the format has one
	Wraps           // modulo 2^N, for integers of N bits
)

// Cast converts numbers from one format to another.
type Cast struct {
	From, To *Format
	Mode     Mode
	Overflow Overflow

	low  int64 // range of an integer target
	high uint64
	step func(c *Cast, b *Block, n int) int
}

// NewCast returns the cast from one format to another.
func NewCast(from, to *Format, m Mode, o Overflow) Cast {
	c := Cast{From: from, To: to, Mode: m, Overflow: o}
	if to.Carrier != Float {
		c.low, c.high = to.Limits()
	}
	c.step = steps[[2]Carrier{from.Carrier, to.Carrier}]
	return c
}

// steps convert the first n numbers of a block from one carrier to the other, rounded to
// values of the target. Floats of one or two bytes become their bits, in U. They return
// the index of the first number that cannot be converted, or -1.
var steps = map[[2]Carrier]func(*Cast, *Block, int) int{
	{Signed, Signed}:     signedToSigned,
	{Signed, Unsigned}:   signedToUnsigned,
	{Signed, Float}:      signedToFloat,
	{Unsigned, Signed}:   unsignedToSigned,
	{Unsigned, Unsigned}: unsignedToUnsigned,
	{Unsigned, Float}:    unsignedToFloat,
	{Float, Signed}:      floatToSigned,
	{Float, Unsigned}:    floatToUnsigned,
	{Float, Float}:       floatToFloat,
}

// Run casts all elements of src to dst. It returns the index of the first one that cannot
// be cast, or -1.
func (c *Cast) Run(dst, src []byte) int {
	b := NewBlock()
	defer b.Free()
	for done := 0; len(src) > 0; {
		size := min(len(src), Size*c.From.Bytes)
		n := c.From.Load(b, src[:size])
		if at := c.Step(dst[:n*c.To.Bytes], b, n); at >= 0 {
			return done + at
		}
		dst, src, done = dst[n*c.To.Bytes:], src[size:], done+n
	}
	return -1
}

// Step casts the first n numbers of a block, which have the format From, to the elements
// of dst. It returns the index of the first one that cannot be cast, or -1.
func (c *Cast) Step(dst []byte, b *Block, n int) int {
	if at := c.step(c, b, n); at >= 0 {
		return at
	}
	// Rounding to such a format gives bits. Converting them to float64 and back would
	// only take time.
	if c.packed() {
		c.To.StoreBits(dst, b)
	} else {
		c.To.Store(dst, b)
	}
	return -1
}

// packed reports whether the steps produce the bits of the target's floats.
func (c *Cast) packed() bool { return c.To.Carrier == Float && c.To.Bytes <= 2 }

// exact is the number from which float64 cannot represent all integers.
const exact = 1 << 53

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

// roundNaN keeps the sign, the quiet bit and the high payload of a NaN if the
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

// float32Of converts an integer to float32, rounded to nearest even. On 32-bit
// processors, Go 1.26 rounds some integers between 2^46 and 2^47 twice. The detour over
// an exact float64 avoids that: it has the high bits of the integer, and a last bit that
// is set if any other bit is.
func float32Of[T int64 | uint64](x T) float32 {
	if bits.UintSize == 64 {
		return float32(x)
	}
	if x < 0 {
		return -roundOnce(-uint64(x))
	}
	return roundOnce(uint64(x))
}

// roundOnce is float32Of through a float64.
func roundOnce(x uint64) float32 {
	if x < exact {
		return float32(float64(x))
	}
	const drop = 11 // leaves 53 bits
	upper := x >> drop
	if x&(1<<drop-1) != 0 {
		// The last bit records that bits were lost, so that the conversion below rounds
		// correctly.
		upper |= 1
	}
	return float32(float64(upper)) * (1 << drop)
}

func signedToSigned(c *Cast, b *Block, n int) int {
	low, high := c.low, int64(c.high)
	for i, x := range b.I[:n] {
		if x >= low && x <= high {
			continue
		}
		switch c.Overflow {
		case Fails:
			return i
		case Wraps:
			b.I[i] = c.wrap(uint64(x))
		case Clamps:
			b.I[i] = min(max(x, low), high)
		}
	}
	return -1
}

func signedToUnsigned(c *Cast, b *Block, n int) int {
	for i, x := range b.I[:n] {
		b.U[i] = uint64(x)
		if x >= 0 && uint64(x) <= c.high {
			continue
		}
		switch {
		case c.Overflow == Fails:
			return i
		case c.Overflow == Wraps:
			b.U[i] &= c.high
		case x < 0:
			b.U[i] = 0
		default:
			b.U[i] = c.high
		}
	}
	return -1
}

func unsignedToSigned(c *Cast, b *Block, n int) int {
	for i, x := range b.U[:n] {
		b.I[i] = int64(x)
		if x <= c.high {
			continue
		}
		switch c.Overflow {
		case Fails:
			return i
		case Wraps:
			b.I[i] = c.wrap(x)
		case Clamps:
			b.I[i] = int64(c.high)
		}
	}
	return -1
}

func unsignedToUnsigned(c *Cast, b *Block, n int) int {
	for i, x := range b.U[:n] {
		if x <= c.high {
			continue
		}
		switch c.Overflow {
		case Fails:
			return i
		case Wraps:
			b.U[i] = x & c.high
		case Clamps:
			b.U[i] = c.high
		}
	}
	return -1
}

func floatToSigned(c *Cast, b *Block, n int) int {
	c.Mode.Integral(b.F[:n])
	// The largest integer may not have an exact float64, so compare with the power of two
	// above it.
	low, end := float64(c.low), float64(c.high/2+1)*2 // a power of two, which float64 represents exactly
	for i, x := range b.F[:n] {
		if x >= low && x < end {
			b.I[i] = int64(x)
			continue
		}
		switch {
		// No integer stands for NaN or an infinity, even if others are clamped.
		case c.Overflow == Fails || !finite(x):
			return i
		case c.Overflow == Wraps:
			b.I[i] = c.wrap(modulo(x))
		case x < 0:
			b.I[i] = c.low
		default:
			b.I[i] = int64(c.high)
		}
	}
	return -1
}

func floatToUnsigned(c *Cast, b *Block, n int) int {
	c.Mode.Integral(b.F[:n])
	end := float64(c.high/2+1) * 2
	for i, x := range b.F[:n] {
		if x >= 0 && x < end {
			b.U[i] = uint64(x)
			continue
		}
		switch {
		case c.Overflow == Fails || !finite(x):
			return i
		case c.Overflow == Wraps:
			b.U[i] = modulo(x) & c.high
		case x < 0:
			b.U[i] = 0
		default:
			b.U[i] = c.high
		}
	}
	return -1
}

// wrap returns the number of the signed target that has the low bits of x.
func (c *Cast) wrap(x uint64) int64 {
	unused := 64 - c.To.Bits
	// The arithmetic shift repeats the sign.
	return int64(x<<unused) >> unused
}

// modulo returns an integral number modulo 2^64, in two's complement.
func modulo(x float64) uint64 {
	b := math.Float64bits(x)
	mantissa, shift := b&(1<<52-1)|1<<52, int(b>>52&0x7ff)-1075
	switch {
	case x == 0:
		return 0
	case shift >= 0:
		mantissa <<= uint(shift) // no bits remain from 64 on
	default:
		mantissa >>= uint(-shift)
	}
	if x < 0 {
		mantissa, _ = bits.Sub64(0, mantissa, 0)
	}
	return mantissa
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
