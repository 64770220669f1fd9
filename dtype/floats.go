// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"encoding/binary"
	"math"
	"sync"
)

// Float16 is an IEEE 754 binary16 number, held as its bits: a sign, 5 bits of exponent
// and 10 of fraction.
type Float16 uint16

const (
	half16Inf  = 0x7c00 // bits of +infinity
	half16Sign = 0x8000

	// single65520 is the smallest float32, as bits, that rounds to an infinite Float16.
	// It is half a step above the largest Float16, 65504.
	single65520 = 0x477ff000
	// singleNormal16 is the smallest normal Float16, 2^-14, as bits of a float32.
	singleNormal16 = 0x38800000
	singleInf      = 0x7f800000
	// rebias converts the exponent of a Float16, with bias 15, to that of a float32, with
	// bias 127.
	rebias = (127 - 15) << 23
)

// Float32 returns the same number as a float32. It is exact for every Float16, including
// the payload of a NaN.
func (f Float16) Float32() float32 {
	sign := uint32(f&half16Sign) << 16
	abs := uint32(f &^ half16Sign)
	switch f & half16Inf {
	case 0:
		// A subnormal number is its fraction times 2^-24, and zero has fraction 0.
		return math.Float32frombits(sign | math.Float32bits(float32(abs)*0x1p-24))
	case half16Inf:
		return math.Float32frombits(sign | singleInf | abs<<13)
	}
	return math.Float32frombits(sign | abs<<13 + rebias)
}

// FromFloat32 returns the Float16 nearest to x, with ties to even. From 65520 on that is
// infinity. A NaN keeps its sign, its quiet bit and the upper ten bits of its payload.
func FromFloat32(x float32) Float16 {
	b := math.Float32bits(x)
	sign := Float16(b >> 16 & half16Sign)
	abs := b &^ (1 << 31)
	switch {
	case abs > singleInf:
		// A payload in the lower bits only must not turn the NaN into an infinity.
		return sign | half16Inf | max(1, Float16(abs>>13&0x3ff))
	case abs >= single65520:
		return sign | half16Inf
	case abs < singleNormal16:
		// The last bit of a float32 from 0.5 up to 1 counts 2^-24, like that of a
		// subnormal Float16. The addition therefore rounds correctly.
		return sign | Float16(math.Float32bits(math.Float32frombits(abs)+0.5)-math.Float32bits(0.5))
	}
	// Add half a step, less one bit unless the result is odd, so that ties go to even. A
	// carry into the exponent is right as well.
	odd := abs >> 13 & 1
	return sign | Float16((abs-rebias+0xfff+odd)>>13)
}

// String returns the shortest decimal that reads back as f, or "nan", "inf" or "-inf".
func (f Float16) String() string {
	return string(float16Format.appendText(nil, uint64(f)))
}

// BFloat16 is the upper half of a float32, held as its bits: a sign, 8 bits of exponent
// and 7 of fraction (zarr-extensions, "bfloat16").
type BFloat16 uint16

// Float32 returns the same number as a float32.
func (f BFloat16) Float32() float32 { return math.Float32frombits(uint32(f) << 16) }

// BFloat16FromFloat32 returns the BFloat16 nearest to x, with ties to even. A NaN keeps
// its sign and the upper bits of its payload. If these are 0, it becomes a quiet NaN.
func BFloat16FromFloat32(x float32) BFloat16 {
	b := math.Float32bits(x)
	if b&^(1<<31) > singleInf {
		// Without a bit of the payload the NaN would become an infinity.
		if b&0x7f0000 == 0 {
			b |= 1 << 22
		}
		return BFloat16(b >> 16)
	}
	return BFloat16((b + 0x7fff + b>>16&1) >> 16)
}

// String returns the shortest decimal that reads back as f, or "nan", "inf" or "-inf".
func (f BFloat16) String() string {
	return string(bfloat16Format.appendText(nil, uint64(f)))
}

