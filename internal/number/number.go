// SPDX-License-Identifier: Apache-2.0

// Package number converts array elements to Go numbers and back, a block at a time.
//
// Every real data type has a [Format]. Its numbers are carried as int64, uint64 or
// float64, chosen so that the carrier represents them exactly. A conversion between any
// two types is therefore one of nine loops, and a new type is a row in a table.
package number

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync"

	"varve.dev/zarr/dtype"
)

// Size is the number of elements in a block.
const Size = 512

// Carrier is the Go type that holds the numbers of a data type.
type Carrier uint8

// The carriers.
const (
	Signed   Carrier = iota + 1 // int64
	Unsigned                    // uint64
	Float                       // float64
)

// Block contains the numbers of up to [Size] elements, in the array of their carrier.
type Block struct {
	I [Size]int64
	U [Size]uint64
	F [Size]float64
}

var blocks = sync.Pool{New: func() any { return new(Block) }}

// NewBlock returns a block with undefined contents. Return it with [Block.Free].
func NewBlock() *Block { return blocks.Get().(*Block) }

// Free returns a block to the pool.
func (b *Block) Free() { blocks.Put(b) }

// Format is the memory layout of the numbers of a data type. Formats are immutable.
type Format struct {
	Carrier Carrier
	// Bytes is the length of an element in memory.
	Bytes int
	// Bits is the number of significant bits of an integer. Higher bits are ignored.
	Bits int
	// Layout describes a floating-point number. It is nil for integers.
	Layout *Layout
}

// Of returns the format of a data type. It returns false for types that are not real
// numbers, and for bool.
func Of(t dtype.Type) (*Format, bool) {
	f, ok := formats[t.Name()]
	return f, ok
}

// formats has a row for every real data type.
var formats = map[string]*Format{
	"int2":   {Carrier: Signed, Bytes: 1, Bits: 2},
	"int4":   {Carrier: Signed, Bytes: 1, Bits: 4},
	"int8":   {Carrier: Signed, Bytes: 1, Bits: 8},
	"int16":  {Carrier: Signed, Bytes: 2, Bits: 16},
	"int32":  {Carrier: Signed, Bytes: 4, Bits: 32},
	"int64":  {Carrier: Signed, Bytes: 8, Bits: 64},
	"uint2":  {Carrier: Unsigned, Bytes: 1, Bits: 2},
	"uint4":  {Carrier: Unsigned, Bytes: 1, Bits: 4},
	"uint8":  {Carrier: Unsigned, Bytes: 1, Bits: 8},
	"uint16": {Carrier: Unsigned, Bytes: 2, Bits: 16},
	"uint32": {Carrier: Unsigned, Bytes: 4, Bits: 32},
	"uint64": {Carrier: Unsigned, Bytes: 8, Bits: 64},

	"float4_e2m1fn":      {Carrier: Float, Bytes: 1, Layout: &Layout{Exponent: 2, Fraction: 1, Bias: 1, Special: None}},
	"float6_e2m3fn":      {Carrier: Float, Bytes: 1, Layout: &Layout{Exponent: 2, Fraction: 3, Bias: 1, Special: None}},
	"float6_e3m2fn":      {Carrier: Float, Bytes: 1, Layout: &Layout{Exponent: 3, Fraction: 2, Bias: 3, Special: None}},
	"float8_e3m4":        {Carrier: Float, Bytes: 1, Layout: &Layout{Exponent: 3, Fraction: 4, Bias: 3, Special: IEEE}},
	"float8_e4m3":        {Carrier: Float, Bytes: 1, Layout: &Layout{Exponent: 4, Fraction: 3, Bias: 7, Special: IEEE}},
	"float8_e4m3b11fnuz": {Carrier: Float, Bytes: 1, Layout: &Layout{Exponent: 4, Fraction: 3, Bias: 11, Special: MinusZero}},
	"float8_e4m3fn":      {Carrier: Float, Bytes: 1, Layout: &Layout{Exponent: 4, Fraction: 3, Bias: 7, Special: LastNaN}},
	"float8_e4m3fnuz":    {Carrier: Float, Bytes: 1, Layout: &Layout{Exponent: 4, Fraction: 3, Bias: 8, Special: MinusZero}},
	"float8_e5m2":        {Carrier: Float, Bytes: 1, Layout: &Layout{Exponent: 5, Fraction: 2, Bias: 15, Special: IEEE}},
	"float8_e5m2fnuz":    {Carrier: Float, Bytes: 1, Layout: &Layout{Exponent: 5, Fraction: 2, Bias: 16, Special: MinusZero}},
	"float8_e8m0fnu":     {Carrier: Float, Bytes: 1, Layout: &Layout{Exponent: 8, Fraction: 0, Bias: 127, Special: Scale}},
	"bfloat16":           {Carrier: Float, Bytes: 2, Layout: &Layout{Exponent: 8, Fraction: 7, Bias: 127, Special: IEEE}},
	"float16":            {Carrier: Float, Bytes: 2, Layout: &Layout{Exponent: 5, Fraction: 10, Bias: 15, Special: IEEE}},
	"float32":            {Carrier: Float, Bytes: 4, Layout: &Layout{Exponent: 8, Fraction: 23, Bias: 127, Special: IEEE}},
	"float64":            {Carrier: Float, Bytes: 8, Layout: &Layout{Exponent: 11, Fraction: 52, Bias: 1023, Special: IEEE}},
}

