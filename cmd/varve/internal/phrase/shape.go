// SPDX-License-Identifier: Apache-2.0

package phrase

import (
	"fmt"
	"strconv"
	"strings"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/draw"
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

// muchPadding is how many elements a chunk must have for each one that is in the array,
// and mostUnnoted how many more it may have, before [Padding] notes it.
const (
	muchPadding = 4
	mostUnnoted = 1 << 18
)

// Padding returns a note if the chunks of a regular grid are much longer than the array:
// they are stored and read with all their elements. option is what takes better chunks,
// such as "varve rechunk --chunks".
func Padding(g *grid.Grid, option string) []string {
	times, excess, better := padding(g)
	if better == "" {
		return nil
	}
	return []string{fmt.Sprintf("a chunk is stored and read with %.0f times the elements that the array has there (%s): unless it will grow that far, chunks of %s are better (%s %[3]s)",
		times, excess, better, option)}
}

// BetterChunks returns the chunks that the note of [Padding] proposes, or "".
func BetterChunks(g *grid.Grid) string {
	_, _, better := padding(g)
	return better
}

// padding returns how many elements a chunk has for each one that is in the array, where
// the chunks are too long, and better chunks. better is "" if they are not too long.
func padding(g *grid.Grid) (times float64, excess, better string) {
	if !g.IsRegular() {
		return 0, "", ""
	}
	stored, used := 1.0, 1.0
	var long []string
	without := make([]string, g.Rank())
	for i := range without {
		a := g.Axis(i)
		edge := a.Longest(grid.Interval{Stop: a.Chunks()})
		n := min(edge, a.Extent())
		stored, used = stored*float64(edge), used*float64(n)
		without[i] = strconv.FormatInt(n, 10)
		if n < edge {
			long = append(long, fmt.Sprintf("%d of %d along axis %d", n, edge, i))
		}
	}
	if used == 0 || stored < muchPadding*used || stored-used < mostUnnoted {
		return 0, "", ""
	}
	return stored / used, strings.Join(long, ", "), strings.Join(without, ",")
}
