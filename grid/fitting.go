// SPDX-License-Identifier: Apache-2.0

package grid

import "math"

// FittingLengths returns the lengths nearest to length by which the axis can grow with
// one new edge ([AppendOne]) that is stored with a multiple of n elements
// ([Axis.MultipleOf]). All lengths are in elements. Elements that fill an edge beyond the
// extent come first and are not part of the new edge.
//
// Both results are length if that fits, as it always does on a regular axis. below is 0
// if no shorter length fits, and above is 0 if a longer one would overflow int64. Both
// are 0 if n or length is below 1. With [Growth.RoundedUp] every length fits.
func (a Axis) FittingLengths(length, n int64) (below, above int64) {
	if length < 1 || n < 1 {
		return 0, 0
	}
	if most := math.MaxInt64 - a.extent; length > most {
		below, _ = a.FittingLengths(most, n)
		return below, 0
	}
	// edge is the length of the new edge, common the encoded length that all cells share.
	var edge, common int64
	switch {
	case a.edges != nil:
		edge = length - (a.edges.sum - a.extent)
		if s := a.stored; s != nil && s.edges == nil {
			common = s.step
		}
	case a.IsTrimmed():
		// The last chunk is stored up to the new extent, so it counts from its own start.
		edge = length + a.extent%a.step
	}
	// No new edge is needed, or it is stored with the shared length, or it fits.
	if edge <= common || edge%n == 0 {
		return length, length
	}
	over := edge % n
	// A shorter edge fits if it is a multiple of n, if it is not longer than the encoded
	// length that all cells share, or if it is not needed at all.
	below = max(0, length-over, length-edge+common)
	if above = length + n - over; above < length || above > math.MaxInt64-a.extent {
		above = 0
	}
	return below, above
}
