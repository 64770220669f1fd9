// SPDX-License-Identifier: Apache-2.0

package blocks

import "slices"

const (
	// fewRuns is the number of runs up to which an axis is cheap to merge.
	fewRuns = 1 << 10
	// mostParts is the number of equal parts up to which a unit of the other side is cut.
	mostParts = 8
)

// bounds returns the lengths up to which units are worth merging, in ascending order,
// from the longest unit up to room.
func bounds(units, other *line, room int64) []int64 {
	room = min(room, units.extent)
	// A block is tried with every number of units up to dense. Beyond it, half of dense
	// numbers are tried between a power of two and the next.
	dense, unit := int64(8), units.longest
	if len(units.runs) <= fewRuns {
		dense = 32
	}
	// Units of different lengths also fill what is no multiple of the longest. Those of
	// a regular axis are at most two runs.
	if n := len(units.runs); n > 2 && n <= fewRuns {
		unit = max(1, unit/4)
	}
	list := []int64{units.longest, room}
	step := int64(1)
	for n := int64(1); n <= room/unit; n += step {
		if n*unit > units.longest {
			list = append(list, n*unit)
		}
		if n == dense*step {
			step *= 2
		}
	}
	// Blocks that cut the units of the other side into equal parts share more borders
	// with them than longer blocks do.
	for n := int64(1); n <= mostParts; n++ {
		list = append(list, max(units.longest, min(room, other.longest/n)))
	}
	slices.Sort(list)
	return slices.Compact(list)
}
