// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"sort"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/strided"
)

// Piece is what a selection takes from one chunk, as views of the chunk and of the
// selected block. One goroutine reuses it from chunk to chunk.
type Piece struct {
	*Part
	Cell    *grid.Chunk
	Decoded strided.View // the chunk in its encoded shape
	// Taken is what is selected of the chunk, or the whole chunk if points are selected.
	Taken strided.View
	// Placed is where that goes in the block. It is the whole block if points are
	// selected, and along axes that have a list.
	Placed strided.View

	strides []int64
}

// NewPiece returns a piece with room for the given number of axes, for elements of size
// bytes.
func NewPiece(rank, size int) *Piece {
	p := &Piece{Part: NewPart(rank), Cell: grid.NewChunk(rank)}
	p.Decoded.Size = size
	n := make([]int64, 3*rank)
	p.Taken.Strides, p.strides, p.Decoded.Strides = n[:rank:rank], n[rank:2*rank:2*rank], n[2*rank:2*rank]
	return p
}

// Seek makes p the piece that a part of the whole grid takes from one of its chunks. It
// returns false if the part takes nothing from that chunk. Points of the part must be
// grouped by the chunks of g; see [Group].
func (p *Piece) Seek(g *grid.Grid, of strided.Part, chunk []int64) bool {
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
			p.lists[i] = strided.List{}
			if l := of.Picks.Lists[i]; l.At != nil {
				if p.seekList(i, l); p.Count[i] == 0 {
					return false
				}
				p.Chunk[i] = chunk[i]
				continue
			}
		}
		// first is the number of selected elements before this chunk.
		first, step := int64(0), of.Step[i]
		if before := start - of.Start[i]; before > 0 {
			first = (before + step - 1) / step
		}
		// from is the first selected element in the chunk, relative to the chunk's start.
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

// seekList sets the piece along an axis to what a list for the whole grid takes from the
// chunk.
func (p *Piece) seekList(axis int, of strided.List) {
	l := list{List: of}
	from := l.upTo(0, p.Cell.Start[axis])
	// The entries of the list within the chunk follow each other, because it is sorted.
	n := l.upTo(from, p.Cell.Start[axis]+p.Cell.Logical[axis])
	p.lists[axis] = l.cut(from, from+n, p.Cell.Start[axis])
	p.Start[axis], p.Step[axis], p.Count[axis], p.Place[axis] = 0, 1, n, 0
}

// cellOf returns the points of one cell. The points must be grouped.
func cellOf(points []strided.Point, cell int64) []strided.Point {
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

// IsWhole reports whether the piece is all that the chunk holds of the array, in the same
// order.
func (p *Piece) IsWhole() bool { return p.Picks == nil && p.Covers() }

// Covers reports whether the piece has all that the chunk holds of the array, in any
// order.
func (p *Piece) Covers() bool { return p.Part.Covers(p.Cell.Logical, p.Cell.Encoded) }

// Into sets Placed to the place of the piece in the selected block.
func (p *Piece) Into(block strided.View) {
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

// Take sets Taken to the elements of the piece in Decoded.
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

// Gather copies the elements of the piece from Decoded to Placed.
func (p *Piece) Gather() {
	p.Take()
	if p.Picks == nil {
		strided.Copy(p.Placed, p.Taken)
		return
	}
	p.Picks.Gather(p.Placed, p.Taken)
}

// Scatter copies the elements of the piece from Placed to Decoded.
func (p *Piece) Scatter() {
	p.Take()
	if p.Picks == nil {
		strided.Copy(p.Taken, p.Placed)
		return
	}
	p.Picks.Scatter(p.Taken, p.Placed)
}

// Blank fills Placed with elem, the fill value of the chunk.
func (p *Piece) Blank(elem []byte) {
	if p.Picks == nil {
		strided.Fill(p.Placed, elem)
		return
	}
	p.Picks.Fill(p.Placed, p.Count, elem)
}

// Show sets Decoded to memory that holds the chunk in C order. heap holds the bytes of
// elements of variable length.
func (p *Piece) Show(data []byte, heap *strided.Heap) {
	p.Decoded.Data, p.Decoded.Shape, p.Decoded.Offset, p.Decoded.Heap = data, p.Cell.Encoded, 0, heap
	p.Decoded.Strides = strided.AppendStrides(p.Decoded.Strides[:0], p.Decoded.Shape, p.Decoded.Size)
}
