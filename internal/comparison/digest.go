// SPDX-License-Identifier: Apache-2.0

package comparison

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/residue"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
)

// DigestPrefix begins every digest. Another way to compute it needs another prefix.
const DigestPrefix = "varve1-"

// Digest returns a digest of the data type, the shape and the values of an array. It does
// not depend on chunks, codecs, byte order, format or fill value. done, if not nil, is
// called with the number of elements of each part that was read, from several goroutines.
//
// It is the SHA-256 of a short text with the type, the shape, and the sum of the elements
// in C order, little endian, as package residue defines it. An element of variable length
// counts as the first 16 bytes of its SHA-256.
func Digest(ctx context.Context, a Array, done func(elements int64)) (string, error) {
	typ := a.State().Type
	d := &digest{Array: a, size: int64(typ.Size()), done: done}
	if typ.Variable() {
		d.size = hashBytes
	}
	sum, err := d.run(ctx)
	if err != nil {
		return "", err
	}
	text := fmt.Appendf(nil, "varve digest 1\n%s\n%d\n%x\n", typ, d.shape, sum.Bytes())
	hash := sha256.Sum256(text)
	return DigestPrefix + hex.EncodeToString(hash[:]), nil
}

// hashBytes is the size that elements of variable length have in a digest.
const hashBytes = 16

// digestBytes bounds the bytes that a goroutine reads at a time, unless one chunk is
// longer.
const digestBytes = 16 << 20

// digest is the computation of a digest.
type digest struct {
	Array
	state *snapshot.Array
	shape []int64
	size  int64  // of an element in the sum, in bytes
	fill  []byte // of an element in the sum; nil unless it has to be subtracted
	done  func(elements int64)

	division division

	mu  sync.Mutex
	sum residue.Number
}

// run reads all elements, or those that are stored if these are few.
func (d *digest) run(ctx context.Context) (residue.Number, error) {
	states, boxes, sparse, err := stored(ctx, width(d.Array.State().Type), d.Array)
	if err != nil {
		return residue.Number{}, err
	}
	d.state, d.shape = states[0], states[0].Grid.Shape()
	d.division.grid = d.state.Finest()
	if _, ok := checked.Product(append(slices.Clone(d.shape), d.size)...); !ok {
		return residue.Number{}, fmt.Errorf("%w: a digest of more than 2^63 bytes; compare parts", engine.ErrLimit)
	}
	if sparse {
		d.subtractFill()
	} else if boxes, err = d.boxes(); err != nil {
		return residue.Number{}, err
	}
	group, within := parallel.New(ctx)
	// One goroutine computes while another one waits for its elements.
	group.SetLimit(max(2, runtime.GOMAXPROCS(0)))
	buffers := sync.Pool{New: func() any { return new([]byte) }}
	for box := range boxes {
		if within.Err() != nil {
			break
		}
		group.Go(func() error {
			buffer := buffers.Get().(*[]byte)
			defer buffers.Put(buffer)
			return d.add(within, box, buffer)
		})
	}
	err = group.Wait(nil)
	return d.sum, err
}

// subtractFill makes missing chunks cost nothing: the sum begins as that of an array
// which has only the fill value, and each element that is read adds its difference.
func (d *digest) subtractFill() {
	d.setFill(d.state.Fill)
	all, _ := checked.Product(append(slices.Clone(d.shape), d.size)...) // run has checked it
	d.sum = residue.Repeated(d.fill, all)
}

// setFill makes elements count as their difference to a fill value.
func (d *digest) setFill(fill []byte) {
	if d.state.Type.Variable() {
		d.fill = appendHash(nil, fill)
		return
	}
	d.fill = slices.Clone(fill)
	littleEndian(d.state.Type, d.fill)
}

// littleEndian converts elements from the byte order of the host, in place.
func littleEndian(t dtype.Type, elements []byte) {
	if !byteorder.Little() {
		t.Swap(elements, elements)
	}
}

func appendHash(dst, element []byte) []byte {
	hash := sha256.Sum256(element)
	return append(dst, hash[:hashBytes]...)
}

// boxes returns the boxes to read. Each chunk is in one box.
func (d *digest) boxes() (iter.Seq[grid.Box], error) {
	g, err := d.state.PieceGrid()
	if err != nil {
		return nil, err
	}
	return ofChunks(g).boxes(digestBytes / max(width(d.state.Type), d.size)), nil
}

// add adds the elements of a box. The buffer is for its memory.
func (d *digest) add(ctx context.Context, box grid.Box, buffer *[]byte) error {
	if !d.state.Type.Variable() {
		return d.addPart(ctx, box, false, buffer)
	}
	return d.division.each(box, func(part grid.Box, oneChunk bool) error {
		return d.addPart(ctx, part, oneChunk, buffer)
	})
}

// addPart is add for a part of a box. oneChunk tells whether it lies in one chunk.
func (d *digest) addPart(ctx context.Context, box grid.Box, oneChunk bool, buffer *[]byte) error {
	elements, err := d.elements(ctx, box, oneChunk, buffer)
	if err != nil {
		return err
	}
	sum := d.ofBox(box, elements)
	d.mu.Lock()
	d.sum = d.sum.Plus(sum)
	d.mu.Unlock()
	if d.done != nil {
		d.done(int64(len(elements)) / d.size)
	}
	return nil
}

