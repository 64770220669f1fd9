// SPDX-License-Identifier: Apache-2.0

package number

import (
	"math"
	"math/bits"
)

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
