// SPDX-License-Identifier: Apache-2.0

package scaleoffset

import "math/bits"

// one returns the scale, 1 by default.
func (o operand) one() (int64, uint64) {
	if !o.given {
		return 1, 1
	}
	return o.i, o.u
}

func (c *coder) encodeSigned(x []int64) int {
	offset, low, high := c.offset.i, c.low, int64(c.high)
	scale, _ := c.scale.one()
	for i, v := range x {
		d := v - offset
		// The difference has overflowed if v and offset have different signs, and d does
		// not have the sign of v.
		overflow := (v^offset)&(v^d) < 0
		p, ok := multiply(d, scale)
		if overflow || !ok || d < low || d > high || p < low || p > high {
			return i
		}
		x[i] = p
	}
	return -1
}

// multiply returns a*b. ok is false if that overflows.
func multiply(a, b int64) (int64, bool) {
	high, low := bits.Mul64(uint64(a), uint64(b))
	upper := int64(high) - a>>63&b - b>>63&a // of the signed product
	return int64(low), upper == int64(low)>>63
}

func (c *coder) encodeUnsigned(x []uint64) int {
	offset, most := c.offset.u, c.high
	_, scale := c.scale.one()
	for i, v := range x {
		// If v is less than offset, the difference wraps around, and the next check
		// refuses it.
		over, p := bits.Mul64(v-offset, scale)
		if v < offset || over != 0 || p > most {
			return i
		}
		x[i] = p
	}
	return -1
}

func (c *coder) decodeSigned(x []int64) int {
	offset, low, high := c.offset.i, c.low, int64(c.high)
	scale, _ := c.scale.one()
	for i, v := range x {
		q := v
		if scale != 1 {
			// The smallest integer divided by -1 overflows.
			if q = v / scale; q*scale != v || v == low && scale == -1 {
				return i
			}
		}
		s := q + offset
		// The sum has overflowed if its sign differs from those of both operands.
		if (s^q)&(s^offset) < 0 || s < low || s > high {
			return i
		}
		x[i] = s
	}
	return -1
}

func (c *coder) decodeUnsigned(x []uint64) int {
	offset, most := c.offset.u, c.high
	_, scale := c.scale.one()
	for i, v := range x {
		q := v
		if scale != 1 {
			if q = v / scale; q*scale != v {
				return i
			}
		}
		// Compare with a difference: a sum could overflow.
		if q > most-offset {
			return i
		}
		x[i] = q + offset
	}
	return -1
}
