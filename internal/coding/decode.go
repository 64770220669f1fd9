// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"
	"fmt"
	"math"

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

// Extract is a part of a chunk, and the memory that it is decoded to.
type Extract struct {
	// Shape is the encoded shape of the chunk.
	Shape []int64
	// Part selects the elements to decode.
	strided.Part
	// Into is the destination. It has the shape of the part. If the part has lists, Into
	// has all positions of their axes. If it has points, Into has all positions of the
	// points, in any shape.
	Into strided.View
	// Whole means that the rest of the chunk lies outside of the array.
	Whole bool
	// Zeroed means that Into holds zeros.
	Zeroed bool
}

// Fill sets all elements of the part to the fill value.
func (p *Extract) Fill(fill []byte) {
	if p.Picks == nil {
		strided.Fill(p.Into, fill)
		return
	}
	p.Picks.Fill(p.Into, p.Count, fill)
}

// PartialDecoder is implemented by a [codec.ArrayBytes] codec that can decode a part of a
// chunk without reading the rest.
type PartialDecoder interface {
	// DecodePart decodes the part into p.Into. The part has at least one element and lies
	// within the chunk. Errors are those of Decode and of the source.
	DecodePart(ctx context.Context, w *Work, p Extract, src Source) error
}

// Partial reports whether the chain can decode parts of chunks. This requires that its
// array-to-bytes codec is a [PartialDecoder], that the codecs before it only reorder
// axes, and that there are none after it.
func (c *Chain) Partial() bool {
	_, ok := c.serial.(PartialDecoder)
	return ok && c.order != nil && len(c.bytes) == 0
}

// Hull returns the number of elements of an encoded chunk from the first to the last one
// of a part. It is that of the whole chunk if the part has lists or points.
func (c *Chain) Hull(shape []int64, p strided.Part) int64 {
	hull, stride := int64(1), int64(1)
	for i := len(c.order) - 1; i >= 0; i-- {
		axis := c.order[i]
		if p.Picks == nil {
			hull += (p.Count[axis] - 1) * p.Step[axis] * stride
		}
		stride *= shape[axis]
	}
	if p.Picks != nil {
		return stride
	}
	return hull
}

// DecodePart decodes a part of a chunk into p.Into. The chain must be [Chain.Partial].
func (c *Chain) DecodePart(ctx context.Context, w *Work, p Extract, src Source) (err error) {
	defer parallel.Recover(&err)
	if !c.inOrder {
		p.Shape, p.Part, p.Into = c.permuted(p.Shape), c.permutedPart(p.Part, p.Shape), c.permutedBlock(p.Part, p.Into)
	}
	return c.failSerial(c.serial.(PartialDecoder).DecodePart(ctx, w, p, src))
}

// ranger returns the codec that can decode a range of elements, nil if there is none. It
// is the first bytes codec of a plain chain, followed by nothing but checksums.
func (c *Chain) ranger() codec.RangeDecoder {
	if !c.plain || c.order == nil || len(c.bytes) == 0 {
		return nil
	}
	for _, b := range c.bytes[1:] {
		if _, trims := b.(codec.Trimmer); !trims {
			return nil
		}
	}
	r, _ := c.bytes[0].(codec.RangeDecoder)
	return r
}

// DecodeWithin is [Chain.Decode] for callers that need only a part of the chunk. The part
// has at least one element and lies within the chunk. All other elements of v are
// undefined afterwards. DecodeWithin may miss damage that does not affect the part.
func (c *Chain) DecodeWithin(v *strided.View, part strided.Part, src []byte) (err error) {
	defer parallel.Recover(&err)
	if c.ranges == nil {
		return c.Decode(v, src)
	}
	c.setStrides(v)
	first, last := spanOf(part, v.Shape, v.Strides)
	last += int64(v.Size)
	// For most of the chunk, a range saves too little.
	if last-first > int64(len(v.Data))/2 {
		return c.Decode(v, src)
	}
	for i := len(c.bytes) - 1; i > 0; i-- {
		if src, err = c.bytes[i].(codec.Trimmer).Trim(src); err != nil {
			return c.failBytes(i, err)
		}
	}
	wanted := v.Data[first:last:last]
	if err := c.ranges.DecodeRange(wanted, src, first, int64(len(v.Data))); err != nil {
		return c.failBytes(0, err)
	}
	if v, ok := c.serial.(Validator); ok {
		return c.failSerial(v.Validate(wanted))
	}
	return nil
}

// spanOf returns the offsets of the first and the last element of a part within a block
// of the given shape, in units of its strides.
func spanOf(part strided.Part, shape, strides []int64) (first, last int64) {
	if part.Picks != nil && part.Picks.Points != nil {
		return spanOfPoints(part.Picks.Points, shape, strides)
	}
	for i, stride := range strides {
		from := part.Start[i] * stride
		to := from + (part.Count[i]-1)*part.Step[i]*stride
		if part.Picks != nil && part.Picks.Lists != nil {
			if l := part.Picks.Lists[i]; l.At != nil {
				from, to = (l.At[0]-l.Base)*stride, (l.At[len(l.At)-1]-l.Base)*stride
			}
		}
		first += min(from, to)
		last += max(from, to)
	}
	return first, last
}

// spanOfPoints is spanOf for points, which are numbered in C order.
func spanOfPoints(points []strided.Point, shape, strides []int64) (first, last int64) {
	first = math.MaxInt64
	for _, p := range points {
		n, at := p.At, int64(0)
		for i := len(shape) - 1; i >= 0; i-- {
			at += n % shape[i] * strides[i]
			n /= shape[i]
		}
		first, last = min(first, at), max(last, at)
	}
	return first, last
}
