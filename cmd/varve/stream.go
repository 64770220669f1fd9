package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/selection"
)

// slabBytes is how much of an array is in memory at a time.
const slabBytes = 128 << 20

// source is the selected part of an array, on its way out.
type source struct {
	array    *zarr.Array
	sel      selection.Selection
	resolved *selection.Resolved
	shape    []int64 // of the selection
	bytes    int64
}

// newSource binds what --select says to an array.
func newSource(a *zarr.Array, text string) (*source, error) {
	r, sel, err := selected(a, text)
	if err != nil {
		return nil, err
	}
	n, ok := checked.Mul(r.Len(), int64(a.Type().Size()))
	if !ok {
		return nil, zarr.ErrOverflow
	}
	return &source{a, sel, r, r.Shape(), n}, nil
}

// blocks calls use with the elements in C order and host byte order, block by block. The memory is reused.
func (s *source) blocks(ctx context.Context, use func(block []byte) error) error {
	slabs, err := s.array.Slabs(s.sel, slabBytes)
	if err != nil {
		return err
	}
	var block []byte
	size := s.array.Type().Size()
	for slab := range slabs {
		r, err := s.array.Select(slab)
		if err != nil {
			return err
		}
		n := int(r.Len()) * size // a slab is no larger than slabBytes or one element
		block = slices.Grow(block[:0], n)[:n]
		if err := s.array.ReadBytes(ctx, slab, block); err != nil {
			return err
		}
		if err := use(block); err != nil {
			return err
		}
	}
	return nil
}

// elements calls use with every element in C order.
func (s *source) elements(cmd *cobra.Command, use func(elem []byte) error) error {
	p := newProgress(cmd, "reading", s.bytes)
	defer p.end()
	size := s.array.Type().Size()
	return s.blocks(cmd.Context(), func(block []byte) error {
		for elem := range slices.Chunk(block, size) {
			if err := use(elem); err != nil {
				return err
			}
		}
		p.add(int64(len(block)))
		return cmd.Context().Err()
	})
}

// littleEndian turns a block from host byte order to little endian or back, in place.
func littleEndian(t dtype.Type, block []byte) {
	if !dtype.LittleEndian() {
		t.Swap(block, block)
	}
}
