package dtype

import "math"

// Float16 is a number of IEEE 754 binary16, held as its bits: sign, 5 bits of exponent, 10 of fraction.
type Float16 uint16

const (
	half16Inf  = 0x7c00 // bits of +infinity
	half16Sign = 0x8000

	// single65520 is the first float32 (as bits) that rounds to an infinite Float16: half way beyond 65504.
	single65520 = 0x477ff000
	// singleNormal16 is the least normal Float16, 2^-14, as bits of a float32.
	singleNormal16 = 0x38800000
	singleInf      = 0x7f800000
	// rebias turns the exponent of a Float16 into that of a float32: their biases are 15 and 127.
	rebias = (127 - 15) << 23
)

// Float32 returns the same number as a float32, which holds every Float16 exactly, NaN payloads included.
func (f Float16) Float32() float32 {
	sign := uint32(f&half16Sign) << 16
	abs := uint32(f &^ half16Sign)
	switch f & half16Inf {
	case 0:
		return math.Float32frombits(sign | math.Float32bits(float32(abs)*0x1p-24))
	case half16Inf:
		return math.Float32frombits(sign | singleInf | abs<<13)
	}
	return math.Float32frombits(sign | abs<<13 + rebias)
}

// FromFloat32 returns the Float16 nearest to x, the even one of two equally near; from 65520 on that is infinity.
// A NaN keeps its sign, its quiet bit and the upper ten bits of its payload.
func FromFloat32(x float32) Float16 {
	b := math.Float32bits(x)
	sign := Float16(b >> 16 & half16Sign)
	abs := b &^ (1 << 31)
	switch {
	case abs > singleInf:
		// A payload in the lower bits alone must not turn the NaN into an infinity.
		return sign | half16Inf | max(1, Float16(abs>>13&0x3ff))
	case abs >= single65520:
		return sign | half16Inf
	case abs < singleNormal16:
		// The last place of numbers from 0.5 on is 2^-24, as that of subnormal Float16: the addition rounds.
		return sign | Float16(math.Float32bits(math.Float32frombits(abs)+0.5)-math.Float32bits(0.5))
	}
	odd := abs >> 13 & 1
	return sign | Float16((abs-rebias+0xfff+odd)>>13)
}

// String returns the shortest decimal that reads back as f, "nan", "inf" or "-inf".
func (f Float16) String() string {
	return string(float16Format.appendText(nil, uint64(f)))
}
