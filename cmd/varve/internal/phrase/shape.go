// SPDX-License-Identifier: Apache-2.0

package phrase

import (
	"strconv"
	"strings"

	"varve.dev/zarr/draw"
	"varve.dev/zarr/grid"
)

// Index returns an index in parentheses: (15, 40).
func Index(index []int64) string {
	parts := make([]string, len(index))
	for i, n := range index {
		parts[i] = strconv.FormatInt(n, 10)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// Shape returns lengths as 1,826 × 36 × 72, or "scalar" if there are none.
func Shape(shape []int64) string {
	if len(shape) == 0 {
		return "scalar"
	}
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = Count(n)
	}
	return strings.Join(parts, " × ")
}

// Chunks returns the chunk lengths of all axes in short: 365×4, 366 | 36 | 72.
func Chunks(g *grid.Grid) string {
	parts := make([]string, g.Rank())
	for i := range parts {
		parts[i] = draw.Sizes(g.Axis(i))
	}
	return strings.Join(parts, " | ")
}
