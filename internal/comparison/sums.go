// SPDX-License-Identifier: Apache-2.0

package comparison

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/residue"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
)

// ChunkSums returns the sums of the elements of chunks of a grid, given their indices.
// The grid need not be that of the array; it has the same shape, or a part of it. Each
// chunk of the array that has elements of them is decoded once, in any order, if the
// memory, in bytes, has room for the bookkeeping.
//
// An element counts at its place in the chunk, in C order, as its difference to fill.
// So the sum of a chunk does not depend on where the array ends.
//
// If the array is too small by now, the error wraps [store.ErrConflict].
func ChunkSums(ctx context.Context, a Array, g *grid.Grid, indices [][]int64, fill []byte, memory int64) ([]residue.Number, error) {
	all := make([]residue.Number, 0, len(indices))
	for len(indices) > 0 {
		s, err := newSums(ctx, a, g, fill)
		if err != nil {
			return nil, err
		}
		n, err := s.find(indices, max(1, memory/pairBytes))
		if err != nil {
			return nil, err
		}
		if err := s.run(ctx, memory); err != nil {
			return nil, err
		}
		all, indices = append(all, s.of...), indices[n:]
	}
	return all, nil
}

// pairBytes is about what a chunk and a piece that share elements take.
const pairBytes = 64

// run adds the elements of all pieces.
func (s *sums) run(ctx context.Context, memory int64) error {
	s.of = make([]residue.Number, len(s.chunks))
	piece := s.size
	for i := range s.from.Rank() {
		axis := s.from.Axis(i)
		piece = product(piece, max(1, axis.Longest(grid.Interval{Stop: axis.Chunks()})))
	}
	group, within := parallel.New(ctx)
	// A piece is in memory encoded, too.
	group.SetLimit(int(min(int64(max(2, runtime.GOMAXPROCS(0))), max(1, memory/2/max(1, piece)))))
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
	return group.Wait(nil)
}

// BoxSums calls add with what the elements of a box add to the sum of each chunk of a
// grid, as [ChunkSums] defines it. e has the elements of the box.
func BoxSums(state *snapshot.Array, g *grid.Grid, box grid.Box, e element.Buffer, fill []byte, add func(index []int64, sum residue.Number)) error {
	s := &sums{digest: summed(state, fill)}
	var elements []byte
	if state.Type.Variable() {
		for at := 0; at < len(e.Data); at += strided.RefSize {
			elements = appendHash(elements, e.Heap.Bytes(e.Data[at:]))
		}
	} else if elements = e.Data; !dtype.LittleEndian() {
		elements = slices.Clone(e.Data)
		littleEndian(state.Type, elements)
	}
	touched, err := g.Touched(box)
	if err != nil {
		return err
	}
	for index := range touched.Indices() {
		c, _ := g.Chunk(index)
		add(index, s.ofShared(c, box, elements))
	}
	return nil
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
	s := &sums{digest: summed(state, fill), grid: g, pieces: map[int64][]int{}}
	s.digest.Array = a
	s.from, err = state.PieceGrid()
	return s, err
}

// summed returns the form that the elements of an array have in sums of chunks.
func summed(state *snapshot.Array, fill []byte) *digest {
	d := &digest{state: state, size: int64(state.Type.Size())}
	if state.Type.Variable() {
		d.size = hashBytes
	}
	if d.setFill(fill); len(bytes.Trim(d.fill, "\x00")) == 0 {
		d.fill = nil // zeros add nothing anyway
	}
	return d
}

// find finds out which pieces the first chunks take elements from, so many that they have
// about most pieces. It returns their number.
func (s *sums) find(indices [][]int64, most int64) (n int, err error) {
	if _, ok := checked.Product(s.from.Chunks()...); !ok {
		return 0, fmt.Errorf("%w: %v chunks", grid.ErrOverflow, s.from.Chunks())
	}
	pairs := int64(0)
	for n, index := range indices {
		c, ok := s.grid.Chunk(index)
		if !ok {
			return 0, fmt.Errorf("%w: no chunk %v", grid.ErrOutOfRange, index)
		}
		if _, ok := checked.Product(append(slices.Clone(c.Encoded), s.size)...); !ok {
			return 0, fmt.Errorf("%w: chunk %v has more than 2^63 bytes", engine.ErrLimit, index)
		}
		touched, err := s.from.Touched(c.Box())
		if err != nil {
			return 0, err
		}
		k, ok := touched.Len()
		if !ok || k > max(most, mostPieces) {
			return 0, fmt.Errorf("%w: chunk %v has elements of more than %d others", engine.ErrLimit, index, mostPieces)
		}
		if pairs += k; pairs > most && n > 0 {
			return n, nil
		}
		s.chunks = append(s.chunks, c)
		for at := range touched.IndicesInto(make([]int64, len(index))) {
			number := int64(0)
			for i, k := range at {
				number = number*s.from.Axis(i).Chunks() + k
			}
			s.pieces[number] = append(s.pieces[number], n)
		}
	}
	return len(indices), nil
}

// mostPieces bounds the pieces of one chunk.
const mostPieces = 1 << 20

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
	var sum residue.Number
	for index := range outer.IndicesInto(make([]int64, len(piece))) {
		from, to := int64(0), int64(0)
		for i, at := range index {
			from = from*piece[i].Len() + at - piece[i].Start
			to = to*c.Encoded[i] + at - c.Start[i]
		}
		sum = sum.Plus(residue.Of(elements[from*s.size:(from+run)*s.size], to*s.size)).Minus(s.ofFill(to, run))
	}
	return sum
}

// fillBlock is the number of fill values that are added at once.
const fillBlock = 1 << 12

// ofFill returns the sum of n fill values from a place on.
func (s *sums) ofFill(at, n int64) (sum residue.Number) {
	if s.fill == nil {
		return sum
	}
	fills := bytes.Repeat(s.fill, int(min(n, fillBlock)))
	for done := int64(0); done < n; done += fillBlock {
		m := min(n-done, fillBlock)
		sum = sum.Plus(residue.Of(fills[:m*s.size], (at+done)*s.size))
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
