// SPDX-License-Identifier: Apache-2.0

// Package draw shows chunk grids to people: as a drawing for a terminal ([Grid]), as a
// picture in SVG ([SVG]), and as one line of text per axis ([Sizes]).
//
//	g, err := grid.New([]int64{60, 100}, grid.Edges(10, 20, 30), grid.Every(25))
//	fmt.Print(draw.Grid(g, nil))
//
// A drawing has heavy lines around the array and light lines between chunks. Columns are
// the cells of the last axis and rows those of the axis before it, with their lengths in
// the margins. The part of the cells that lies beyond the array is dotted.
//
// Cells are true to scale along each axis. Dashed lines mark cells that are larger,
// because they would be invisible or their length would not fit. Axes with many cells are
// drawn as runs of equal lengths and, if that is still too much, as only their first and
// last cells. A grid of 10^18 chunks is therefore drawn as fast as one of ten.
//
// A picture follows the same rules. Several grids side by side share a scale ([SVGRow]).
package draw
