// SPDX-License-Identifier: Apache-2.0

// Package export reads the selected part of an array block by block, can decode it, and
// writes it in the formats of varve export and of package serve.
package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/failure"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/selection"
)

// Source is the selected part of an array, to be read.
type Source struct {
	Array     *zarr.Array
	Stored    dtype.Type   // of the stored elements
	Type      dtype.Type   // of the output
	Decoding  *cf.Decoding // nil if the output is the stored elements
	Units     cf.Units     // of decoded elements
	Selection *selection.Resolved
	Shape     []int64   // of the selection
	Bytes     int64     // in memory; TooMany if they overflow
	Headings  []Heading // one per axis, for CSV; nil for none

	// Memory bounds the bytes of a block of elements. 0 is about [SlabBytes], or what the
	// memory of the machine permits where larger blocks decode each chunk once.
	Memory int64
	// Reserve, if not nil, is called before elements are read, and end when they are in
	// memory, decoded.
	Reserve func(context.Context) (end func(), err error)
	// Written, if not nil, is called with the bytes, in memory, of elements that a format
	// has written.
	Written func(bytes int64)
}

// Of returns the elements of a view. If decoded is set, it decodes numbers whose
// attributes say how.
func Of(ctx context.Context, v *zarr.View, decoded bool) (s *Source, err error) {
	a := v.Array()
	s = &Source{Array: a, Stored: v.Type(), Type: v.Type(), Selection: v.Selection(), Shape: v.Shape()}
	if decoded {
		if s.Units, err = cf.UnitsIn(ctx, a); err == nil {
			s.Decoding, err = cf.NewDecoding(ctx, a, s.Units)
		}
		if err != nil {
			return nil, err
		}
	}
	if s.Decoding != nil {
		s.Type = s.Decoding.Type()
	}
	s.measure()
	return s, nil
}

// TooMany stands for a number of bytes that overflows.
const TooMany = math.MaxInt64

// measure counts the bytes of the elements. An overflow is no error, because only the
// ends of axes may be read.
func (s *Source) measure() {
	var ok bool
	if s.Bytes, ok = checked.Mul(s.Selection.Len(), max(Width(s.Stored), Width(s.Type))); !ok {
		s.Bytes = TooMany
	}
}

// Reader reads blocks of a source. Every block reuses the memory of the previous one.
type Reader struct {
	*Source
	// Crowded permits elements of variable length that lie in several chunks to be as
	// long together as those of one chunk.
	Crowded bool

	block, decoded Values
	heap           *strided.Heap // of elements of variable length
	average        int64         // bytes of such an element in the last block
}

// Reader returns a reader of blocks.
func (s *Source) Reader() *Reader { return &Reader{Source: s, block: Values{Type: s.Stored}} }

// Read returns the elements of a part. Those of variable length may be too long together:
// then the error wraps [coding.ErrRoom], and the caller reads the part in several parts.
func (r *Reader) Read(ctx context.Context, part *selection.Resolved) (Values, error) {
	if r.Reserve != nil {
		end, err := r.Reserve(ctx)
		if err != nil {
			return Values{}, err
		}
		defer end()
	}
	r.block.Grow(int(part.Len()))
	read := r.readFixed
	if r.Stored.Variable() {
		read = r.readVarying
	}
	if err := read(ctx, part); err != nil || r.Decoding == nil {
		return r.block, err
	}
	decodeTo(r.Decoding, &r.decoded, r.block)
	return r.decoded, nil
}

func (r *Reader) readFixed(ctx context.Context, part *selection.Resolved) error {
	return r.Array.ReadBytes(ctx, part, r.block.Data)
}

// readVarying reads elements of variable length, which stay where they were decoded.
func (r *Reader) readVarying(ctx context.Context, part *selection.Resolved) error {
	a, n := r.Array.Core(), part.Len()
	oneChunk := r.Crowded || r.chunks(part) == 1
	if !oneChunk && r.average > a.Room(false)/n {
		return coding.ErrRoom // as it would be after most of the texts are decoded
	}
	r.heap.Release()
	r.heap = nil
	e, err := a.Elements(ctx, part, oneChunk)
	if err != nil {
		return failure.On(r.Array, "read", err)
	}
	r.heap, r.average = e.Heap, e.Heap.Len()/n
	for i := range r.block.Words {
		r.block.Words[i] = e.Heap.Bytes(e.Data[i*strided.RefSize:])
	}
	return nil
}

