// SPDX-License-Identifier: Apache-2.0

package number

import "math"

// Mode is a rounding mode.
type Mode uint8

// The rounding modes.
const (
	NearestEven Mode = iota
	TowardsZero
	TowardsPositive
	TowardsNegative
	NearestAway
)

// round returns the mantissa without its low drop bits, rounded. If a single digit is
// kept, it is 1 and therefore odd: ties round up, as IEEE 754 does for numbers of one
// digit.
func (m Mode) round(negative bool, mantissa uint64, drop int) uint64 {
	var kept, rest, half uint64
	switch {
	case drop < 64:
		kept, rest, half = mantissa>>drop, mantissa&(1<<drop-1), 1<<(drop-1)
	// A shift by 64 would lose the mantissa.
	case drop == 64:
		rest, half = mantissa, 1<<63
	default:
		rest, half = 1, 2 // less than half of the last place
	}
	if m.up(negative, kept, rest, half) {
		kept++
	}
	return kept
}

// up reports whether the magnitude is rounded up.
func (m Mode) up(negative bool, kept, rest, half uint64) bool {
	switch m {
	case NearestEven:
		return rest > half || rest == half && kept&1 == 1
	case NearestAway:
		return rest >= half
	case TowardsPositive:
		return rest != 0 && !negative
	case TowardsNegative:
		return rest != 0 && negative
	}
	return false
}

// Integral rounds numbers to integers. NaN and infinities do not change.
func (m Mode) Integral(x []float64) {
	switch m {
	case NearestEven:
		for i, v := range x {
			x[i] = math.RoundToEven(v)
		}
	case TowardsZero:
		for i, v := range x {
			x[i] = math.Trunc(v)
		}
	case TowardsPositive:
		for i, v := range x {
			x[i] = math.Ceil(v)
		}
	case TowardsNegative:
		for i, v := range x {
			x[i] = math.Floor(v)
		}
	case NearestAway:
		for i, v := range x {
			x[i] = math.Round(v)
		}
	}
}