// Limits returns the smallest and the largest number of an integer format.
func (f *Format) Limits() (low int64, high uint64) {
	if f.Carrier == Unsigned {
		return 0, 1<<f.Bits - 1
	}
	return -1 << (f.Bits - 1), 1<<(f.Bits-1) - 1
}

// Load reads the elements of src, at most [Size], into the array of the carrier, and
// returns their number.
func (f *Format) Load(b *Block, src []byte) int {
	n := len(src) / f.Bytes
	switch f.Carrier {
	case Signed:
		loadSigned(b.I[:n], src, f)
	case Unsigned:
		loadUnsigned(b.U[:n], src, f)
	case Float:
		f.loadFloats(b.F[:n], src)
	}
	return n
}

func loadSigned(dst []int64, src []byte, f *Format) {
	switch f.Bytes {
	case 1:
		unused := 8 - f.Bits
		for i := range dst {
			dst[i] = int64(int8(src[i]<<unused) >> unused)
		}
	case 2:
		for i := range dst {
			dst[i] = int64(int16(binary.NativeEndian.Uint16(src[2*i:])))
		}
	case 4:
		for i := range dst {
			dst[i] = int64(int32(binary.NativeEndian.Uint32(src[4*i:])))
		}
	case 8:
		for i := range dst {
			dst[i] = int64(binary.NativeEndian.Uint64(src[8*i:]))
		}
	}
}

func loadUnsigned(dst []uint64, src []byte, f *Format) {
	switch f.Bytes {
	case 1:
		mask := byte(1<<f.Bits - 1)
		for i := range dst {
			dst[i] = uint64(src[i] & mask)
		}
	case 2:
		for i := range dst {
			dst[i] = uint64(binary.NativeEndian.Uint16(src[2*i:]))
		}
	case 4:
		for i := range dst {
			dst[i] = uint64(binary.NativeEndian.Uint32(src[4*i:]))
		}
	case 8:
		for i := range dst {
			dst[i] = binary.NativeEndian.Uint64(src[8*i:])
		}
	}
}

// Store writes numbers of the carrier's array to dst, one for each element of dst.
// Integers must be in range. Floats are rounded to nearest even; those beyond the format
// become infinite, or the largest finite number.
func (f *Format) Store(dst []byte, b *Block) {
	n := len(dst) / f.Bytes
	switch f.Carrier {
	case Signed:
		storeIntegers(dst, b.I[:n], f.Bytes)
	case Unsigned:
		storeIntegers(dst, b.U[:n], f.Bytes)
	case Float:
		f.storeFloats(dst, b.F[:n])
	}
}

// StoreBits writes the low bits of the numbers in U to dst, one for each element of dst.
func (f *Format) StoreBits(dst []byte, b *Block) {
	storeIntegers(dst, b.U[:len(dst)/f.Bytes], f.Bytes)
}

func storeIntegers[T int64 | uint64](dst []byte, src []T, width int) {
	switch width {
	case 1:
		for i, x := range src {
			dst[i] = byte(x)
		}
	case 2:
		for i, x := range src {
			binary.NativeEndian.PutUint16(dst[2*i:], uint16(x))
		}
	case 4:
		for i, x := range src {
			binary.NativeEndian.PutUint32(dst[4*i:], uint32(x))
		}
	case 8:
		for i, x := range src {
			binary.NativeEndian.PutUint64(dst[8*i:], uint64(x))
		}
	}
}

