// Package grid cuts arrays into chunks. It is arithmetic only and does no I/O.
//
// An [Axis] is one dimension of an array: its extent in elements and the edges that cut it into cells.
// A [Grid] is the product of its axes. There is one kind of grid: the regular grid of the Zarr core specification
// is the one whose axes all repeat one length ([Every]), the rectilinear grid of zarr-extensions also has axes
// with a list of lengths ([Edges], [Runs]). Lists are kept as runs of equal lengths and never expanded, so a grid of
// 10^18 chunks takes as much memory as one of ten. What repeats in a list is kept once: the months of eighty years take as much
// as those of four.
//
// Words: a cell is any position of the grid; a chunk is a cell that overlaps the array. A cell has three numbers along
// an axis: where it starts, its logical length (the elements that belong to the array, clipped at the extent) and
// its encoded length (what its stored bytes decode to). Regular axes store the cell at the end of an axis at full
// length; an explicit edge is stored with just that length, also where it reaches beyond the extent. Two experiments of others
// differ: cells with encoded lengths ([Cut.EncodedAs]) are stored longer than they are, and the last chunk of a trimmed axis
// ([EveryTrimmed]) ends at the extent.
//
// Where chunks are shards, the grid of their inner chunks is a grid as well ([Grid.Divided]), and [Propose] finds shapes for both.
//
//	g, err := grid.New([]int64{60, 100}, grid.Edges(10, 20, 30), grid.Every(25))
//	c, ok := g.Chunk([]int64{2, 3}) // elements 30…59 × 75…99
package grid
