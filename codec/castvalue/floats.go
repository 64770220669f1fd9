package castvalue

import (
	"math"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/number"
)

// exact is the number from which on a float64 does not have all integers.
const exact = 1 << 53

func signedToFloat(c *cast, b *number.Block, n int) int {
	direct, narrow := c.mode == number.NearestEven, c.to.Bytes == 4
	if c.to.Bytes <= 2 {
		return c.integersToBits(b, n, func(i int) (bool, uint64) { return b.I[i] < 0, magnitude(b.I[i]) })
	}
	for i, x := range b.I[:n] {
		switch {
		case narrow && direct:
			b.F[i] = float64(float32(x))
		case !narrow && (direct || x > -exact && x < exact):
			b.F[i] = float64(x)
		default:
			b.F[i] = c.roundInteger(x < 0, magnitude(x))
		}
	}
	return -1
}

func unsignedToFloat(c *cast, b *number.Block, n int) int {
	direct, narrow := c.mode == number.NearestEven, c.to.Bytes == 4
	if c.to.Bytes <= 2 {
		return c.integersToBits(b, n, func(i int) (bool, uint64) { return false, b.U[i] })
	}
	for i, x := range b.U[:n] {
		switch {
		case narrow && direct:
			b.F[i] = float64(float32(x))
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

// roundInteger returns an integer in a target of four or eight bytes, which have the range for all.
func (c *cast) roundInteger(negative bool, x uint64) float64 {
	bits, _ := c.to.Layout.RoundMantissa(negative, x, 0, c.mode)
	if c.to.Bytes == 4 {
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}

// integersToBits sets U to the bits of integers by sign and magnitude, in a target of one or two bytes.
func (c *cast) integersToBits(b *number.Block, n int, at func(i int) (bool, uint64)) int {
	for i := range n {
		negative, x := at(i)
		bits, verdict := c.to.Layout.RoundMantissa(negative, x, 0, c.mode)
		if verdict == number.Beyond && c.beyond != clamps {
			return i
		}
		b.U[i] = bits
	}
	return -1
}

func floatToFloat(c *cast, b *number.Block, n int) int {
	switch c.to.Bytes {
	case 8:
		return -1
	case 4:
		return c.narrow(b, n)
	}
	half := c.mode == number.NearestEven && c.target == dtype.Of[dtype.Float16]()
	for i, x := range b.F[:n] {
		if short := float32(x); half && math.Abs(x) < 65520 && float64(short) == x {
			b.U[i] = uint64(dtype.FromFloat32(short))
			continue
		}
		bits, verdict := c.to.Layout.Round(x, c.mode)
		if verdict != number.Fits && (verdict != number.Beyond || c.beyond != clamps) {
			return i
		}
		b.U[i] = bits
	}
	return -1
}

// narrow rounds numbers to those of a float32.
func (c *cast) narrow(b *number.Block, n int) int {
	direct := c.mode == number.NearestEven
	for i, x := range b.F[:n] {
		short := float64(float32(x))
		switch {
		case short == x || math.IsNaN(x):
			continue
		case direct && !math.IsInf(short, 0):
			b.F[i] = short
			continue
		}
		bits, verdict := c.to.Layout.Round(x, c.mode)
		if verdict != number.Fits && c.beyond != clamps {
			return i
		}
		b.F[i] = float64(math.Float32frombits(uint32(bits)))
	}
	return -1
}