// elements returns the elements of a box in the form of the sum.
func (d *digest) elements(ctx context.Context, box grid.Box, oneChunk bool, buffer *[]byte) ([]byte, error) {
	if d.state.Type.Variable() {
		return d.hashes(ctx, box, oneChunk, buffer)
	}
	n, _ := box.Len() // cannot overflow: Digest counted the whole array
	if int64(cap(*buffer)) < n*d.size {
		*buffer = make([]byte, n*d.size)
	}
	elements := (*buffer)[:n*d.size]
	if err := d.Read(ctx, box, elements); err != nil {
		return nil, err
	}
	littleEndian(d.state.Type, elements)
	return elements, nil
}

// hashes is elements for elements of variable length.
func (d *digest) hashes(ctx context.Context, box grid.Box, oneChunk bool, buffer *[]byte) ([]byte, error) {
	e, err := d.Elements(ctx, box, oneChunk)
	if err != nil {
		return nil, err
	}
	defer e.Heap.Release()
	hashes := (*buffer)[:0]
	for at := 0; at < len(e.Data); at += strided.RefSize {
		hashes = appendHash(hashes, e.Heap.Bytes(e.Data[at:]))
	}
	*buffer = hashes
	return hashes, nil
}

// ofBox returns the sum of the elements of a box, each run of neighbours at its place.
func (d *digest) ofBox(box grid.Box, elements []byte) residue.Number {
	outer, run := d.runs(box)
	var fills []byte
	for int64(len(fills)) < run*int64(len(d.fill)) {
		fills = append(fills, d.fill...)
	}
	var sum residue.Number
	for index := range outer.IndicesInto(make([]int64, len(box))) {
		offset := int64(0)
		for i, at := range index {
			offset = offset*d.shape[i] + at
		}
		sum = sum.Plus(residue.Of(elements[:run*d.size], offset*d.size))
		if fills != nil {
			sum = sum.Minus(residue.Of(fills, offset*d.size))
		}
		elements = elements[run*d.size:]
	}
	return sum
}

// runs returns the box of the first elements of the runs in a box, and their length. A
// run continues along an axis if the box has all elements along those after it.
func (d *digest) runs(box grid.Box) (outer grid.Box, run int64) {
	outer, run = append(grid.Box(nil), box...), 1
	for i := len(box) - 1; i >= 0; i-- {
		run *= box[i].Len()
		outer[i].Stop = outer[i].Start + 1
		if box[i].Len() < d.shape[i] {
			break
		}
	}
	return outer, run
}

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
		piece = checked.Capped(piece, max(1, axis.Longest(grid.Interval{Stop: axis.Chunks()})))
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
	} else if elements = e.Data; !byteorder.Little() {
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
			return 0, fmt.Errorf("%w: chunk %v has elements of more than %s", engine.ErrLimit, index, quantity.Count(mostPieces, "others"))
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
	var elements []byte
	err := s.division.chunk(func(oneChunk bool) (err error) {
		elements, err = s.elements(ctx, piece, oneChunk, buffer)
		return err
	})
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
// share, and their length. A run continues along an axis if they share all elements of
// both along those after it.
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

// stored returns, in C order, the tiles for which one of the arrays stores a chunk,
// within the shape that all have in common. It also reports whether reading these is
// enough: all arrays have the same fill value, and few tiles are stored.
//
// Otherwise the arrays are read as a whole. For a comparison this always ends: if the
// fill values differ, then at the latest at the first element that no array stores.
// Otherwise the elements are few, or at most sparseTiles times the stored ones.
//
// The result belongs to the states that it returns: arrays may have become newer since
// they were looked at.
func stored(ctx context.Context, width int64, arrays ...Array) (states []*snapshot.Array, boxes iter.Seq[grid.Box], sparse bool, err error) {
	for range tries {
		states = nil
		var grids []*grid.Grid
		whole := false
		for _, a := range arrays {
			s := a.State()
			states, grids = append(states, s), append(grids, s.Grid)
			// A missing chunk equals a missing chunk only if both arrays read it as the
			// same value.
			whole = whole || a.Complete || !slices.Equal(s.Fill, states[0].Fill)
		}
		t := tilesOf(comparedBytes/width, grids...)
		if whole || t.len() <= fewTiles {
			return states, nil, false, nil
		}
		numbers, sparse, err := t.ofStored(ctx, arrays, states)
		if errors.Is(err, store.ErrUnsupported) {
			return states, nil, false, visitable(states...)
		}
		if err != nil {
			return nil, nil, false, err
		}
		// A concurrent writer may have published another grid, whose chunks have other
		// keys.
		if same, err := unchanged(ctx, arrays, states); err != nil {
			return nil, nil, false, err
		} else if same {
			return states, func(yield func(grid.Box) bool) {
				for _, number := range numbers {
					if !yield(t.box(number)) {
						return
					}
				}
			}, sparse, nil
		}
	}
	return nil, nil, false, errUnsettled
}

// unchanged reports whether the states are the newest.
func unchanged(ctx context.Context, arrays []Array, states []*snapshot.Array) (bool, error) {
	for i, a := range arrays {
		if now, err := a.fresh(ctx, states[i]); err != nil || now != states[i] {
			return false, err
		}
	}
	return true, nil
}

// tries bounds how often the tiles are listed again because an array changed.
const tries = 16

// errUnsettled is the error if an array changed in each attempt.
var errUnsettled = fmt.Errorf("%w each time it was listed", store.ErrConflict)
