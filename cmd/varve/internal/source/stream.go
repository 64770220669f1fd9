// SPDX-License-Identifier: Apache-2.0

// Package source reads the selected part of an array block by block, decoded if asked
// for.
package source

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/cmd/varve/internal/checked"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/selection"
)

// Source is the selected part of an array, on its way out.
type Source struct {
	Array     *zarr.Array
	Stored    dtype.Type   // of what is selected
	Type      dtype.Type   // of what comes out
	Decoding  *cf.Decoding // nil where that is the same
	Units     cf.Units     // of what is decoded
	Selection *selection.Resolved
	Shape     []int64   // of the selection
	Bytes     int64     // in memory, tooMany if they are more than 64 bits count
	Headings  []Heading // an axis, for CSV; nil where there are to be none
}

// New binds what --select says to an array. Decoded are only numbers of which the
// attributes say how.
func New(ctx context.Context, a *zarr.Array, text string, decoded bool) (*Source, error) {
	v, err := Selected(ctx, a, text)
	if err != nil {
		return nil, err
	}
	return Of(ctx, v, decoded)
}

// Of returns the elements of a view. Decoded are only numbers of which the
// attributes say how.
func Of(ctx context.Context, v *zarr.View, decoded bool) (s *Source, err error) {
	a := v.Array()
	s = &Source{Array: a, Stored: v.Type(), Type: v.Type(), Selection: v.Selection(), Shape: v.Shape()}
	if decoded {
		if s.Units, err = cf.UnitsIn(ctx, a); err == nil {
			s.Decoding, err = cf.NewDecoding(a, s.Units)
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

// TooMany stands for more bytes than 64 bits count.
const TooMany = math.MaxInt64

// measure counts the bytes of the elements. That they may be too many to count does not
// matter where only the ends are read.
func (s *Source) measure() {
	var ok bool
	if s.Bytes, ok = checked.Mul(s.Selection.Len(), max(element.Width(s.Stored), element.Width(s.Type))); !ok {
		s.Bytes = TooMany
	}
}

// Reader reads blocks of a source. The memory is reused.
type Reader struct {
	*Source
	block, made element.Values
}

// Reader returns a reader of blocks.
func (s *Source) Reader() *Reader { return &Reader{Source: s, block: element.Values{Type: s.Stored}} }

// Read returns the n elements of a part.
func (r *Reader) Read(ctx context.Context, part selection.Selection, n int) (element.Values, error) {
	r.block.Grow(n)
	if err := r.block.Read(ctx, r.Array, part); err != nil || r.Decoding == nil {
		return r.block, err
	}
	decodeTo(r.Decoding, &r.made, r.block)
	return r.made, nil
}

// Blocks calls use with the elements in C order, block by block. The memory is reused.
func (s *Source) Blocks(ctx context.Context, use func(element.Values) error) error {
	size := SlabOf(s.Stored)
	if s.Type.Variable() && !s.Stored.Variable() {
		size /= 16 // text that is made of numbers takes more memory than they do
	}
	return s.Reader().blocks(ctx, s.Selection, s.Slab(size), use)
}

// shorter is how many times as long a block is that has too many bytes as those that are
// tried in its place.
const shorter = 4

// blocks calls use with the elements of a selection, in blocks of so many bytes as width
// counts them. How long texts are nobody knows before they are read: where those of a
// block have more bytes than a block may have, it is read in several.
func (r *Reader) blocks(ctx context.Context, of *selection.Resolved, size int64, use func(element.Values) error) error {
	slabs, err := r.Array.Slabs(of, size)
	if err != nil {
		return err
	}
	for slab := range slabs {
		part, err := r.Array.Select(slab)
		if err != nil {
			return err
		}
		n := part.Len() // as many as are in memory at a time, or one
		e, err := r.Read(ctx, part, int(n))
		switch {
		case err == nil:
			err = use(e)
		case errors.Is(err, codec.ErrRoom) && n > 1:
			err = r.blocks(ctx, part, max(1, n/shorter)*element.Width(r.Stored), use)
		case errors.Is(err, codec.ErrRoom):
			err = fmt.Errorf("one element has more bytes than a block may have; raise --limit if the data is trusted: %w", err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Elements calls use with every element in C order.
func (s *Source) Elements(cmd *cobra.Command, use func(elem []byte) error) error {
	p := progress.New(cmd, "reading", s.Bytes)
	defer p.End()
	return s.Blocks(cmd.Context(), func(e element.Values) error {
		for i := range e.Len() {
			if err := use(e.At(i)); err != nil {
				return err
			}
		}
		p.Add(int64(e.Len()) * element.Width(s.Type))
		return cmd.Context().Err()
	})
}

// LittleEndian turns a block from host byte order to little endian or back, in place.
func LittleEndian(t dtype.Type, block []byte) {
	if !dtype.LittleEndian() {
		t.Swap(block, block)
	}
}

// slabChunks is how many chunks are read at a time at most, so that output begins, and
// progress shows, where chunks have a few bytes each or are not stored.
const slabChunks = 1 << 16

// Slab returns how many bytes of selected elements are read at a time, at least so many.
// Every slab decodes all chunks that it has some of. So a slab is as long as all chunks
// side by side where a budget that nobody has chosen could have as much, and as long as
// one chunk where there is none beside it: so much is decoded in any case.
func (s *Source) Slab(least int64) int64 {
	if chunk := LongestChunk(s.Array.Grid(), element.Width(s.Stored)); chunk < least/slabChunks {
		return chunk * slabChunks
	}
	if s.Stored.Variable() || s.Type.Variable() {
		return least
	}
	most := zarr.MostBudget()
	if s.Decoding != nil { // what is made of the elements is in memory, too
		most /= 1 + (element.Width(s.Type)+element.Width(s.Stored)-1)/element.Width(s.Stored)
	}
	chunk, layer := s.Selection.Layer(Finest(s.Array), element.Width(s.Stored))
	if layer <= most || chunk == layer && s.Decoding == nil && chunk <= (zarr.Limits{}).OrDefault().Chunk {
		return max(least, layer)
	}
	return least
}

// Heading is what CSV with --header says of an axis: its name, and a cell for every
// element along it. That is the value of the coordinate, or the index in the array where
// there is no coordinate.
type Heading struct {
	Name  string
	Index []int64        // of the elements; nil where they are along no axis of the array, and with cells
	Cells element.Values // values of the coordinate, none where there is none
}