// Index returns the index of the element at a position in C order, for error messages.
func Index(shape []int64, place int) []int64 {
	index, at := make([]int64, len(shape)), int64(place)
	for i := len(shape) - 1; i >= 0; i-- {
		index[i], at = at%shape[i], at/shape[i]
	}
	return index
}

// Mode is a rounding mode.
type Mode uint8

// The rounding modes.
const (
	NearestEven Mode = iota
	TowardsZero
	TowardsPositive
	TowardsNegative
	NearestAway
)

// round returns the mantissa without its low drop bits, rounded. If a single digit is
// kept, it is 1 and therefore odd: ties round up, as IEEE 754 does for numbers of one
// digit.
func (m Mode) round(negative bool, mantissa uint64, drop int) uint64 {
	var kept, rest, half uint64
	switch {
	case drop < 64:
		kept, rest, half = mantissa>>drop, mantissa&(1<<drop-1), 1<<(drop-1)
	// A shift by 64 would lose the mantissa.
	case drop == 64:
		rest, half = mantissa, 1<<63
	default:
		rest, half = 1, 2 // less than half of the last place
	}
	if m.up(negative, kept, rest, half) {
		kept++
	}
	return kept
}

// up reports whether the magnitude is rounded up.
func (m Mode) up(negative bool, kept, rest, half uint64) bool {
	switch m {
	case NearestEven:
		return rest > half || rest == half && kept&1 == 1
	case NearestAway:
		return rest >= half
	case TowardsPositive:
		return rest != 0 && !negative
	case TowardsNegative:
		return rest != 0 && negative
	}
	return false
}

// Integral rounds numbers to integers. NaN and infinities do not change.
func (m Mode) Integral(x []float64) {
	switch m {
	case NearestEven:
		for i, v := range x {
			x[i] = math.RoundToEven(v)
		}
	case TowardsZero:
		for i, v := range x {
			x[i] = math.Trunc(v)
		}
	case TowardsPositive:
		for i, v := range x {
			x[i] = math.Ceil(v)
		}
	case TowardsNegative:
		for i, v := range x {
			x[i] = math.Floor(v)
		}
	case NearestAway:
		for i, v := range x {
			x[i] = math.Round(v)
		}
	}
}

func signedToFloat(c *Cast, b *Block, n int) int {
	direct, narrow := c.Mode == NearestEven, c.To.Bytes == 4
	if c.To.Bytes <= 2 {
		return c.integersToBits(b, n, func(i int) (bool, uint64) { return b.I[i] < 0, magnitude(b.I[i]) })
	}
	for i, x := range b.I[:n] {
		switch {
		case narrow && direct:
			b.F[i] = float64(float32Of(x))
		case !narrow && (direct || x > -exact && x < exact):
			b.F[i] = float64(x)
		default:
			b.F[i] = c.roundInteger(x < 0, magnitude(x))
		}
	}
	return -1
}

