// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"math"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/strided"
)

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
