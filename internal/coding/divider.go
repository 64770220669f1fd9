// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
)

// Divider is the power of a [codec.ArrayBytes] codec whose chunks consist of inner
// chunks, as shards do. Each inner chunk is coded by itself, so reading or writing a part
// costs only the inner chunks that it touches.
type Divider interface {
	PartialDecoder
	PartialEncoder
	// Inner returns how a chunk is cut into inner chunks, an entry an axis.
	Inner() []grid.Cut
	// CheckAxis reports an error if chunks of the axis cannot be cut in that way. It is
	// called after Bind.
	CheckAxis(i int, a grid.Axis) error
	// Checked reports whether a checksum keeps a chunk of one shape from being decoded as
	// one of another shape.
	Checked() bool
	// Check looks for faults in a chunk; see [Chain.Check]. Faults are part of the
	// result, not errors.
	Check(ctx context.Context, w *Work, shape []int64, src Source, deep bool) (*codec.Check, error)
	// Merge makes one chunk of several; see [Chain.Merge].
	Merge(ctx context.Context, w *Work, shape []int64, fragments []Fragment) (*Revision, error)
	// CheckInner reports an error if src does not decode to the inner chunk at index.
	CheckInner(ctx context.Context, w *Work, shape, index []int64, src []byte) error
	// Weight estimates how many bytes decoding a part takes besides the caller's memory,
	// if it is to be fast: the stored bytes, and the inner chunks that so many cores
	// decode at once.
	Weight(p Extract, cores int) int64
	// Fetched estimates the stored bytes of a part from the chunks read so far. It says
	// nothing about chunks to be written, which may be longer.
	Fetched(p Extract) int64
	// EncodedInner appends the stored form of one inner chunk to dst; see
	// [Chain.EncodedInner].
	EncodedInner(ctx context.Context, w *Work, shape, index []int64, src Source, dst []byte) ([]byte, error)
}

func (c *Chain) divider() Divider { return c.serial.(Divider) }

// inStored returns p as a part of the encoded array, without its memory.
func (c *Chain) inStored(p Extract) Extract {
	if !c.inOrder {
		p.Shape, p.Part = c.permuted(p.Shape), c.permutedPart(p.Part, p.Shape)
	}
	return p
}

// Weight estimates how many bytes decoding a part of a chunk takes besides the caller's
// memory. The chain has to be [codec.Chain.Divided].
func (c *Chain) Weight(p Extract, cores int) int64 { return c.divider().Weight(c.inStored(p), cores) }

// Fetched estimates how many stored bytes reading a part of a chunk takes. The chain has
// to be [codec.Chain.Divided].
func (c *Chain) Fetched(p Extract) int64 { return c.divider().Fetched(c.inStored(p)) }

// EncodedInner appends the stored form of the inner chunk at index to dst, without
// looking into it. The index counts within a chunk of the given shape. The result is nil
// if the chunk does not store this inner chunk, which means the fill value. The chain has
// to be [codec.Chain.Divided].
//
// It fails with [fs.ErrNotExist] if the chunk is not stored, with [grid.ErrOutOfRange] if
// there is no such inner chunk, and with [codec.ErrCorrupt] if the chunk is damaged.
func (c *Chain) EncodedInner(ctx context.Context, w *Work, shape, index []int64, src Source, dst []byte) ([]byte, error) {
	if len(index) != len(c.order) {
		return nil, fmt.Errorf("%w: index %v of an inner chunk, want a number for each of %d axes", grid.ErrOutOfRange, index, len(c.order))
	}
	if !c.inOrder {
		shape, index = c.permuted(shape), c.permuted(index)
	}
	out, err := c.divider().EncodedInner(ctx, w, shape, index, src, dst)
	return out, c.failSerial(err)
}

// CheckInner reports an error if src does not decode to the inner chunk at index. The
// caller holds a core. The chain has to be [codec.Chain.Divided].
func (c *Chain) CheckInner(ctx context.Context, w *Work, shape, index []int64, src []byte) error {
	if !c.inOrder {
		shape, index = c.permuted(shape), c.permuted(index)
	}
	return c.failSerial(c.divider().CheckInner(ctx, w, shape, index, src))
}
