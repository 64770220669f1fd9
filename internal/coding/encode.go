// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/strided"
)

// Encode appends the stored form of a chunk to dst. src has its elements in its encoded
// shape.
func (c *Chain) Encode(dst []byte, src strided.View) (out []byte, err error) {
	defer parallel.Recover(&err)
	// Fast path: the elements are the stored form.
	if c.plain && c.order != nil && len(c.bytes) == 0 {
		if c.inOrder {
			return appendElements(dst, src), nil
		}
		var room [16]int64
		return appendElements(dst, c.reordered(src, room[:0])), nil
	}
	s := newScratch()
	defer s.free()
	block, free, err := c.encodeArrays(s, src)
	defer free.Put()
	if err != nil {
		return nil, err
	}
	switch {
	case c.plain:
		return c.encodeBytes(dst, block.Data, nil)
	case len(c.bytes) == 0:
		out, err := c.encodeSerial(s, dst, block)
		return out, c.failSerial(err)
	}
	serial := budget.Get(c.likelySerialSize(src, block))
	if serial.B, err = c.encodeSerial(s, serial.B, block); err != nil {
		serial.Put()
		return nil, c.failSerial(err)
	}
	return c.encodeBytes(dst, serial.B, serial)
}

// likelySerialSize estimates how many bytes the array-to-bytes codec makes of a block
// with the elements of src. If they have one width, it is the most.
func (c *Chain) likelySerialSize(src strided.View, block codec.Block) int64 {
	if c.varies {
		return likelySize(src)
	}
	size, _ := c.serial.EncodedSize(block.Shape, int64(len(block.Data)))
	return size
}

// encodeSerial encodes a block with the array-to-bytes codec and appends the result to
// dst.
func (c *Chain) encodeSerial(s *scratch, dst []byte, block codec.Block) ([]byte, error) {
	if c.varies && !c.divides {
		return c.encodeVarying(s, dst, block)
	}
	return c.serial.Encode(dst, block)
}

// encodeArrays encodes src with the array codecs. The caller puts the buffer back.
func (c *Chain) encodeArrays(s *scratch, src strided.View) (codec.Block, *budget.Buffer, error) {
	if c.order == nil {
		return c.encodeBlocks(s, src)
	}
	v := src
	if !c.inOrder {
		s.numbers = slices.Grow(s.numbers[:0], 2*len(c.order))
		v = c.reordered(src, s.numbers)
	}
	data, free := gather(v)
	return codec.Block{Shape: v.Shape, Data: data, Heap: v.Heap}, free, nil
}

// encodeBytes encodes src with the bytes codecs and appends the result to dst. It puts
// back own, the buffer of src, which may be nil.
func (c *Chain) encodeBytes(dst, src []byte, own *budget.Buffer) ([]byte, error) {
	last := len(c.bytes) - 1
	if last < 0 {
		defer own.Put()
		return append(dst, src...), nil
	}
	// Each step but the last needs a buffer.
	src, own, err := c.encodeSteps(src, own, last)
	defer own.Put()
	if err != nil {
		return nil, err
	}
	out, err := c.encoders[last](dst, src)
	return out, c.failBytes(last, err)
}

// EncodeNew is [Chain.Encode] to a new buffer, which the caller puts back, even after an
// error.
//
// If elements differ in length, each step takes its memory when it begins and puts back
// that of its source. If last is set, the first step releases the whole heap of src, so
// the caller must not use its elements again.
func (c *Chain) EncodeNew(src strided.View, last bool) (value []byte, buffer strided.Loan, err error) {
	buffer = (*budget.Buffer)(nil) // for a panic
	defer parallel.Recover(&err)
	if !c.varies {
		b := budget.Get(c.MaxEncoded(src.Shape, src.ElementBytes()))
		out, err := c.Encode(b.B, src)
		return out, b, err
	}
	serial, own, err := c.encodeText(src)
	if err != nil {
		return nil, own, err
	}
	// serial has the elements now, so free their memory before the next step takes more.
	if last {
		src.Heap.Release()
	}
	value, own, err = c.encodeSteps(serial, own, len(c.bytes))
	return value, own, err
}

// encodeText encodes elements that differ in length with the array-to-bytes codec. It
// returns the result and its buffer.
func (c *Chain) encodeText(src strided.View) ([]byte, *budget.Buffer, error) {
	s := newScratch()
	defer s.free()
	block, free, err := c.encodeArrays(s, src)
	defer free.Put()
	if err != nil {
		return nil, nil, err
	}
	own := budget.Get(likelySize(src))
	out, err := c.encodeSerial(s, own.B, block)
	return out, own, c.failSerial(err)
}
