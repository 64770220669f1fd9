// Package view shows chunk grids to people: as a drawing in a terminal, as a picture in SVG, and as one line of text an axis.
//
// A drawing has heavy lines around the array and light lines between chunks. Columns are the cells of the last axis,
// rows those of the axis before it, and their lengths stand in the margins; what reaches beyond the array is dotted.
// Cells are true to scale along each axis; dashed lines mark those that are larger, because they would not be seen
// or their lengths would not fit. Axes with more cells than fit are drawn as runs
// of equal lengths, and in the end with only their first and last cells, so that a grid of 10^18 chunks is drawn as fast
// as one of ten.
//
//	g, err := grid.New([]int64{60, 100}, grid.Edges(10, 20, 30), grid.Every(25))
//	fmt.Print(view.Grid(g, nil))
//
// A picture follows the same rules, and several grids side by side share a scale ([SVGRow]).
package view
