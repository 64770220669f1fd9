package selection

import (
	"sort"

	"varve.dev/zarr/grid"
)

// Piece is what a selection takes from one chunk, as memory shows it: in the chunk and in the selected block.
// It is used again from chunk to chunk, by one goroutine.
type Piece struct {
	*Part
	Cell    *grid.Chunk
	Decoded grid.View // the chunk in its encoded shape
	Taken   grid.View // what is selected of it; all of it where single points are
	Placed  grid.View // where that stands in the block; all of the block where single points are selected, or along axes of lists

	strides []int64
}

// NewPiece returns a piece with room for the given number of axes and elements of size bytes.
func NewPiece(rank, size int) *Piece {
	p := &Piece{Part: NewPart(rank), Cell: grid.NewChunk(rank)}
	p.Decoded.Size = size
	n := make([]int64, 3*rank)
	p.Taken.Strides, p.strides, p.Decoded.Strides = n[:rank:rank], n[rank:2*rank:2*rank], n[2*rank:2*rank]
	return p
}

// Seek makes p the piece that a part of the whole grid takes from one of its chunks.
// It is false where the part takes nothing of it. Points of the part are grouped by the chunks of the grid: see [Group].
func (p *Piece) Seek(g *grid.Grid, of grid.Part, chunk []int64) bool {
	if !g.Cell(chunk, p.Cell) {
		return false
	}
	p.Picks = nil
	if of.Picks != nil {
		if picks := p.pick(of.Picks.Lists != nil, of.Picks.Windows); of.Picks.Points != nil {
			picks.Points = cellOf(of.Picks.Points, number(g, chunk))
			copy(p.Chunk, chunk)
			return len(picks.Points) > 0
		}
	}
	for i, start := range p.Cell.Start {
		if p.Picks != nil && p.Picks.Lists != nil {
			p.lists[i] = grid.List{}
			if l := of.Picks.Lists[i]; l.At != nil {
				if p.seekList(i, l); p.Count[i] == 0 {
					return false
				}
				p.Chunk[i] = chunk[i]
				continue
			}
		}
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

// seekList makes the piece what a list of the whole grid takes along an axis.
func (p *Piece) seekList(axis int, of grid.List) {
	l := list{List: of}
	from := l.upTo(0, p.Cell.Start[axis])
	n := l.upTo(from, p.Cell.Start[axis]+p.Cell.Logical[axis])
	p.lists[axis] = l.cut(from, from+n, p.Cell.Start[axis])
	p.Start[axis], p.Step[axis], p.Count[axis], p.Place[axis] = 0, 1, n, 0
}

// cellOf returns those of grouped points that are in a cell.
func cellOf(points []grid.Point, cell int64) []grid.Point {
	from := sort.Search(len(points), func(i int) bool { return points[i].Cell >= cell })
	n := sort.Search(len(points)-from, func(i int) bool { return points[from+i].Cell > cell })
	return points[from : from+n : from+n]
}

// number returns the number of a chunk in C order.
func number(g *grid.Grid, chunk []int64) int64 {
	n := int64(0)
	for i, at := range chunk {
		n = n*g.Axis(i).Chunks() + at
	}
	return n
}

// IsWhole reports whether the piece is all that the chunk holds of the array, and stands in the block as it does in the chunk.
func (p *Piece) IsWhole() bool { return p.Picks == nil && p.Covers() }

// Covers reports whether the piece has all that the chunk holds of the array, in whatever order.
func (p *Piece) Covers() bool { return p.Part.Covers(p.Cell.Logical, p.Cell.Encoded) }

// Into points Placed to the piece's place in the selected block.
func (p *Piece) Into(block grid.View) {
	p.Placed = block
	if p.Picks != nil && p.Picks.Points != nil {
		return
	}
	p.Placed.Shape, p.Placed.Strides = p.Count, p.strides
	for i, at := range p.Place {
		p.Placed.Strides[i] = block.Strides[i]
		p.Placed.Offset += at * block.Strides[i]
	}
}

// Take points Taken to the piece's elements in Decoded.
func (p *Piece) Take() {
	if p.Picks != nil && p.Picks.Points != nil {
		strides := p.Taken.Strides
		p.Taken = p.Decoded
		p.Taken.Strides = append(strides[:0], p.Decoded.Strides...)
		return
	}
	strides := p.Taken.Strides
	p.Taken = p.Decoded
	p.Taken.Shape, p.Taken.Strides = p.Count, strides
	for i, at := range p.Start {
		p.Taken.Strides[i] = p.Decoded.Strides[i] * p.Step[i]
		p.Taken.Offset += at * p.Decoded.Strides[i]
	}
}

// Gather moves what the piece takes of Decoded to its place.
func (p *Piece) Gather() {
	p.Take()
	if p.Picks == nil {
		grid.Copy(p.Placed, p.Taken)
		return
	}
	p.Picks.Gather(p.Placed, p.Taken)
}

// Scatter moves what stands at the piece's place into Decoded.
func (p *Piece) Scatter() {
	p.Take()
	if p.Picks == nil {
		grid.Copy(p.Taken, p.Placed)
		return
	}
	p.Picks.Scatter(p.Taken, p.Placed)
}

// Blank makes the piece's place the fill value, an element of the chunk.
func (p *Piece) Blank(elem []byte) {
	if p.Picks == nil {
		grid.Fill(p.Placed, elem)
		return
	}
	p.Picks.Fill(p.Placed, p.Count, elem)
}

// Show points Decoded to memory that holds the chunk in C order, and to what its elements refer to if they differ in length.
func (p *Piece) Show(data []byte, heap *grid.Heap) {
	p.Decoded.Data, p.Decoded.Shape, p.Decoded.Offset, p.Decoded.Heap = data, p.Cell.Encoded, 0, heap
	p.Decoded.Strides = grid.AppendStrides(p.Decoded.Strides[:0], p.Decoded.Shape, p.Decoded.Size)
}
