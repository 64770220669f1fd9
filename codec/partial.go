package codec

import (
	"context"

	"varve.dev/zarr/grid"
)

// Source is one version of a stored chunk, to be read piece by piece.
type Source interface {
	// Size returns the bytes of the stored chunk.
	Size() int64
	// Read appends n bytes from offset off on to dst and returns the extended slice.
	Read(ctx context.Context, off, n int64, dst []byte) ([]byte, error)
}

// PartialDecoder is the power of an [ArrayBytes] codec to decode a part of a chunk without reading all of it.
type PartialDecoder interface {
	// DecodePart fills dst, which has the shape of the part, with that part of a chunk of the given shape.
	// A part has at least one element and lies within the chunk. Errors are those of Decode and of the source.
	DecodePart(ctx context.Context, dst grid.View, shape []int64, part grid.Part, src Source) error
}

// Partial reports whether parts of chunks can be decoded: the codecs only reorder axes before one that is
// a [PartialDecoder], and none follows it.
func (c *Chain) Partial() bool {
	_, ok := c.serial.(PartialDecoder)
	return ok && c.order != nil && len(c.bytes) == 0
}

// DecodePart fills dst, which has the shape of the part, with that part of a chunk of the given encoded shape.
// It is for chains that are [Chain.Partial].
func (c *Chain) DecodePart(ctx context.Context, dst grid.View, shape []int64, part grid.Part, src Source) error {
	if !c.inOrder {
		shape = c.permuted(shape)
		part = grid.Part{Start: c.permuted(part.Start), Step: c.permuted(part.Step), Count: c.permuted(part.Count)}
		dst.Shape, dst.Strides = part.Count, c.permuted(dst.Strides)
	}
	return c.failSerial(c.serial.(PartialDecoder).DecodePart(ctx, dst, shape, part, src))
}
