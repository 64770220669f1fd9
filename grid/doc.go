// SPDX-License-Identifier: Apache-2.0

// Package grid cuts arrays into chunks. It only does arithmetic, no I/O.
//
// An [Axis] is one dimension of an array: its extent in elements and the edges that cut
// it into cells. A [Grid] is the product of its axes. It represents both the regular grid
// of the Zarr core specification, whose axes repeat one length ([Every]), and the
// rectilinear grid of zarr-extensions, whose axes may also list their lengths ([Edges],
// [Runs]).
//
//	g, err := grid.New([]int64{60, 100}, grid.Edges(10, 20, 30), grid.Every(25))
//	c, ok := g.Chunk([]int64{2, 3}) // elements 30…59 × 75…99
//
// Begin with [New] or [Parse]. [Grid.Locate], [Grid.Touching] and [Grid.All] find chunks.
// [Grid.Grown], [Grid.Concat], [Grid.Merged] and their relatives return changed grids.
//
// A list is stored as runs of equal lengths and never expanded, so a grid of 10^18 chunks
// takes as much memory as one of ten. Repetitions within a list are stored once: the
// months of eighty years take no more memory than those of four.
//
// # Terms
//
// A cell is any position of the grid. A chunk is a cell that overlaps the array. Along an
// axis a cell has a start and three lengths in elements:
//
//   - its edge, the declared length, which is the distance to the start of the next cell;
//   - its logical length, the number of elements that belong to the array: the edge
//     clipped at the extent;
//   - its encoded length, which its stored bytes decode to. It equals the edge, even if
//     the edge reaches beyond the extent.
//
// Two experiments of other programs differ in the encoded length. Cells may be stored
// longer than their edges ([Cut.EncodedAs]), and the last chunk of a trimmed axis
// ([EveryTrimmed]) is stored only up to the extent.
//
// If chunks are shards, their inner chunks form a grid as well ([Grid.Divided]).
// [Propose] suggests shapes for both.
package grid