func unsignedToFloat(c *Cast, b *Block, n int) int {
	direct, narrow := c.Mode == NearestEven, c.To.Bytes == 4
	if c.To.Bytes <= 2 {
		return c.integersToBits(b, n, func(i int) (bool, uint64) { return false, b.U[i] })
	}
	for i, x := range b.U[:n] {
		switch {
		case narrow && direct:
			b.F[i] = float64(float32Of(x))
		case !narrow && (direct || x < exact):
			b.F[i] = float64(x)
		default:
			b.F[i] = c.roundInteger(false, x)
		}
	}
	return -1
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// roundInteger converts an integer to a target of four or eight bytes, whose range
// includes all integers.
func (c *Cast) roundInteger(negative bool, x uint64) float64 {
	bits, _ := c.To.Layout.RoundMantissa(negative, x, 0, c.Mode)
	if c.To.Bytes == 4 {
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}

// integersToBits sets U to the bits of integers by sign and magnitude, for a target of
// one or two bytes.
func (c *Cast) integersToBits(b *Block, n int, at func(i int) (bool, uint64)) int {
	for i := range n {
		negative, x := at(i)
		bits, verdict := c.To.Layout.RoundMantissa(negative, x, 0, c.Mode)
		if verdict == Beyond && c.Overflow != Clamps {
			return i
		}
		b.U[i] = bits
	}
	return -1
}

func floatToFloat(c *Cast, b *Block, n int) int {
	switch c.To.Bytes {
	case 8:
		return -1
	case 4:
		return c.narrow(b, n)
	}
	half := c.Mode == NearestEven && c.To.Layout.Fraction == 10
	for i, x := range b.F[:n] {
		if short := float32(x); half && math.Abs(x) < 65520 && float64(short) == x {
			b.U[i] = uint64(dtype.FromFloat32(short))
			continue
		}
		bits, verdict := c.To.Layout.Round(x, c.Mode)
		if verdict != Fits && (verdict != Beyond || c.Overflow != Clamps) {
			return i
		}
		b.U[i] = bits
	}
	return -1
}

// narrow rounds numbers to float32.
func (c *Cast) narrow(b *Block, n int) int {
	direct := c.Mode == NearestEven
	for i, x := range b.F[:n] {
		short := float64(float32(x))
		switch {
		case short == x || math.IsNaN(x):
			continue
		case direct && !math.IsInf(short, 0):
			b.F[i] = short
			continue
		}
		bits, verdict := c.To.Layout.Round(x, c.Mode)
		if verdict != Fits && c.Overflow != Clamps {
			return i
		}
		b.F[i] = float64(math.Float32frombits(uint32(bits)))
	}
	return -1
}

// RoundFraction copies the floats of src to dst and keeps only keep bits of their
// fraction, rounded to nearest even, as numcodecs' BitRound does. A number may round to
// infinity. NaNs are not changed.
func (f *Format) RoundFraction(dst, src []byte, keep int) {
	drop := f.Layout.Fraction - keep
	if drop <= 0 {
		copy(dst, src)
		return
	}
	// Adding half a step, less one bit unless the kept part is odd, rounds to nearest
	// even.
	half, inf := uint64(1)<<(drop-1)-1, f.Layout.infinity()
	mask, magnitude := ^uint64(0)<<drop, f.Layout.sign()-1
	round := func(x uint64) uint64 {
		// Rounding could turn a NaN into an infinity.
		if x&magnitude > inf {
			return x
		}
		return (x + x>>drop&1 + half) & mask
	}
	switch f.Bytes {
	case 1:
		for i, x := range src {
			dst[i] = byte(round(uint64(x)))
		}
	case 2:
		for i := 0; i+2 <= len(src); i += 2 {
			binary.NativeEndian.PutUint16(dst[i:], uint16(round(uint64(binary.NativeEndian.Uint16(src[i:])))))
		}
	case 4:
		for i := 0; i+4 <= len(src); i += 4 {
			binary.NativeEndian.PutUint32(dst[i:], uint32(round(uint64(binary.NativeEndian.Uint32(src[i:])))))
		}
	case 8:
		for i := 0; i+8 <= len(src); i += 8 {
			binary.NativeEndian.PutUint64(dst[i:], round(binary.NativeEndian.Uint64(src[i:])))
		}
	}
}

// RoundMagnitude rounds the n integers of a block to keep bits from the highest set bit,
// to nearest even. A number that would then exceed its type becomes the largest one with
// that many significant bits. Negative numbers are rounded by their magnitude.
func (f *Format) RoundMagnitude(b *Block, n, keep int) {
	low, high := f.Limits()
	if f.Carrier == Unsigned {
		for i, x := range b.U[:n] {
			b.U[i] = roundBits(x, keep, high)
		}
		return
	}
	for i, x := range b.I[:n] {
		if x >= 0 {
			b.I[i] = int64(roundBits(uint64(x), keep, high))
		} else {
			// The magnitude of the smallest int64 fits into a uint64.
			b.I[i] = -int64(roundBits(-uint64(x), keep, -uint64(low)))
		}
	}
}

// roundBits rounds x, which is at most most, to keep bits.
func roundBits(x uint64, keep int, most uint64) uint64 {
	drop := bits.Len64(x) - keep
	if drop <= 0 {
		return x
	}
	mask := ^uint64(0) << drop
	sum, over := bits.Add64(x, x>>drop&1+1<<(drop-1)-1, 0)
	// Rounding up left the range of the type.
	if over != 0 || sum > most {
		sum = most
	}
	return sum & mask
}
