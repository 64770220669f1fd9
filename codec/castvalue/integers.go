package castvalue

import (
	"math"
	"math/bits"

	"varve.dev/zarr/internal/number"
)

func signedToSigned(c *cast, b *number.Block, n int) int {
	low, high := c.low, int64(c.high)
	for i, x := range b.I[:n] {
		if x >= low && x <= high {
			continue
		}
		switch c.beyond {
		case fails:
			return i
		case wraps:
			b.I[i] = c.wrap(uint64(x))
		case clamps:
			b.I[i] = min(max(x, low), high)
		}
	}
	return -1
}

func signedToUnsigned(c *cast, b *number.Block, n int) int {
	for i, x := range b.I[:n] {
		b.U[i] = uint64(x)
		if x >= 0 && uint64(x) <= c.high {
			continue
		}
		switch {
		case c.beyond == fails:
			return i
		case c.beyond == wraps:
			b.U[i] &= c.high
		case x < 0:
			b.U[i] = 0
		default:
			b.U[i] = c.high
		}
	}
	return -1
}

func unsignedToSigned(c *cast, b *number.Block, n int) int {
	for i, x := range b.U[:n] {
		b.I[i] = int64(x)
		if x <= c.high {
			continue
		}
		switch c.beyond {
		case fails:
			return i
		case wraps:
			b.I[i] = c.wrap(x)
		case clamps:
			b.I[i] = int64(c.high)
		}
	}
	return -1
}

func unsignedToUnsigned(c *cast, b *number.Block, n int) int {
	for i, x := range b.U[:n] {
		if x <= c.high {
			continue
		}
		switch c.beyond {
		case fails:
			return i
		case wraps:
			b.U[i] = x & c.high
		case clamps:
			b.U[i] = c.high
		}
	}
	return -1
}

func floatToSigned(c *cast, b *number.Block, n int) int {
	c.mode.Integral(b.F[:n])
	low, end := float64(c.low), float64(c.high/2+1)*2 // a power of two, which every float64 has
	for i, x := range b.F[:n] {
		if x >= low && x < end {
			b.I[i] = int64(x)
			continue
		}
		switch {
		case c.beyond == fails || !finite(x):
			return i
		case c.beyond == wraps:
			b.I[i] = c.wrap(modulo(x))
		case x < 0:
			b.I[i] = c.low
		default:
			b.I[i] = int64(c.high)
		}
	}
	return -1
}

func floatToUnsigned(c *cast, b *number.Block, n int) int {
	c.mode.Integral(b.F[:n])
	end := float64(c.high/2+1) * 2
	for i, x := range b.F[:n] {
		if x >= 0 && x < end {
			b.U[i] = uint64(x)
			continue
		}
		switch {
		case c.beyond == fails || !finite(x):
			return i
		case c.beyond == wraps:
			b.U[i] = modulo(x) & c.high
		case x < 0:
			b.U[i] = 0
		default:
			b.U[i] = c.high
		}
	}
	return -1
}

// wrap returns the number of the signed target that has the lower bits of x.
func (c *cast) wrap(x uint64) int64 {
	unused := 64 - c.to.Bits
	return int64(x<<unused) >> unused
}

// modulo returns an integral number modulo 2^64, as two's complement.
func modulo(x float64) uint64 {
	b := math.Float64bits(x)
	mantissa, shift := b&(1<<52-1)|1<<52, int(b>>52&0x7ff)-1075
	switch {
	case x == 0:
		return 0
	case shift >= 0:
		mantissa <<= uint(shift) // all bits leave from 64 on
	default:
		mantissa >>= uint(-shift)
	}
	if x < 0 {
		mantissa, _ = bits.Sub64(0, mantissa, 0)
	}
	return mantissa
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