// chunks returns the number of chunks or inner chunks that a part touches, at least 1.
func (r *Reader) chunks(part *selection.Resolved) int64 {
	n, ok := (*subset.Elements)(part).Touched(r.Array.Core().State().Finest()).Len()
	if !ok {
		return math.MaxInt64
	}
	return max(1, n)
}

// Blocks calls use with the elements in C order, block by block. Blocks reuse memory.
func (s *Source) Blocks(ctx context.Context, use func(Values) error) error {
	return s.BlocksOf(ctx, SlabOf(s.Stored), use)
}

// BlocksOf is [Source.Blocks] with blocks of at least size bytes, counted by
// [Width].
func (s *Source) BlocksOf(ctx context.Context, size int64, use func(Values) error) error {
	if s.Type.Variable() && !s.Stored.Variable() {
		size /= 16 // text takes more memory than its numbers
	}
	return s.Reader().blocks(ctx, s.Selection, s.Slab(size), use)
}

// shorter is the factor by which a block is divided if it has too many bytes of text.
const shorter = 4

// blocks calls use with the elements of a selection, in blocks of size bytes counted by
// [Width]. The length of texts is unknown before they are read. If the texts of a
// block exceed the limit of a block, it is read in several parts.
func (r *Reader) blocks(ctx context.Context, of *selection.Resolved, size int64, use func(Values) error) error {
	slabs, err := r.Array.Slabs(of, size)
	if err != nil {
		return err
	}
	for slab := range slabs {
		part, err := r.Array.Select(slab)
		if err != nil {
			return err
		}
		n := part.Len() // elements of one block
		e, err := r.Read(ctx, part)
		switch {
		case err == nil:
			err = use(e)
		// The texts of this block are long: read it again in smaller parts. A part of a
		// chunk would decode all of it.
		case errors.Is(err, coding.ErrRoom) && n > 1:
			fewer := max(1, n/shorter)
			if k := min(n, r.chunks(part)); k > 1 {
				fewer = max(fewer, n-n/k*(k-1)) // about one chunk of k
			}
			err = r.blocks(ctx, part, fewer*Width(r.Stored), use)
		case errors.Is(err, coding.ErrRoom):
			err = TooLong(err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TooLong returns the error for one element that is longer than a block may be.
func TooLong(err error) error {
	return fmt.Errorf("an element has more bytes than a block may have; "+remedy.RaiseLimit+" if the data is trusted: %w", err)
}

// Elements calls use with every element in C order.
func (s *Source) Elements(ctx context.Context, use func(elem []byte) error) error {
	return s.Blocks(ctx, func(e Values) error {
		for i := range e.Len() {
			if err := use(e.At(i)); err != nil {
				return err
			}
		}
		s.Tell(int64(e.Len()) * Width(s.Type))
		return ctx.Err()
	})
}

// Tell reports bytes, in memory, of elements that were written.
func (s *Source) Tell(bytes int64) {
	if s.Written != nil {
		s.Written(bytes)
	}
}

// LittleEndian converts a block between host byte order and little endian, in place.
func LittleEndian(t dtype.Type, block []byte) {
	if !byteorder.Little() {
		t.Swap(block, block)
	}
}

// slabChunks bounds the chunks that are read at a time. It lets output and progress
// appear early if chunks are tiny or not stored.
const slabChunks = 1 << 16

// Slab returns the bytes of selected elements that are read at a time, at least least.
// Every slab decodes all chunks that it touches. So if the default budget can hold them,
// a slab has all chunks side by side. If only one chunk lies there, the slab has that
// chunk, which is decoded anyway.
func (s *Source) Slab(least int64) int64 {
	if s.Memory > 0 {
		least = min(least, s.Memory/4)
	}
	if chunk := LongestChunk(s.Array.Grid(), Width(s.Stored)); chunk < least/slabChunks {
		return chunk * slabChunks
	}
	if s.Stored.Variable() || s.Type.Variable() {
		return least
	}
	most := cmp.Or(s.Memory, budget.Most())
	if s.Decoding != nil { // decoded elements are in memory, too
		most /= 1 + (Width(s.Type)+Width(s.Stored)-1)/Width(s.Stored)
	}
	chunk, layer := (*subset.Elements)(s.Selection).Layer(s.Array.Core().State().Finest(), Width(s.Stored))
	if layer <= most || chunk == layer && s.Decoding == nil && s.Memory == 0 && chunk <= coding.DefaultChunk {
		return max(least, layer)
	}
	return least
}

// Heading is the heading of an axis in CSV with --header: its name, and a cell for every
// element along it. The cell is the value of the coordinate, or the index if there is no
// coordinate.
type Heading struct {
	Name  string
	Index []int64 // of the elements; nil with Cells, and for points
	Cells Values  // values of the coordinate; empty if there is none
}

// SlabBytes is the number of bytes of an array that are in memory at a time.
const SlabBytes = 128 << 20

// SlabOf returns the bytes of elements of a type, counted by [Width], that are in
// memory at a time.
func SlabOf(t dtype.Type) int64 {
	if t.Variable() {
		return SlabBytes / 16 // the elements are longer than their references
	}
	return SlabBytes
}

// SlabToWrite returns the bytes of selected elements that are written at a time. A chunk
// or inner chunk that is longer than a slab would be read, changed and encoded again for
// every slab that touches it. So if the default budget can hold them, a slab has all
// chunks side by side, and otherwise at least one chunk, which is in memory anyway.
func SlabToWrite(limit int64, a *zarr.Array, r *selection.Resolved, t dtype.Type) int64 {
	slab := SlabOf(t)
	if t.Variable() {
		return slab
	}
	if limit <= 0 {
		limit = coding.DefaultChunk
	}
	chunk, layer := (*subset.Elements)(r).Layer(a.Core().State().Finest(), Width(t))
	switch {
	case layer <= min(limit, budget.Most()):
		return max(slab, layer)
	case chunk <= limit:
		return max(slab, chunk)
	}
	return slab
}

// LongestChunk returns the bytes of the longest chunk of a grid, for elements of the
// given bytes.
func LongestChunk(g *grid.Grid, bytes int64) int64 {
	for i := range g.Rank() {
		axis := g.Axis(i)
		bytes = checked.Capped(bytes, axis.Longest(grid.Interval{Stop: axis.Chunks()}))
	}
	return bytes
}

// decodeTo fills dst with the decoded elements of src.
func decodeTo(d *cf.Decoding, dst *Values, src Values) {
	n := src.Len()
	dst.Type = d.Type()
	dst.Grow(n)
	if !dst.Type.Variable() {
		d.Decode(dst.Data, src.Data)
		return
	}
	for i := range n {
		dst.Words[i] = []byte(d.DecodeText(src.At(i)))
	}
}

// errUnsaid ends the search for a time that datetime64 cannot represent.
var errUnsaid = errors.New("datetime64 cannot represent the time")

// Settle reads the times of a source. If datetime64 cannot represent one of them, it
// makes all of them text. Call it before the type of the output is used.
func (s *Source) Settle(ctx context.Context) error {
	if s.Decoding == nil || !s.Decoding.MayOverflow() {
		return nil
	}
	err := s.Undecoded().Blocks(ctx, func(e Values) error {
		if !s.Decoding.Fits(e.Data) {
			return errUnsaid
		}
		return ctx.Err()
	})
	if errors.Is(err, errUnsaid) {
		return s.BecomeText()
	}
	return err
}

// Undecoded returns a source of the same elements without decoding.
func (s *Source) Undecoded() *Source {
	stored := *s
	stored.Decoding, stored.Type = nil, s.Stored
	return &stored
}

// BecomeText changes the output of times to text.
func (s *Source) BecomeText() error {
	s.Decoding = s.Decoding.AsText()
	s.Type = s.Decoding.Type()
	s.measure()
	return nil
}
