package selection

import "varve.dev/zarr/grid"

// Piece is what a selection takes from one chunk, as memory shows it: in the chunk and in the selected block.
// It is used again from chunk to chunk, by one goroutine.
type Piece struct {
	*Part
	Cell    *grid.Chunk
	Decoded grid.View // the chunk in its encoded shape
	Taken   grid.View // what is selected of it
	Placed  grid.View // where that stands in the block
}

// NewPiece returns a piece with room for the given number of axes and elements of size bytes.
func NewPiece(rank, size int) *Piece {
	p := &Piece{Part: NewPart(rank), Cell: grid.NewChunk(rank)}
	p.Decoded.Size, p.Taken.Size, p.Placed.Size = size, size, size
	n := make([]int64, 3*rank)
	p.Taken.Strides, p.Placed.Strides, p.Decoded.Strides = n[:rank:rank], n[rank:2*rank:2*rank], n[2*rank:2*rank]
	return p
}

// Seek makes p the piece that a part of the whole grid takes from one of its chunks.
// It is false where the part takes nothing of it.
func (p *Piece) Seek(g *grid.Grid, of grid.Part, chunk []int64) bool {
	if !g.Cell(chunk, p.Cell) {
		return false
	}
	for i, start := range p.Cell.Start {
		first, step := int64(0), of.Step[i]
		if before := start - of.Start[i]; before > 0 {
			first = (before + step - 1) / step
		}
		from := of.Start[i] + first*step - start
		count := int64(0)
		if from < p.Cell.Logical[i] {
			count = min(of.Count[i]-first, (p.Cell.Logical[i]-from-1)/step+1)
		}
		if count <= 0 {
			return false
		}
		p.Chunk[i], p.Start[i], p.Step[i], p.Count[i], p.Place[i] = chunk[i], from, step, count, first
	}
	return true
}

// IsWhole reports whether the piece is all that the chunk holds of the array.
func (p *Piece) IsWhole() bool {
	for i, n := range p.Cell.Logical {
		if p.Start[i] != 0 || p.Count[i] != n || p.Step[i] != 1 && n > 1 {
			return false
		}
	}
	return true
}

// Into points Placed to the piece's place in the selected block.
func (p *Piece) Into(block grid.View) {
	p.Placed.Data, p.Placed.Shape, p.Placed.Offset, p.Placed.Heap = block.Data, p.Count, block.Offset, block.Heap
	for i, at := range p.Place {
		p.Placed.Strides[i] = block.Strides[i]
		p.Placed.Offset += at * block.Strides[i]
	}
}

// Take points Taken to the piece's elements in Decoded.
func (p *Piece) Take() {
	p.Taken.Data, p.Taken.Shape, p.Taken.Offset, p.Taken.Heap = p.Decoded.Data, p.Count, p.Decoded.Offset, p.Decoded.Heap
	for i, at := range p.Start {
		p.Taken.Strides[i] = p.Decoded.Strides[i] * p.Step[i]
		p.Taken.Offset += at * p.Decoded.Strides[i]
	}
}

// Show points Decoded to memory that holds the chunk in C order, and to what its elements refer to if they differ in length.
func (p *Piece) Show(data []byte, heap *grid.Heap) {
	p.Decoded.Data, p.Decoded.Shape, p.Decoded.Offset, p.Decoded.Heap = data, p.Cell.Encoded, 0, heap
	p.Decoded.Strides = grid.AppendStrides(p.Decoded.Strides[:0], p.Decoded.Shape, p.Decoded.Size)
}
