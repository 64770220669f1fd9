package codec

import (
	"fmt"

	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/strided"
)

// Chains whose array codecs do more than reorder axes take a block for each such codec.

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
		next, to := Block{Shape: s.shapes[0], Data: v.Data}, (*budget.Buffer)(nil)
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

// encodeBlocks encodes src with the array codecs. The caller puts the buffer back.
func (c *Chain) encodeBlocks(s *scratch, src strided.View) (Block, *budget.Buffer, error) {
	if err := c.shapes(s, src.Shape); err != nil {
		return Block{}, nil, err
	}
	data, free := gather(src)
	block := Block{Shape: src.Shape, Data: data, Heap: src.Heap}
	for i, a := range c.arrays {
		next, to, err := c.block(s.shapes[i+1], i+1)
		if err == nil {
			next.Heap = src.Heap
			s.block = next
			err = c.fail(i, a.Encode(&s.block, block))
		}
		free.Put()
		free = to
		if err != nil {
			return Block{}, free, err
		}
		block = next
	}
	return block, free, nil
}

// block returns memory for an array of the given shape after the first n array codecs,
// and the buffer that the caller puts back.
func (c *Chain) block(shape []int64, n int) (Block, *budget.Buffer, error) {
	size, ok := blockBytes(shape, c.specs[n].Width())
	if !ok || size > c.mostBetween() {
		return Block{}, nil, c.fail(max(0, n-1), fmt.Errorf("%w: an encoded array of shape %v", ErrLimit, shape))
	}
	b := budget.Get(size)
	return Block{Shape: shape, Data: b.Bytes(size)}, b, nil
}

// mostBetween returns the most bytes of an array between two codecs, which may be longer
// than a chunk because some codecs widen elements.
func (c *Chain) mostBetween() int64 { return c.limit * int64(c.widest()) }

// blockBytes returns the bytes of an array. ok is false if they overflow an int64.
func blockBytes(shape []int64, width int) (int64, bool) {
	n, ok := checked.Product(shape...)
	if !ok {
		return 0, false
	}
	return checked.Mul(n, int64(width))
}

// shapes sets s.shapes to the shapes before each array codec and after the last.
func (c *Chain) shapes(s *scratch, shape []int64) (err error) {
	s.numbers, s.shapes = s.numbers[:0], append(s.shapes[:0], shape)
	for i, a := range c.arrays {
		from := len(s.numbers)
		if s.numbers, err = a.EncodedShape(s.numbers, s.shapes[i]); err != nil {
			return c.fail(i, err)
		}
		s.shapes = append(s.shapes, s.numbers[from:len(s.numbers):len(s.numbers)])
	}
	return nil
}
