// SPDX-License-Identifier: Apache-2.0

package comparison

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/residue"
	"varve.dev/zarr/store"
)

// ChunkSums returns the sums of the elements of chunks of a grid, given their indices.
// The grid need not be that of the array; it has the same shape, or a part of it. Each
// chunk of the array that has elements of them is decoded once, in any order.
//
// An element counts at its place in the chunk, in C order, as its difference to fill.
// So the sum of a chunk does not depend on where the array ends.
//
// If the array is too small by now, the error wraps [store.ErrConflict].
func ChunkSums(ctx context.Context, a Array, g *grid.Grid, indices [][]int64, fill []byte) ([]residue.Number, error) {
	if len(indices) == 0 {
		return nil, nil
	}
	s, err := newSums(ctx, a, g, fill)
	if err != nil {
		return nil, err
	}
	if err := s.find(indices); err != nil {
		return nil, err
	}
	s.of = make([]residue.Number, len(indices))
	group, within := parallel.New(ctx)
	group.SetLimit(max(2, runtime.GOMAXPROCS(0)))
	buffers := sync.Pool{New: func() any { return new([]byte) }}
	for piece, chunks := range s.pieces {
		if within.Err() != nil {
			break
		}
		group.Go(func() error {
			buffer := buffers.Get().(*[]byte)
			defer buffers.Put(buffer)
			return s.addPiece(within, piece, chunks, buffer)
		})
	}
	err = group.Wait(nil)
	return s.of, err
}

// sums is the computation of sums of chunks.
type sums struct {
	*digest
	grid   *grid.Grid
	from   *grid.Grid      // of what is decoded at once
	pieces map[int64][]int // the chunks that take elements from a piece, by its number in from
	chunks []*grid.Chunk
	of     []residue.Number // guarded by digest.mu
}

func newSums(ctx context.Context, a Array, g *grid.Grid, fill []byte) (*sums, error) {
	state, err := a.Fresh(ctx, a.State())
	if err != nil {
		return nil, err
	}
	for i, n := range state.Grid.Shape() {
		if n < g.Axis(i).Extent() {
			return nil, fmt.Errorf("%w: the shape is %v now, and was %v", store.ErrConflict, state.Grid.Shape(), g.Shape())
		}
	}
	d := &digest{Array: a, state: state, size: int64(state.Type.Size())}
	if state.Type.Variable() {
		d.size = hashBytes
	}
	if d.setFill(fill); len(bytes.Trim(d.fill, "\x00")) == 0 {
		d.fill = nil // zeros add nothing anyway
	}
	s := &sums{digest: d, grid: g, pieces: map[int64][]int{}}
	s.from, err = state.PieceGrid()
	return s, err
}

// mostPieces bounds the pieces that sums are made of. Each takes some ten bytes.
const mostPieces = 1 << 24

// find finds out which pieces the chunks take elements from.
func (s *sums) find(indices [][]int64) error {
	if _, ok := checked.Product(s.from.Chunks()...); !ok {
		return fmt.Errorf("%w: %v chunks", grid.ErrOverflow, s.from.Chunks())
	}
	for n, index := range indices {
		c, ok := s.grid.Chunk(index)
		if !ok {
			return fmt.Errorf("%w: no chunk %v", grid.ErrOutOfRange, index)
		}
		if _, ok := checked.Product(append(slices.Clone(c.Encoded), s.size)...); !ok {
			return fmt.Errorf("%w: chunk %v has more than 2^63 bytes", engine.ErrLimit, index)
		}
		s.chunks = append(s.chunks, c)
		touched, err := s.from.Touched(c.Box())
		if err != nil {
			return err
		}
		if k, ok := touched.Len(); !ok || k > mostPieces-int64(len(s.pieces)) {
			return errScattered
		}
		for at := range touched.IndicesInto(make([]int64, len(index))) {
			number := int64(0)
			for i, k := range at {
				number = number*s.from.Axis(i).Chunks() + k
			}
			s.pieces[number] = append(s.pieces[number], n)
		}
	}
	return nil
}

// addPiece decodes a piece, and adds its elements to the sums of chunks.
func (s *sums) addPiece(ctx context.Context, number int64, chunks []int, buffer *[]byte) error {
	index := make([]int64, s.from.Rank())
	for i := len(index) - 1; i >= 0; i-- {
		n := s.from.Axis(i).Chunks()
		index[i], number = number%n, number/n
	}
	c, _ := s.from.Chunk(index)
	piece := c.Box()
	elements, err := s.elements(ctx, piece, buffer)
	if err != nil {
		return err
	}
	for _, n := range chunks {
		sum := s.ofShared(s.chunks[n], piece, elements)
		s.mu.Lock()
		s.of[n] = s.of[n].Plus(sum)
		s.mu.Unlock()
	}
	return nil
}

// ofShared returns what the elements of a piece add to the sum of a chunk.
func (s *sums) ofShared(c *grid.Chunk, piece grid.Box, elements []byte) residue.Number {
	outer, run := s.sharedRuns(c, piece)
	fills := bytes.Repeat(s.fill, int(run))
	var sum residue.Number
	for index := range outer.IndicesInto(make([]int64, len(piece))) {
		from, to := int64(0), int64(0)
		for i, at := range index {
			from = from*piece[i].Len() + at - piece[i].Start
			to = to*c.Encoded[i] + at - c.Start[i]
		}
		sum = sum.Plus(residue.Of(elements[from*s.size:(from+run)*s.size], to*s.size))
		if len(fills) > 0 {
			sum = sum.Minus(residue.Of(fills, to*s.size))
		}
	}
	return sum
}

// sharedRuns returns the box of the first elements of the runs that a chunk and a piece
// share, and their length. A run goes on along an axis if they share all elements of both
// along those after it.
func (s *sums) sharedRuns(c *grid.Chunk, piece grid.Box) (outer grid.Box, run int64) {
	outer, run = c.Box(), 1
	whole := true
	for i := len(outer) - 1; i >= 0; i-- {
		in := &outer[i]
		in.Start, in.Stop = max(in.Start, piece[i].Start), min(in.Stop, piece[i].Stop)
		if n := in.Len(); whole {
			whole = n == piece[i].Len() && n == c.Encoded[i]
			run *= n
			in.Stop = in.Start + 1
		}
	}
	return outer, run
}
