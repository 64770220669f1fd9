// SPDX-License-Identifier: Apache-2.0

// Package placement moves elements between chunks and selected blocks, for the engine and
// for codecs that divide chunks.
package placement

import (
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strided"
)

// Mover moves the selected elements of one chunk between the chunk and the selected
// block. One goroutine reuses it from chunk to chunk.
type Mover struct {
	*strided.Visit
	Cell    *grid.Chunk
	Decoded strided.View // the chunk in its encoded shape
	// Taken has the selected elements of the chunk, or the whole chunk if points are
	// selected.
	Taken strided.View
	// Target is the place of these elements in the block. It is the whole block if points
	// are selected. Along axes with a list, it has all positions.
	Target strided.View

	inChunk, inBlock []int64 // strides of Taken and Target
}

// NewMover returns a mover with room for the given number of axes, for elements of size
// bytes.
func NewMover(rank, size int) *Mover {
	m := &Mover{Visit: strided.NewVisit(rank), Cell: grid.NewChunk(rank)}
	m.Decoded.Size = size
	n := make([]int64, 3*rank)
	m.inChunk, m.inBlock, m.Decoded.Strides = n[:rank:rank], n[rank:2*rank:2*rank], n[2*rank:2*rank]
	return m
}

// Seek sets m to one chunk of g, and to the elements that a part of the array takes from
// it. It returns false if the part takes none; see [strided.Visit.Seek].
func (m *Mover) Seek(g *grid.Grid, of strided.Part, chunk []int64) bool {
	return m.Visit.Seek(g, of, chunk, m.Cell)
}

// IsWhole reports whether all elements of the chunk that lie in the array are selected,
// in the same order.
func (m *Mover) IsWhole() bool { return m.Picks == nil && m.Covers() }

// Covers reports whether all elements of the chunk that lie in the array are selected, in
// any order.
func (m *Mover) Covers() bool { return m.Part.Covers(m.Cell.Logical, m.Cell.Encoded) }

// Into sets Target to the place of the selected elements in the block.
func (m *Mover) Into(block strided.View) { m.Target = m.InBlock(block, m.inBlock) }

// Take sets Taken to the selected elements in Decoded.
func (m *Mover) Take() { m.Taken = m.InChunk(m.Decoded, m.inChunk) }

// Gather copies the selected elements from Decoded to Target.
func (m *Mover) Gather() {
	m.Take()
	if m.Picks == nil {
		strided.Copy(m.Target, m.Taken)
		return
	}
	m.Picks.Gather(m.Target, m.Taken)
}

// Scatter copies the selected elements from Target to Decoded.
func (m *Mover) Scatter() {
	m.Take()
	if m.Picks == nil {
		strided.Copy(m.Taken, m.Target)
		return
	}
	m.Picks.Scatter(m.Taken, m.Target)
}

// Blank fills Target with elem, the fill value of the chunk.
func (m *Mover) Blank(elem []byte) {
	if m.Picks == nil {
		strided.Fill(m.Target, elem)
		return
	}
	m.Picks.Fill(m.Target, m.Count, elem)
}

// Show sets Decoded to memory that holds the chunk in C order. heap holds the bytes of
// elements of variable length.
func (m *Mover) Show(data []byte, heap *strided.Heap) {
	m.Decoded.Data, m.Decoded.Shape, m.Decoded.Offset, m.Decoded.Heap = data, m.Cell.Encoded, 0, heap
	m.Decoded.Strides = strided.AppendStrides(m.Decoded.Strides[:0], m.Decoded.Shape, m.Decoded.Size)
}
