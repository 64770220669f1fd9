// SPDX-License-Identifier: Apache-2.0

package number

import "math/bits"

// float32Of converts an integer to float32, rounded to nearest even. On 32-bit
// processors, Go 1.26 rounds some integers between 2^46 and 2^47 twice. The detour over
// an exact float64 avoids that: it has the high bits of the integer, and a last bit that
// is set if any other bit is.
func float32Of[T int64 | uint64](x T) float32 {
	if bits.UintSize == 64 {
		return float32(x)
	}
	if x < 0 {
		return -roundOnce(-uint64(x))
	}
	return roundOnce(uint64(x))
}

// roundOnce is float32Of through a float64.
func roundOnce(x uint64) float32 {
	if x < exact {
		return float32(float64(x))
	}
	const drop = 11 // leaves 53 bits
	upper := x >> drop
	if x&(1<<drop-1) != 0 {
		// The last bit records that bits were lost, so that the conversion below rounds
		// correctly.
		upper |= 1
	}
	return float32(float64(upper)) * (1 << drop)
}
