// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"

	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/strided"
)

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
