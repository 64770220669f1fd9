// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"fmt"
	"iter"

	"varve.dev/zarr/grid"
)

// Piece is what a block of one stage and a block of the next one have in common. It is
// one range of the scratch object of the earlier block, with its elements in C order.
type Piece struct {
	Block  []int64  // index of the block on the other side
	Box    grid.Box // region of the array
	Offset int64    // elements before the piece in the scratch object
}

// Pieces yields the pieces of the scratch object of a block, in the order in which they
// are stored. next is the grid of the blocks of the next stage. All pieces share the
// memory of the first, so one is valid until the next is yielded. Pieces returns an error
// that wraps [grid.ErrOutOfRange] if there is no such block.
func Pieces(blocks, next *grid.Grid, index []int64) (iter.Seq[*Piece], error) {
	return commonPieces(blocks, next, index, true)
}

// Sources yields the pieces that a block reads, in C order. previous is the grid of the
// blocks of the stage before, which wrote the scratch objects. All pieces share the
// memory of the first, so one is valid until the next is yielded. Sources returns an
// error that wraps [grid.ErrOutOfRange] if there is no such block.
func Sources(previous, blocks *grid.Grid, index []int64) (iter.Seq[*Piece], error) {
	return commonPieces(blocks, previous, index, false)
}

// commonPieces yields what a block has in common with those of another grid. The scratch
// objects are those of the block, or of the other grid.
func commonPieces(blocks, other *grid.Grid, index []int64, isWriter bool) (iter.Seq[*Piece], error) {
	c, ok := blocks.Chunk(index)
	if !ok {
		return nil, fmt.Errorf("blocks: %w: block %v of a grid of %v", grid.ErrOutOfRange, index, blocks.Chunks())
	}
	box := c.Box()
	met, err := other.Touched(box)
	if err != nil {
		return nil, fmt.Errorf("blocks: %w", err)
	}
	return func(yield func(*Piece) bool) {
		rank := len(box)
		p := Piece{Block: make([]int64, rank), Box: make(grid.Box, rank)}
		cell, object := grid.NewChunk(rank), make(grid.Box, rank)
		for more := met.First(p.Block); more; more = met.Next(p.Block) {
			other.Cell(p.Block, cell)
			for i := range object {
				object[i] = grid.Interval{Start: cell.Start[i], Stop: cell.Start[i] + cell.Logical[i]}
				p.Box[i] = box[i].Intersect(object[i])
			}
			if isWriter {
				copy(object, box)
			}
			p.Offset = offset(object, p.Box)
			if !yield(&p) {
				return
			}
		}
	}, nil
}

// offset returns the number of elements before a piece in the scratch object of a block.
// It depends on no other piece: those before it along an axis have the same extent as the
// piece along earlier axes, and fill the block along later ones.
func offset(object, piece grid.Box) int64 {
	before, across := int64(0), int64(1)
	for i, in := range piece {
		before = before*object[i].Len() + across*(in.Start-object[i].Start)
		across *= in.Len()
	}
	return before
}
