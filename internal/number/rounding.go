// SPDX-License-Identifier: Apache-2.0

package number

import (
	"math"

	"varve.dev/zarr/dtype"
)

func signedToFloat(c *Cast, b *Block, n int) int {
	direct, narrow := c.Mode == NearestEven, c.To.Bytes == 4
	if c.To.Bytes <= 2 {
		return c.integersToBits(b, n, func(i int) (bool, uint64) { return b.I[i] < 0, magnitude(b.I[i]) })
	}
	for i, x := range b.I[:n] {
		switch {
		case narrow && direct:
			b.F[i] = float64(float32Of(x))
		case !narrow && (direct || x > -exact && x < exact):
			b.F[i] = float64(x)
		default:
			b.F[i] = c.roundInteger(x < 0, magnitude(x))
		}
	}
	return -1
}

func unsignedToFloat(c *Cast, b *Block, n int) int {
	direct, narrow := c.Mode == NearestEven, c.To.Bytes == 4
	if c.To.Bytes <= 2 {
		return c.integersToBits(b, n, func(i int) (bool, uint64) { return false, b.U[i] })
	}
	for i, x := range b.U[:n] {
		switch {
		case narrow && direct:
			b.F[i] = float64(float32Of(x))
		case !narrow && (direct || x < exact):
			b.F[i] = float64(x)
		default:
			b.F[i] = c.roundInteger(false, x)
		}
	}
	return -1
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// roundInteger converts an integer to a target of four or eight bytes, whose range
// includes all integers.
func (c *Cast) roundInteger(negative bool, x uint64) float64 {
	bits, _ := c.To.Layout.RoundMantissa(negative, x, 0, c.Mode)
	if c.To.Bytes == 4 {
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}

// integersToBits sets U to the bits of integers by sign and magnitude, for a target of
// one or two bytes.
func (c *Cast) integersToBits(b *Block, n int, at func(i int) (bool, uint64)) int {
	for i := range n {
		negative, x := at(i)
		bits, verdict := c.To.Layout.RoundMantissa(negative, x, 0, c.Mode)
		if verdict == Beyond && c.Overflow != Clamps {
			return i
		}
		b.U[i] = bits
	}
	return -1
}

func floatToFloat(c *Cast, b *Block, n int) int {
	switch c.To.Bytes {
	case 8:
		return -1
	case 4:
		return c.narrow(b, n)
	}
	half := c.Mode == NearestEven && c.To.Layout.Fraction == 10
	for i, x := range b.F[:n] {
		if short := float32(x); half && math.Abs(x) < 65520 && float64(short) == x {
			b.U[i] = uint64(dtype.FromFloat32(short))
			continue
		}
		bits, verdict := c.To.Layout.Round(x, c.Mode)
		if verdict != Fits && (verdict != Beyond || c.Overflow != Clamps) {
			return i
		}
		b.U[i] = bits
	}
	return -1
}

// narrow rounds numbers to float32.
func (c *Cast) narrow(b *Block, n int) int {
	direct := c.Mode == NearestEven
	for i, x := range b.F[:n] {
		short := float64(float32(x))
		switch {
		case short == x || math.IsNaN(x):
			continue
		case direct && !math.IsInf(short, 0):
			b.F[i] = short
			continue
		}
		bits, verdict := c.To.Layout.Round(x, c.Mode)
		if verdict != Fits && c.Overflow != Clamps {
			return i
		}
		b.F[i] = float64(math.Float32frombits(uint32(bits)))
	}
	return -1
}
