// SPDX-License-Identifier: Apache-2.0

package n5

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strided"
)

// modes are the modes of N5 blocks besides the default.
var modes = map[uint16]string{1: "varlength", 2: "object"}

// headerSize returns the bytes of a header: the mode, the number of axes, and their
// lengths.
func headerSize(rank int) int { return 4 + 4*rank }

// appendHeader appends the header of a block of the given shape.
func appendHeader(dst []byte, shape []int64) ([]byte, error) {
	dst = binary.BigEndian.AppendUint16(dst, 0)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(shape)))
	for i, n := range shape {
		if n > math.MaxUint32 {
			return dst, fmt.Errorf("%w: n5_default: axis %d of a chunk has %s, a block of N5 at most %d", codec.ErrConfiguration, i, quantity.Count(n, "elements"), uint32(math.MaxUint32))
		}
		dst = binary.BigEndian.AppendUint32(dst, uint32(n))
	}
	return dst, nil
}

// room is memory for shapes.
type room struct{ shape, turned, strides []int64 }

var rooms = sync.Pool{New: func() any { return new(room) }}

// turn returns a shape with its axes reversed, in the memory of the room.
func (r *room) turn(shape []int64) []int64 {
	r.turned = append(r.turned[:0], shape...)
	slices.Reverse(r.turned)
	return r.turned
}

// parseHeader returns the shape of a block, in the memory of the room, and the bytes
// after the header.
func (c *coder) parseHeader(room []int64, src []byte) (shape []int64, rest []byte, err error) {
	if len(src) < 4 {
		return nil, nil, fmt.Errorf("%w: n5_default: %s too few for a header", codec.ErrCorrupt, quantity.Count(len(src), "bytes are"))
	}
	mode, rank := binary.BigEndian.Uint16(src), int(binary.BigEndian.Uint16(src[2:]))
	if name, known := modes[mode]; known {
		return nil, nil, fmt.Errorf("%w: n5_default: a block of mode %q", codec.ErrUnsupported, name)
	}
	switch {
	case mode != 0:
		return nil, nil, fmt.Errorf("%w: n5_default: a block of mode %#04x", codec.ErrCorrupt, mode)
	case rank != c.spec.Rank:
		return nil, nil, fmt.Errorf("%w: n5_default: a block of %s, but the array has %d", codec.ErrCorrupt, quantity.Count(rank, "axes"), c.spec.Rank)
	case len(src) < headerSize(rank):
		return nil, nil, fmt.Errorf("%w: n5_default: %s too few for a header of %s", codec.ErrCorrupt, quantity.Count(len(src), "bytes are"), quantity.Count(rank, "axes"))
	}
	shape = room[:0]
	for i := range rank {
		shape = append(shape, int64(binary.BigEndian.Uint32(src[4+4*i:])))
	}
	return shape, src[headerSize(rank):], nil
}

// inflation is the largest ratio of decoded to stored length with any of the compressors.
const inflation = 1 << 15

// blockSize returns the bytes of the elements of a block. Its shape is also given with
// reversed axes. A block that is longer than the chunk of n bytes is accepted if the
// stored bytes can contain it and it is within the limit.
func (c *coder) blockSize(shape, turned []int64, n int64, stored int) (int64, error) {
	elements, ok := checked.Product(shape...)
	size, fits := checked.Mul(elements, c.size)
	if !ok || !fits || size > max(n, min(c.limit, int64(stored)*inflation)) {
		return 0, fmt.Errorf("%w: n5_default: the header says that %s a block of shape %d", codec.ErrCorrupt, quantity.Count(stored, "stored bytes are"), shape)
	}
	// Without a compressor, the length follows from the shape.
	if exact, fixed := c.inner.Fixed(turned, size); fixed && exact != int64(stored) {
		return 0, fmt.Errorf("%w: n5_default: %s, a block of shape %d has %d", codec.ErrCorrupt, quantity.Count(stored, "stored bytes"), shape, exact)
	}
	return size, nil
}

// Encode implements [codec.ArrayBytes]. The block has the shape of the chunk.
func (c *coder) Encode(dst []byte, src codec.Block) ([]byte, error) {
	dst, err := appendHeader(dst, src.Shape)
	if err != nil {
		return dst, err
	}
	n := int64(len(src.Data))
	buffer := budget.Get(n)
	defer buffer.Put()
	r := rooms.Get().(*room)
	defer rooms.Put(r)
	turned := codec.Block{Shape: r.turn(src.Shape), Data: buffer.Bytes(n)}
	if err := c.turn.Encode(&turned, src); err != nil {
		return dst, err
	}
	out, err := c.inner.Encode(dst, strided.Contiguous(turned.Data, turned.Shape, int(c.size)))
	if err != nil {
		return dst, fmt.Errorf("n5_default: codecs: %w", moved(err))
	}
	return out, nil
}

// Decode implements [codec.ArrayBytes]. A block of another shape than the chunk is cut,
// or padded with the fill value.
func (c *coder) Decode(dst *codec.Block, src []byte) error {
	r := rooms.Get().(*room)
	defer rooms.Put(r)
	shape, stored, err := c.parseHeader(r.shape, src)
	if err != nil {
		return err
	}
	r.shape = shape
	turned := r.turn(shape)
	n, err := c.blockSize(shape, turned, int64(len(dst.Data)), len(stored))
	if err != nil {
		return err
	}
	buffer := budget.Get(n)
	defer buffer.Put()
	v := strided.View{Data: buffer.Bytes(n), Shape: turned, Strides: r.strides, Size: int(c.size)}
	if err := c.inner.Decode(&v, stored); err != nil {
		return fmt.Errorf("n5_default: codecs: %w", moved(err))
	}
	r.strides = v.Strides
	// Fast path: most blocks have the shape of their chunk.
	if slices.Equal(shape, dst.Shape) {
		return c.turn.Decode(dst, codec.Block{Shape: v.Shape, Data: v.Data})
	}
	c.fit(dst, v)
	return nil
}

// fit copies the elements that a decoded block and a chunk of another shape share. The
// view has reversed axes.
func (c *coder) fit(dst *codec.Block, v strided.View) {
	strided.FillBytes(dst.Data, c.spec.Fill)
	slices.Reverse(v.Shape)
	slices.Reverse(v.Strides)
	common := make([]int64, len(dst.Shape))
	for i := range common {
		common[i] = min(dst.Shape[i], v.Shape[i])
	}
	box := grid.BoxOf(common)
	strided.Copy(strided.Contiguous(dst.Data, dst.Shape, int(c.size)).Sub(box), v.Sub(box))
}
