// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/strided"
)

// Chains whose array codecs do more than reorder axes take a block for each such codec.

// encodeBlocks encodes src with the array codecs. The caller puts the buffer back.
func (c *Chain) encodeBlocks(s *scratch, src strided.View) (codec.Block, *budget.Buffer, error) {
	if err := c.shapes(s, src.Shape); err != nil {
		return codec.Block{}, nil, err
	}
	data, free := gather(src)
	block := codec.Block{Shape: src.Shape, Data: data, Heap: src.Heap}
	for i, a := range c.arrays {
		next, to, err := c.block(s.shapes[i+1], i+1)
		if err == nil {
			next.Heap = src.Heap
			s.block = next
			err = c.fail(i, a.Encode(&s.block, block))
		}
		// The source of this step is no longer needed.
		free.Put()
		free = to
		if err != nil {
			return codec.Block{}, free, err
		}
		block = next
	}
	return block, free, nil
}

// block returns memory for an array of the given shape after the first n array codecs,
// and the buffer that the caller puts back.
func (c *Chain) block(shape []int64, n int) (codec.Block, *budget.Buffer, error) {
	size, ok := blockBytes(shape, Width(c.specs[n]))
	if !ok || size > c.mostBetween() {
		return codec.Block{}, nil, c.fail(max(0, n-1), fmt.Errorf("%w: an encoded array of shape %v", codec.ErrLimit, shape))
	}
	b := budget.Get(size)
	return codec.Block{Shape: shape, Data: b.Bytes(size)}, b, nil
}

// mostBetween returns the largest size in bytes of an array between two codecs. It may
// exceed that of a chunk, because some codecs widen elements.
func (c *Chain) mostBetween() int64 { return c.limit * int64(c.widest()) }
