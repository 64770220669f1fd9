// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"encoding/binary"
	"math"
	"sync"
)

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

// Float16sToFloat32 converts src to float32, up to the length of the shorter slice, and
// returns the number of elements converted. The results are those of [Float16.Float32].
// The first call makes a table of 256 KiB.
func Float16sToFloat32(dst []float32, src []Float16) int {
	n := min(len(dst), len(src))
	table := float16Table()
	for i, f := range src[:n] {
		dst[i] = table[f]
	}
	return n
}

// Float16sFromFloat32 sets dst to the numbers nearest to src, up to the length of the
// shorter slice, and returns the number of elements set. The results are those of
// [FromFloat32]: numbers that are too large become infinite.
func Float16sFromFloat32(dst []Float16, src []float32) int {
	n := min(len(dst), len(src))
	for i, x := range src[:n] {
		dst[i] = Float16(float16FromBits(math.Float32bits(x)))
	}
	return n
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
