package dtype

import (
	"encoding/binary"
	"math"
	"sync"
)

// Float32s sets dst to the numbers that elems stand for: elements of t one behind the other, in host byte order. It is for floats of
// at most 32 bits, each of which a float32 holds exactly; NaNs keep their sign and payload where the format has such. It returns how many
// numbers were set, 0 where t is of another kind.
func (t Type) Float32s(dst []float32, elems []byte) (n int) {
	if t.kind != Float || t.size > 4 {
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

// SetFloat32s sets elems, elements of t one behind the other, to the numbers nearest to those of src, ties to even. It is for floats of at
// most 32 bits. It stops at the first number that t has nothing to stand for: one beyond the largest, an infinity or a NaN
// where there is none, and what is not positive in float8_e8m0fnu. It returns how many elements were set, 0 where t is of another kind.
func (t Type) SetFloat32s(elems []byte, src []float32) (n int) {
	if t.kind != Float || t.size > 4 {
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
		if h&^half16Sign == singleInf>>16 && b&^(1<<31) != singleInf {
			return i
		}
		binary.NativeEndian.PutUint16(elems[2*i:], uint16(h))
	}
	return len(src)
}

// Float16sToFloat32 sets dst to the numbers of src, as many as the shorter one has, and returns how many these are.
// It equals [Float16.Float32] one by one, and reads a table of 256 KiB that the first call makes.
func Float16sToFloat32(dst []float32, src []Float16) int {
	n := min(len(dst), len(src))
	table := float16Table()
	for i, f := range src[:n] {
		dst[i] = table[f]
	}
	return n
}

// Float16sFromFloat32 sets dst to the Float16 nearest to the numbers of src, as many as the shorter one has, and returns how many these
// are. It equals [FromFloat32] one by one: what is too large is infinite.
func Float16sFromFloat32(dst []Float16, src []float32) int {
	n := min(len(dst), len(src))
	for i, x := range src[:n] {
		dst[i] = Float16(float16FromBits(math.Float32bits(x)))
	}
	return n
}

// float16Table has the numbers of all Float16 by their bits.
var float16Table = sync.OnceValue(func() *[1 << 16]float32 {
	t := new([1 << 16]float32)
	for i := range t {
		t[i] = Float16(i).Float32()
	}
	return t
})

// float16Steps tells for sign and exponent of a float32 how it becomes a Float16: what is added to its fraction, which has lost shift bits.
var float16Steps = func() (steps [1 << 9]struct {
	base  uint16
	shift uint8
}) {
	for i := range steps {
		s, exponent := &steps[i], i&0xff
		s.base = uint16(i>>8) << 15
		switch {
		case exponent < 102: // less than half of the least: nothing is left
			s.shift = 25
		case exponent < 113: // subnormal
			s.shift = uint8(126 - exponent)
		case exponent < 143: // the leading bit of the fraction counts one exponent up
			s.base, s.shift = s.base|uint16(exponent-113)<<10, 13
		default:
			s.base, s.shift = s.base|half16Inf, 31
		}
	}
	return steps
}()

// float16FromBits is [FromFloat32] by tables, of the bits of a float32.
func float16FromBits(b uint32) uint16 {
	s := &float16Steps[b>>23]
	fraction := b & (1<<23 - 1)
	if b<<1 > singleInf<<1 {
		return s.base | max(1, uint16(fraction>>13))
	}
	fraction |= 1 << 23
	shift := s.shift & 31
	return s.base + uint16((fraction+1<<shift>>1-1+fraction>>shift&1)>>shift)
}
