package grid

import "math"

// FittingLengths returns the lengths next to length, in elements, by which the axis can grow with one new edge ([AppendOne]) so that what
// is new is stored with a multiple of n elements ([Axis.MultipleOf]). What fills an edge that reaches beyond the extent comes first and
// is no part of the new one. Both are length itself where that fits, as every length does on a regular axis. Where no shorter
// one fits below is 0, and where a longer one would exceed 64 bits above is 0; both are where n or length is below 1.
// With [Growth.RoundedUp] every length fits.
func (a Axis) FittingLengths(length, n int64) (below, above int64) {
	if length < 1 || n < 1 {
		return 0, 0
	}
	if most := math.MaxInt64 - a.extent; length > most {
		below, _ = a.FittingLengths(most, n)
		return below, 0
	}
	var edge, common int64 // of the new cell, and with how much new cells are stored at least
	switch {
	case a.edges != nil:
		edge = length - (a.edges.sum - a.extent)
		if s := a.stored; s != nil && s.edges == nil {
			common = s.step
		}
	case a.IsTrimmed():
		edge = length + a.extent%a.step
	}
	if edge <= common || edge%n == 0 {
		return length, length
	}
	over := edge % n
	below = max(0, length-over, length-edge+common)
	if above = length + n - over; above < length || above > math.MaxInt64-a.extent {
		above = 0
	}
	return below, above
}
