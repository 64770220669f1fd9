package main

import (
	"fmt"
	"strconv"
	"strings"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/view"
)

// byteCount returns a number of bytes as people read it: 512 B, 1.5 KiB, 20 MiB.
func byteCount(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	size, unit := float64(n)/1024, 0
	for size >= 1023.5 && unit < len("KMGTPE")-1 {
		size, unit = size/1024, unit+1
	}
	if size < 9.95 {
		return fmt.Sprintf("%.1f %ciB", size, "KMGTPE"[unit])
	}
	return fmt.Sprintf("%.0f %ciB", size, "KMGTPE"[unit])
}

// count returns a number with commas between thousands.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural returns a number with what is counted: 1 chunk, 2,000 chunks, 3 axes.
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if noun == "axis" {
		return count(n) + " axes"
	}
	return count(n) + " " + noun + "s"
}

// shapeText returns lengths as people read them: 1,826 × 36 × 72, or "scalar" where there are none.
func shapeText(shape []int64) string {
	if len(shape) == 0 {
		return "scalar"
	}
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = count(n)
	}
	return strings.Join(parts, " × ")
}

// chunksText returns how all axes are cut, in short: 365×4, 366 | 36 | 72.
func chunksText(g *grid.Grid) string {
	parts := make([]string, g.Rank())
	for i := range parts {
		parts[i] = view.Sizes(g.Axis(i))
	}
	return strings.Join(parts, " | ")
}

// runPairs returns runs as JSON has them: [size, count] an entry.
func runPairs(sizes [][]grid.Run) [][][2]int64 {
	axes := make([][][2]int64, len(sizes))
	for i, runs := range sizes {
		axes[i] = make([][2]int64, len(runs))
		for j, r := range runs {
			axes[i][j] = [2]int64{r.Length, r.Count}
		}
	}
	return axes
}
