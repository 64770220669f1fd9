// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
)

// IsChunk returns an error that wraps [grid.ErrOutOfRange] unless index names a chunk.
func (s *Array) IsChunk(index []int64) error {
	if _, ok := s.Grid.Chunk(index); !ok {
		return fmt.Errorf("%w: no chunk %v; there are %v", grid.ErrOutOfRange, index, s.Grid.Chunks())
	}
	return nil
}

// ChunkBytes returns the size of a decoded chunk in bytes.
func (s *Array) ChunkBytes(index []int64) (int64, error) {
	if err := s.IsChunk(index); err != nil {
		return 0, err
	}
	c, _ := s.Grid.Chunk(index)
	return s.Engine.ChunkBytes(c.Encoded)
}

// Inner returns the grid of inner chunks.
func (s *Array) Inner() (*grid.Grid, error) { return s.Grid.Divided(s.Engine.Chain.Inner()...) }

// InnerPlace is the position of an inner chunk.
type InnerPlace struct {
	Shard  []int64      // index of its chunk
	Within []int64      // its index there
	Part   strided.Part // its elements in the chunk
}

// LocateInner returns the position of the inner chunk at an index. It returns
// [store.ErrConflict] if the chunks are no longer shards.
func (s *Array) LocateInner(index []int64) (InnerPlace, error) {
	// The caller has seen an array of shards. Another process has replaced it since.
	if !s.Engine.Chain.Divided() {
		return InnerPlace{}, fmt.Errorf("%w: the chunks of the array are no longer shards", store.ErrConflict)
	}
	g, err := s.Inner()
	if err != nil {
		return InnerPlace{}, err
	}
	c, ok := g.Chunk(index)
	if !ok {
		return InnerPlace{}, fmt.Errorf("%w: no inner chunk %v; there are %v", grid.ErrOutOfRange, index, g.Chunks())
	}
	shard, start, err := s.Grid.Locate(c.Start)
	if err != nil {
		return InnerPlace{}, err
	}
	at := InnerPlace{Shard: shard, Part: strided.Part{Start: start, Step: make([]int64, len(index)), Count: c.Encoded}}
	for i, k := range index {
		first, _, _ := g.Axis(i).Locate(c.Start[i] - start[i])
		at.Within = append(at.Within, k-first)
		at.Part.Step[i] = 1
	}
	return at, nil
}

// CheckShards returns an error that wraps [engine.ErrLimit] if a shard has more inner
// chunks than most. Readers with this limit could not read such a shard.
func (s *Array) CheckShards(most int64) error {
	inner := s.Engine.Chain.Inner()
	n := int64(1)
	for i, cut := range inner {
		a := s.Grid.Axis(i)
		shard, err := grid.NewAxis(max(a.Step(), a.Longest(grid.Interval{Stop: a.Cells()})), cut)
		if err != nil {
			return err
		}
		var ok bool
		// Multiply step by step, because the product of all axes may overflow.
		if n, ok = checked.Mul(n, shard.Chunks()); !ok || n > most {
			return fmt.Errorf("%w: a shard would have more than %d inner chunks (Limits.InnerChunks); make inner chunks larger or shards smaller", engine.ErrLimit, most)
		}
	}
	return nil
}

// PieceGrid returns the grid that Pieces walks over: that of inner chunks if shards are
// large, or else that of chunks.
func (s *Array) PieceGrid() (*grid.Grid, error) {
	// A float cannot overflow here, and the result need not be exact.
	n := float64(s.Engine.Size)
	for i, chunks := range s.Grid.Chunks() {
		n *= float64(s.Grid.Axis(i).Longest(grid.Interval{Stop: chunks}))
	}
	if n <= largePiece || !s.Engine.Chain.Divided() {
		return s.Grid, nil
	}
	return s.Inner()
}

// largePiece is the size of a shard, in bytes, above which its inner chunks are pieces.
const largePiece = 64 << 20

// CellOf returns the box of indices that contains one chunk.
func CellOf(index []int64) grid.Box {
	box := make(grid.Box, len(index))
	for i, at := range index {
		box[i] = grid.Interval{Start: at, Stop: at + 1}
	}
	return box
}

// CheckPart returns an error that names the first chunk of a part of a reservation that
// is not stored. If the part is not marked as written, that is its first chunk.
func (s *Array) CheckPart(ctx context.Context, part int, cells grid.Box, written bool) (err error) {
	for index := range cells.IndicesInto(make([]int64, len(cells))) {
		key := s.Engine.Key(index)
		found := written
		if written {
			found, err = store.Exists(ctx, s.Engine.Store, key)
		}
		if err == nil && !found {
			err = fmt.Errorf("part %d is not written yet: %w", part, fs.ErrNotExist)
		}
		if err != nil {
			return &engine.ChunkError{Key: key.String(), Index: slices.Clone(index), Err: err}
		}
	}
	return nil
}
