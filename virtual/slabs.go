// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"varve.dev/zarr/internal/checked"
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
	cut.Short, cut.Chunks = true, nil
	for at := int64(0); at < s.Shape[0]; at += rows {
		n := min(rows, s.Shape[0]-at)
		cut.Chunks = append(cut.Chunks, scan.Chunk{Number: at / rows, Offset: s.Chunks[0].Offset + at*row, Length: n * row})
	}
	return &cut
}
