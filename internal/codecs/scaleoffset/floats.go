// SPDX-License-Identifier: Apache-2.0

package scaleoffset

import (
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/number"
)

func (c *coder) encodeFloats(x []float64) int {
	if c.offset.given {
		offset := c.offset.f
		for i, v := range x {
			x[i] = v - offset
		}
		// Each operation is rounded to the data type.
		if at := c.round(x); at >= 0 {
			return at
		}
	}
	if !c.scale.given {
		return -1
	}
	scale := c.scale.f
	for i, v := range x {
		x[i] = v * scale
	}
	return c.round(x)
}

func (c *coder) decodeFloats(x []float64) int {
	if c.scale.given {
		scale := c.scale.f
		for i, v := range x {
			x[i] = v / scale
		}
		if at := c.round(x); at >= 0 {
			return at
		}
	}
	if !c.offset.given {
		return -1
	}
	offset := c.offset.f
	for i, v := range x {
		x[i] = v + offset
	}
	return c.round(x)
}

// round rounds results to the data type. Rounding the result of one operation to float64
// first does not change it for types with a significand of at most 25 bits, nor does
// rounding to float32 for float16. It returns the index of the first result that the type
// does not have, or -1.
func (c *coder) round(x []float64) int {
	switch c.format.Bytes {
	case 8:
		return -1
	case 4:
		for i, v := range x {
			x[i] = float64(float32(v))
		}
		return -1
	}
	// Fast path for float16.
	if c.half {
		for i, v := range x {
			x[i] = float64(dtype.FromFloat32(float32(v)).Float32())
		}
		return -1
	}
	return c.roundSlowly(x)
}

// roundSlowly is round for any format.
func (c *coder) roundSlowly(x []float64) int {
	l := c.format.Layout
	for i, v := range x {
		bits, verdict := l.Round(v, number.NearestEven)
		if verdict != number.Fits && (verdict != number.Beyond || l.Special != number.IEEE) {
			return i
		}
		x[i] = l.Float64(bits)
	}
	return -1
}