// Float32s converts elems, consecutive elements of t in host byte order, to float32. It
// supports float types of at most 32 bits, for which the conversion is exact. NaNs keep
// their sign and payload if the format has them. Float32s returns the number of elements
// converted, which is the smaller number of both slices, or 0 if t is another type.
func (t Type) Float32s(dst []float32, elems []byte) (n int) {
	if t.kind != KindFloat || t.size > 4 {
		return 0
	}
	n = min(len(dst), len(elems)/t.size)
	switch t.format {
	case float16Format:
		table := float16Table()
		for i := range dst[:n] {
			dst[i] = table[binary.NativeEndian.Uint16(elems[2*i:])]
		}
	case bfloat16Format:
		for i := range dst[:n] {
			dst[i] = BFloat16(binary.NativeEndian.Uint16(elems[2*i:])).Float32()
		}
	case float32Format:
		for i := range dst[:n] {
			dst[i] = math.Float32frombits(binary.NativeEndian.Uint32(elems[4*i:]))
		}
	default:
		table, mask := &t.format.small.value, byte(t.format.mask())
		for i, b := range elems[:n] {
			dst[i] = table[b&mask]
		}
	}
	return n
}

// SetFloat32s sets elems, consecutive elements of t, to the numbers nearest to src, with
// ties to even. It supports float types of at most 32 bits. It stops at the first number
// that t cannot represent: one beyond the largest, an infinity or a NaN in formats
// without, and a number that is not positive in float8_e8m0fnu. SetFloat32s returns the
// number of elements set, or 0 if t is another type.
func (t Type) SetFloat32s(elems []byte, src []float32) (n int) {
	if t.kind != KindFloat || t.size > 4 {
		return 0
	}
	n = min(len(src), len(elems)/t.size)
	switch t.format {
	case float16Format:
		return setFloat16s(elems, src[:n])
	case bfloat16Format:
		return setBFloat16s(elems, src[:n])
	case float32Format:
		for i, x := range src[:n] {
			binary.NativeEndian.PutUint32(elems[4*i:], math.Float32bits(x))
		}
		return n
	}
	return t.format.small.set(elems, src[:n])
}

func setFloat16s(elems []byte, src []float32) int {
	for i, x := range src {
		b := math.Float32bits(x)
		h := float16FromBits(b)
		// A finite number became infinite.
		if h&^half16Sign == half16Inf && b&^(1<<31) != singleInf {
			return i
		}
		binary.NativeEndian.PutUint16(elems[2*i:], h)
	}
	return len(src)
}

func setBFloat16s(elems []byte, src []float32) int {
	for i, x := range src {
		b := math.Float32bits(x)
		h := BFloat16FromFloat32(x)
		// A finite number became infinite.
		if h&^half16Sign == singleInf>>16 && b&^(1<<31) != singleInf {
			return i
		}
		binary.NativeEndian.PutUint16(elems[2*i:], uint16(h))
	}
	return len(src)
}

// float16Table has the float32 for the bits of every Float16.
var float16Table = sync.OnceValue(func() *[1 << 16]float32 {
	t := new([1 << 16]float32)
	for i := range t {
		t[i] = Float16(i).Float32()
	}
	return t
})

// float16Steps describes the conversion of a float32 to a Float16, by its sign and
// exponent. The fraction, with its leading bit, loses shift bits and is added to base.
var float16Steps = func() (steps [1 << 9]struct {
	base  uint16
	shift uint8
}) {
	for i := range steps {
		s, exponent := &steps[i], i&0xff
		s.base = uint16(i>>8) << 15
		switch {
		// Less than half of the smallest subnormal: nothing is left.
		case exponent < 102:
			s.shift = 25
		// Subnormal: the leading bit becomes part of the fraction.
		case exponent < 113:
			s.shift = uint8(126 - exponent)
		// The leading bit adds one to the exponent.
		case exponent < 143:
			s.base, s.shift = s.base|uint16(exponent-113)<<10, 13
		default:
			s.base, s.shift = s.base|half16Inf, 31
		}
	}
	return steps
}()

// float16FromBits is [FromFloat32] by tables, for the bits of a float32.
func float16FromBits(b uint32) uint16 {
	s := &float16Steps[b>>23]
	fraction := b & (1<<23 - 1)
	// A NaN, whatever its sign: it must not lose its whole payload.
	if b<<1 > singleInf<<1 {
		return s.base | max(1, uint16(fraction>>13))
	}
	// The leading bit is implicit in a float32.
	fraction |= 1 << 23
	// The mask tells the compiler that the shifts are below 32.
	shift := s.shift & 31
	return s.base + uint16((fraction+1<<shift>>1-1+fraction>>shift&1)>>shift)
}
