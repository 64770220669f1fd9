package codec

import (
	"errors"
	"fmt"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
)

// Elements that differ in length, as text does: inside of a chain, and wherever else they are moved about, they are references to a
// heap; codecs that turn them into bytes see the elements themselves.

// decodeVarying turns stored bytes into references, for which dst has room, and adds what they refer to to its heap.
func (c *Chain) decodeVarying(s *scratch, dst Block, src []byte) error {
	serial, free, err := c.growing(dst.Shape, src)
	defer free.Put()
	if err != nil {
		return err
	}
	s.block = dst
	if c.divides {
		return c.failSerial(c.serial.Decode(&s.block, serial))
	}
	count, ok := checked.Product(dst.Shape...)
	if !ok || count > int64(len(dst.Data)) {
		return c.failSerial(fmt.Errorf("%w: an array of shape %v", ErrLimit, dst.Shape))
	}
	s.block = Block{Shape: dst.Shape, Offsets: s.offsets[:0]}
	err = c.serial.Decode(&s.block, serial)
	block := s.block
	if s.offsets = block.Offsets; err != nil {
		return c.failSerial(err)
	}
	if err := checkOffsets(block, count); err != nil {
		return c.failSerial(err)
	}
	if int64(len(block.Data)) > c.limit || !dst.Heap.Add(dst.Data, block.Data, block.Offsets) {
		return c.failSerial(fmt.Errorf("%w: elements of %d bytes, at most %d may be", ErrLimit, len(block.Data), c.limit))
	}
	return nil
}

// likelySize returns about how many bytes elements that differ in length take in a row.
func likelySize(v grid.View) int64 {
	n := int64(1)
	for _, l := range v.Shape {
		n *= l
	}
	return v.ElementBytes() + lengthBytes*n + 64
}

// lengthBytes is how many bytes it takes to tell how long an element is.
const lengthBytes = 4

// checkOffsets refuses a block that does not have so many elements.
func checkOffsets(b Block, count int64) error {
	if int64(len(b.Offsets)) != count+1 {
		return fmt.Errorf("%w: %d elements, its shape %d takes %d", ErrCorrupt, len(b.Offsets)-1, b.Shape, count)
	}
	before := int64(0)
	for _, o := range b.Offsets {
		if o < before || o > int64(len(b.Data)) {
			return fmt.Errorf("%w: an element ends at byte %d of %d, the one before at %d", ErrCorrupt, o, len(b.Data), before)
		}
		before = o
	}
	return nil
}

// firstTry is how many times as long as its encoded form a chunk of unknown length is taken to be at first.
const firstTry = 8

// growing undoes the bytes codecs where nobody knows how many bytes come out: it tries with more and more.
func (c *Chain) growing(shape []int64, src []byte) ([]byte, *budget.Buffer, error) {
	whole := min(c.most(shape, c.limit, 0), 2*c.limit)
	for most := max(64<<10, firstTry*int64(len(src))); ; most *= 4 {
		most = min(most, whole)
		out, free, err := c.decodeWithin(src, most)
		if !errors.Is(err, ErrTooLong) || most == whole {
			return out, free, err
		}
		free.Put()
	}
}

// decodeWithin undoes the bytes codecs, of which each has a result of at most about so many bytes.
func (c *Chain) decodeWithin(src []byte, most int64) ([]byte, *budget.Buffer, error) {
	var last *budget.Buffer
	for i := len(c.bytes) - 1; i >= 0; i-- {
		if t, ok := c.bytes[i].(Trimmer); ok {
			out, err := t.Trim(src)
			if err != nil {
				return nil, last, c.failBytes(i, err)
			}
			src = out
			continue
		}
		room := most
		for _, b := range c.bytes[:i] {
			room = b.MaxEncoded(room)
		}
		to := budget.Get(room)
		out, err := c.bytes[i].Decode(to.Bytes(room)[:0:room], src, room)
		last.Put()
		last = to
		if err == nil && int64(len(out)) > room {
			err = fmt.Errorf("%w: %d bytes, at most %d are possible", ErrTooLong, len(out), room)
		}
		if err != nil {
			return nil, last, c.failBytes(i, err)
		}
		src = out
	}
	return src, last, nil
}

// varying returns the elements that a block refers to, one behind the other, in the buffer that is to be put back.
func (s *scratch) varying(b Block) (Block, *budget.Buffer) {
	s.length[0], s.stride[0] = int64(len(b.Data))/grid.RefSize, grid.RefSize
	v := grid.View{Data: b.Data, Shape: s.length[:], Strides: s.stride[:], Size: grid.RefSize, Heap: b.Heap}
	data := budget.Get(v.ElementBytes())
	data.B, s.offsets = v.AppendElements(data.B, append(s.offsets[:0], 0))
	return Block{Shape: b.Shape, Data: data.B, Offsets: s.offsets}, data
}
