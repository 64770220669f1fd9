package number

import "math/bits"

// float32Of returns an integer as float32, rounded to the nearest, half to even. With 32
// bits Go 1.26 rounds some integers between 2^46 and 2^47 twice. There a float64 comes
// first that rounds nothing: it has the upper bits of the integer, and a last one that
// tells whether one of the others is set.
func float32Of[T int64 | uint64](x T) float32 {
	if bits.UintSize == 64 {
		return float32(x)
	}
	if x < 0 {
		return -roundOnce(-uint64(x))
	}
	return roundOnce(uint64(x))
}

// roundOnce is float32Of by way of a float64.
func roundOnce(x uint64) float32 {
	if x < exact {
		return float32(float64(x))
	}
	const drop = 11 // so that 53 bits are left
	upper := x >> drop
	if x&(1<<drop-1) != 0 {
		upper |= 1
	}
	return float32(float64(upper)) * (1 << drop)
}
