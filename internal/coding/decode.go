// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strided"
)

// Decode decodes the stored bytes src of a chunk into v. The caller sets Shape to the
// encoded shape of the chunk, Size, Data to exactly the bytes of its elements, and Heap
// if elements differ in length. Decode sets Strides, reusing their memory. They are those
// of C order unless codecs reorder axes. Errors wrap [codec.ErrCorrupt].
func (c *Chain) Decode(v *strided.View, src []byte) (err error) {
	defer parallel.Recover(&err)
	c.setStrides(v)
	// Fast path: the block has the shape of the chunk.
	if c.inOrder && !c.varies {
		return c.decodeSerial(nil, codec.Block{Shape: v.Shape, Data: v.Data, Heap: v.Heap}, src)
	}
	s := newScratch()
	defer s.free()
	if c.order == nil {
		return c.decodeArrays(s, v, src)
	}
	return c.decodeSerial(s, codec.Block{Shape: c.serialShape(s, v.Shape), Data: v.Data, Heap: v.Heap}, src)
}

// decodeSerial decodes stored bytes into the block that the array-to-bytes codec encoded.
// s may be nil unless elements differ in length.
func (c *Chain) decodeSerial(s *scratch, dst codec.Block, src []byte) error {
	switch {
	case c.varies:
		return c.decodeVarying(s, dst, src)
	case !c.plain:
		return c.decodeBlock(dst, src)
	}
	out, free, err := c.decodeBytes(dst.Data, dst.Shape, int64(len(dst.Data)), src)
	defer free.Put() // out is in dst or in src
	switch {
	case err != nil:
		return err
	// Without bytes codecs, decodeBytes returned src.
	case len(c.bytes) == 0 && len(out) == len(dst.Data):
		copy(dst.Data, out)
	}
	return c.checkSerial(out, dst.Shape, int64(len(dst.Data)))
}

// checkSerial returns an error unless data has n bytes and they are valid elements.
func (c *Chain) checkSerial(data []byte, shape []int64, n int64) error {
	if int64(len(data)) != n {
		return c.failSerial(fmt.Errorf("%w: %s, but its shape %d needs %d", codec.ErrCorrupt, quantity.Count(len(data), "bytes"), shape, n))
	}
	if v, ok := c.serial.(Validator); ok {
		return c.failSerial(v.Validate(data))
	}
	return nil
}

// decodeBlock is decodeSerial if the array-to-bytes codec is not plain.
func (c *Chain) decodeBlock(dst codec.Block, src []byte) error {
	serial, free, err := c.decodeBytes(nil, dst.Shape, int64(len(dst.Data)), src)
	defer free.Put()
	if err != nil {
		return err
	}
	s := newScratch()
	defer s.free()
	s.block = dst
	return c.failSerial(c.serial.Decode(&s.block, serial))
}

// decodeBytes undoes the bytes codecs. The last step writes to dst, or if that is nil to
// a buffer that the caller puts back. Without bytes codecs it returns src.
func (c *Chain) decodeBytes(dst []byte, shape []int64, decoded int64, src []byte) ([]byte, *budget.Buffer, error) {
	var last *budget.Buffer
	for i := len(c.bytes) - 1; i >= 0; i-- {
		if t, ok := c.bytes[i].(codec.Trimmer); ok {
			out, err := t.Trim(src)
			if err != nil {
				return nil, last, c.failBytes(i, err)
			}
			src = out
			// The result of the last step belongs in dst.
			if i == 0 && dst != nil {
				src = dst[:copy(dst, out)]
				if len(out) > len(dst) {
					return nil, last, c.failBytes(i, fmt.Errorf("%w: %s, want %d", codec.ErrCorrupt, quantity.Count(len(out), "bytes"), len(dst)))
				}
			}
			continue
		}
		most := c.most(shape, decoded, i)
		to, room := (*budget.Buffer)(nil), dst
		// Only the last step may write to the destination.
		if i > 0 || dst == nil {
			to = budget.Get(most)
			room = to.Bytes(most)
		}
		out, err := c.bytes[i].Decode(room[:0:most], src, most)
		last.Put()
		last = to
		if err == nil && int64(len(out)) > most {
			err = fmt.Errorf("%w: %s, at most %d are possible", codec.ErrCorrupt, quantity.Count(len(out), "bytes"), most)
		}
		if err != nil {
			return nil, last, c.failBytes(i, err)
		}
		if to == nil && len(out) > 0 && &out[0] != &dst[0] {
			out = dst[:copy(dst, out)] // the codec returned its own memory
		}
		src = out
	}
	return src, last, nil
}

// decodeArrays decodes stored bytes into v, which has C order.
func (c *Chain) decodeArrays(s *scratch, v *strided.View, src []byte) error {
	if err := c.shapes(s, v.Shape); err != nil {
		return err
	}
	i := len(c.arrays)
	block, free, err := c.block(s.shapes[i], i)
	if err != nil {
		return err
	}
	defer func() { free.Put() }()
	block.Heap = v.Heap
	if err := c.decodeSerial(s, block, src); err != nil {
		return err
	}
	for i--; i >= 0; i-- {
		// The last step decodes into the memory of v.
		next, to := codec.Block{Shape: s.shapes[0], Data: v.Data}, (*budget.Buffer)(nil)
		if i > 0 {
			if next, to, err = c.block(s.shapes[i], i); err != nil {
				return err
			}
		}
		next.Heap = v.Heap
		s.block = next
		err := c.arrays[i].Decode(&s.block, block)
		free.Put()
		free, block = to, next
		if err != nil {
			return c.fail(i, err)
		}
	}
	return nil
}
