// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"fmt"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual/scan"
)

const (
	// largestPlain is the size in bytes up to which values that a file has in one piece
	// are one chunk.
	largestPlain = 64 << 20
	// slabBytes is the size of the chunks that larger ones are cut into.
	slabBytes = 16 << 20
)

// inSlabs cuts an array that its file has in one uncompressed piece into chunks along the
// first axis, if it is large: each is a range of the piece.
func inSlabs(s *scan.Array) *scan.Array {
	if len(s.Shape) == 0 || len(s.Codecs) != 1 || s.Codecs[0].Name != "bytes" || len(s.Chunks) != 1 || s.Chunks[0].Data != nil {
		return s
	}
	for i, n := range s.Shape {
		if s.Chunk[i] != n {
			return s
		}
	}
	row, ok := checked.Product(append([]int64{int64(s.Type.Size())}, s.Shape[1:]...)...)
	if whole := s.Chunks[0]; !ok || whole.Length <= largestPlain || row <= 0 || whole.Length != row*s.Shape[0] {
		return s
	}
	rows := max(1, slabBytes/row)
	cut := *s
	cut.Chunk = append([]int64{rows}, s.Shape[1:]...)
	// Rows that follow each other in the file are ranges of it, so the array can be cut
	// into chunks without a copy. The last one is shorter.
	cut.Short, cut.Chunks = true, nil
	for at := int64(0); at < s.Shape[0]; at += rows {
		n := min(rows, s.Shape[0]-at)
		cut.Chunks = append(cut.Chunks, scan.Chunk{Number: at / rows, Offset: s.Chunks[0].Offset + at*row, Length: n * row})
	}
	return &cut
}

// Array is an array whose chunks are byte ranges of sources.
type Array struct {
	Path     string
	Document *metadata.Array
	Grid     *grid.Grid
	// Axis is the axis along which the array grows: the one whose index runs slowest in
	// the order of its references. So an append only adds references at their end.
	Axis int

	// values says that the array is a coordinate whose values are copied into the
	// manifest.
	values bool
	blocks []piece          // the references that are stored already
	refs   references       // those that follow them
	inline map[int64][]byte // the chunks that have no source, by number
	faces  []face           // the chunks that are to be copied without their padding
	points []point          // its places along axes that it lacks
}

// newArray returns an array without any stored chunk.
func newArray(path string, doc *metadata.Array, g *grid.Grid, axis int) (*Array, error) {
	a := &Array{Path: path, Document: doc, Grid: g, Axis: axis}
	if err := a.checkChunks(); err != nil {
		return nil, fmt.Errorf("%q: %w", path, err)
	}
	n, _ := g.NumChunks()
	// checkChunks has bounded the number.
	a.refs = makeReferences(int(n))
	return a, nil
}

// mostChunks bounds the chunks of an array.
const mostChunks = 1 << 30

// number returns the place of a chunk in the order of the references.
func (a *Array) number(index []int64) int64 { return numberOf(index, a.Grid.Chunks(), a.Axis) }

// numberOf returns the place of an index in an order in which one axis runs slowest, and
// the others as in C order.
func numberOf(index, count []int64, slowest int) int64 {
	if len(index) == 0 {
		return 0
	}
	k := index[slowest]
	for i, x := range index {
		if i != slowest {
			k = k*count[i] + x
		}
	}
	return k
}

// indexOf is the inverse of numberOf. It fills index.
func indexOf(k int64, count []int64, slowest int, index []int64) {
	for i := len(count) - 1; i >= 0; i-- {
		if i != slowest {
			index[i] = k % count[i]
			k /= count[i]
		}
	}
	if len(index) > 0 {
		index[slowest] = k
	}
}

// withGrid returns the document for another grid.
func withGrid(doc *metadata.Array, g *grid.Grid) *metadata.Array {
	return doc.Resized(g.Shape(), snapshot.GridExtension(g, 0))
}

// setInline gives a chunk bytes of its own.
func (a *Array) setInline(number int64, data []byte) {
	if a.inline == nil {
		a.inline = map[int64][]byte{}
	}
	a.inline[number] = data
}
