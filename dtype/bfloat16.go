// SPDX-License-Identifier: Apache-2.0

package dtype

import "math"

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
