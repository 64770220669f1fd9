package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/selection"
)

// source is the selected part of an array, on its way out.
type source struct {
	array    *zarr.Array
	stored   dtype.Type   // of what is selected
	typ      dtype.Type   // of what comes out
	decoding *cf.Decoding // nil where that is the same
	units    cf.Units     // of what is decoded
	resolved *selection.Resolved
	shape    []int64   // of the selection
	bytes    int64     // in memory, tooMany if they are more than 64 bits count
	headings []heading // an axis, for CSV; nil where there are to be none
}

// newSource binds what --select says to an array. Decoded are only numbers of which the
// attributes say how.
func newSource(ctx context.Context, a *zarr.Array, text string, decoded bool) (*source, error) {
	v, err := selected(ctx, a, text)
	if err != nil {
		return nil, err
	}
	return sourceOf(ctx, v, decoded)
}

// sourceOf returns the elements of a view. Decoded are only numbers of which the
// attributes say how.
func sourceOf(ctx context.Context, v *zarr.View, decoded bool) (s *source, err error) {
	a := v.Array()
	s = &source{array: a, stored: v.Type(), typ: v.Type(), resolved: v.Selection(), shape: v.Shape()}
	if decoded {
		if s.units, err = cf.UnitsIn(ctx, a); err == nil {
			s.decoding, err = cf.NewDecoding(a, s.units)
		}
		if err != nil {
			return nil, err
		}
	}
	if s.decoding != nil {
		s.typ = s.decoding.Type()
	}
	s.measure()
	return s, nil
}

// tooMany stands for more bytes than 64 bits count.
const tooMany = math.MaxInt64

// measure counts the bytes of the elements. That they may be too many to count does not
// matter where only the ends are read.
func (s *source) measure() {
	var ok bool
	if s.bytes, ok = checked.Mul(s.resolved.Len(), max(width(s.stored), width(s.typ))); !ok {
		s.bytes = tooMany
	}
}

// reader reads blocks of a source. The memory is reused.
type reader struct {
	*source
	block, made elements
}

func (s *source) reader() *reader { return &reader{source: s, block: elements{typ: s.stored}} }

// read returns the n elements of a part.
func (r *reader) read(ctx context.Context, part selection.Selection, n int) (elements, error) {
	r.block.grow(n)
	if err := r.block.read(ctx, r.array, part); err != nil || r.decoding == nil {
		return r.block, err
	}
	decodeTo(r.decoding, &r.made, r.block)
	return r.made, nil
}

// blocks calls use with the elements in C order, block by block. The memory is reused.
func (s *source) blocks(ctx context.Context, use func(elements) error) error {
	size := slabOf(s.stored)
	if s.typ.Variable() && !s.stored.Variable() {
		size /= 16 // text that is made of numbers takes more memory than they do
	}
	return s.reader().blocks(ctx, s.resolved, s.slab(size), use)
}

// shorter is how many times as long a block is that has too many bytes as those that are
// tried in its place.
const shorter = 4

// blocks calls use with the elements of a selection, in blocks of so many bytes as width
// counts them. How long texts are nobody knows before they are read: where those of a
// block have more bytes than a block may have, it is read in several.
func (r *reader) blocks(ctx context.Context, of *selection.Resolved, size int64, use func(elements) error) error {
	slabs, err := r.array.Slabs(of, size)
	if err != nil {
		return err
	}
	for slab := range slabs {
		part, err := r.array.Select(slab)
		if err != nil {
			return err
		}
		n := part.Len() // as many as are in memory at a time, or one
		e, err := r.read(ctx, part, int(n))
		switch {
		case err == nil:
			err = use(e)
		case errors.Is(err, codec.ErrRoom) && n > 1:
			err = r.blocks(ctx, part, max(1, n/shorter)*width(r.stored), use)
		case errors.Is(err, codec.ErrRoom):
			err = fmt.Errorf("one element has more bytes than a block may have; raise --limit if the data is trusted: %w", err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// elements calls use with every element in C order.
func (s *source) elements(cmd *cobra.Command, use func(elem []byte) error) error {
	p := progress.New(cmd, "reading", s.bytes)
	defer p.End()
	return s.blocks(cmd.Context(), func(e elements) error {
		for i := range e.len() {
			if err := use(e.at(i)); err != nil {
				return err
			}
		}
		p.Add(int64(e.len()) * width(s.typ))
		return cmd.Context().Err()
	})
}

// littleEndian turns a block from host byte order to little endian or back, in place.
func littleEndian(t dtype.Type, block []byte) {
	if !dtype.LittleEndian() {
		t.Swap(block, block)
	}
}

// slabChunks is how many chunks are read at a time at most, so that output begins, and
// progress shows, where chunks have a few bytes each or are not stored.
const slabChunks = 1 << 16

// slab returns how many bytes of selected elements are read at a time, at least so many.
// Every slab decodes all chunks that it has some of. So a slab is as long as all chunks
// side by side where a budget that nobody has chosen could have as much, and as long as
// one chunk where there is none beside it: so much is decoded in any case.
func (s *source) slab(least int64) int64 {
	if chunk := longestChunk(s.array.Grid(), width(s.stored)); chunk < least/slabChunks {
		return chunk * slabChunks
	}
	if s.stored.Variable() || s.typ.Variable() {
		return least
	}
	most := budget.Most()
	if s.decoding != nil { // what is made of the elements is in memory, too
		most /= 1 + (width(s.typ)+width(s.stored)-1)/width(s.stored)
	}
	chunk, layer := s.resolved.Layer(finest(s.array), width(s.stored))
	if layer <= most || chunk == layer && s.decoding == nil && chunk <= (zarr.Limits{}).OrDefault().Chunk {
		return max(least, layer)
	}
	return least
}
