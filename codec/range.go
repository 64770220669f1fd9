package codec

import (
	"math"

	"varve.dev/zarr/strided"
)

// RangeDecoder is the power of a [BytesBytes] codec to decode some of the bytes with less
// work than all of them.
type RangeDecoder interface {
	// DecodeRange fills dst with the bytes from off on of what src decodes to. The caller
	// knows that these are size bytes, and that dst is among them. A src that decodes to
	// any other number of bytes is [ErrCorrupt]; damage that does not change the wanted
	// bytes may go unnoticed.
	DecodeRange(dst, src []byte, off, size int64) error
}

// ranger returns the codec that can decode a range of a chunk, nil where the chain has
// none: elements are stored as they are, then by that codec, and after it nothing but
// checksums follow.
func (c *Chain) ranger() RangeDecoder {
	if !c.plain || c.order == nil || len(c.bytes) == 0 {
		return nil
	}
	for _, b := range c.bytes[1:] {
		if _, trims := b.(Trimmer); !trims {
			return nil
		}
	}
	r, _ := c.bytes[0].(RangeDecoder)
	return r
}

// DecodeWithin is [Chain.Decode] of a chunk of which nothing but a part is wanted. The
// part has at least one element and lies within the chunk; what the others become is not
// defined, and damage that does not change the part may go unnoticed.
func (c *Chain) DecodeWithin(v *strided.View, part strided.Part, src []byte) (err error) {
	if c.ranges == nil {
		return c.Decode(v, src)
	}
	c.setStrides(v)
	first, last := spanOf(part, v.Shape, v.Strides)
	last += int64(v.Size)
	if last-first > int64(len(v.Data))/2 {
		return c.Decode(v, src)
	}
	for i := len(c.bytes) - 1; i > 0; i-- {
		if src, err = c.bytes[i].(Trimmer).Trim(src); err != nil {
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

// spanOf returns where the first and the last element of a part begin, in units of the
// strides of a block of that shape.
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

// spanOfPoints is spanOf of points, which are numbered in C order.
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
