// SPDX-License-Identifier: Apache-2.0

package dtype

import "math"

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
