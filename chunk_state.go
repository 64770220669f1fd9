package zarr

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/store"
	"varve.dev/zarr/strided"
)

// isChunk refuses an index that names no chunk.
func (s *state) isChunk(index []int64) error {
	if _, ok := s.grid.Chunk(index); !ok {
		return fmt.Errorf("%w: no chunk %v; there are %v", grid.ErrOutOfRange, index, s.grid.Chunks())
	}
	return nil
}

// chunkBytes returns the bytes of a decoded chunk.
func (s *state) chunkBytes(index []int64) (int64, error) {
	if err := s.isChunk(index); err != nil {
		return 0, err
	}
	c, _ := s.grid.Chunk(index)
	return s.engine.ChunkBytes(c.Encoded)
}

// inner returns the grid of inner chunks.
func (s *state) inner() (*grid.Grid, error) { return s.grid.Divided(s.engine.Chain.Inner()...) }

// innerAt is where an inner chunk is.
type innerAt struct {
	shard  []int64      // index of its chunk
	within []int64      // its index there
	part   strided.Part // of the chunk that it is
}

// innerAt returns where the inner chunk at an index is.
func (s *state) innerAt(index []int64) (innerAt, error) {
	if !s.engine.Chain.Divided() {
		return innerAt{}, fmt.Errorf("%w: the chunks of the array are no shards any more", store.ErrConflict)
	}
	g, err := s.inner()
	if err != nil {
		return innerAt{}, err
	}
	c, ok := g.Chunk(index)
	if !ok {
		return innerAt{}, fmt.Errorf("%w: no inner chunk %v; there are %v", grid.ErrOutOfRange, index, g.Chunks())
	}
	shard, start, err := s.grid.Locate(c.Start)
	if err != nil {
		return innerAt{}, err
	}
	at := innerAt{shard: shard, part: strided.Part{Start: start, Step: make([]int64, len(index)), Count: c.Encoded}}
	for i, k := range index {
		first, _, _ := g.Axis(i).Locate(c.Start[i] - start[i])
		at.within = append(at.within, k-first)
		at.part.Step[i] = 1
	}
	return at, nil
}

// writable refuses shards that have more inner chunks than are read: nothing could be
// written to them.
func (s *state) writable(most int64) error {
	inner := s.engine.Chain.Inner()
	n := int64(1)
	for i, cut := range inner {
		a := s.grid.Axis(i)
		shard, err := grid.NewAxis(max(a.Step(), a.Longest(grid.Interval{Stop: a.Cells()})), cut)
		if err != nil {
			return err
		}
		var ok bool
		if n, ok = checked.Mul(n, shard.Chunks()); !ok || n > most {
			return fmt.Errorf("%w: a shard would have more than %d inner chunks (Limits.InnerChunks); make inner chunks larger or shards smaller", engine.ErrLimit, most)
		}
	}
	return nil
}

// pieceGrid returns the grid whose chunks are pieces.
func (s *state) pieceGrid() (*grid.Grid, error) {
	n := float64(s.engine.Size)
	for i, chunks := range s.grid.Chunks() {
		n *= float64(s.grid.Axis(i).Longest(grid.Interval{Stop: chunks}))
	}
	if n <= largePiece || !s.engine.Chain.Divided() {
		return s.grid, nil
	}
	return s.inner()
}

// largePiece is the bytes of a shard from which on its inner chunks are pieces.
const largePiece = 64 << 20

// cellOf returns the box of one chunk.
func cellOf(index []int64) grid.Box {
	box := make(grid.Box, len(index))
	for i, at := range index {
		box[i] = grid.Interval{Start: at, Stop: at + 1}
	}
	return box
}

// checkPart looks whether all chunks of a part are stored. Those of one that is not
// written do not count.
func (s *state) checkPart(ctx context.Context, part int, cells grid.Box, written bool) (err error) {
	for index := range cells.Indices() {
		key := s.engine.Key(index)
		found := written
		if written {
			found, err = store.Exists(ctx, s.engine.Store, key)
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
