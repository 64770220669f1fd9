// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

// Divider is implemented by a [codec.ArrayBytes] codec whose chunks consist of inner
// chunks, such as shards. Inner chunks are coded separately, so reading or writing a part
// costs only the inner chunks that it touches.
type Divider interface {
	PartialDecoder
	PartialEncoder
	// Inner returns the cuts of a chunk into inner chunks, one for each axis.
	Inner() []grid.Cut
	// CheckAxis returns an error if these cuts do not fit the chunks of the axis. It is
	// called after Bind.
	CheckAxis(i int, a grid.Axis) error
	// Checked reports whether a checksum ensures that a chunk of one shape does not
	// decode in another shape.
	Checked() bool
	// Check looks for faults in a chunk; see [Chain.Check]. Faults are part of the
	// result, not errors.
	Check(ctx context.Context, w *Work, shape []int64, src Source, deep bool) (*codec.Check, error)
	// InnerCodecs returns the codecs of inner chunks as they are in the document.
	InnerCodecs() []metadata.Extension
	// Places reads where the inner chunks of a stored chunk are; see [Chain.Places].
	Places(ctx context.Context, w *Work, shape []int64, src Source) (*Places, error)
	// Arrange sets the fields of a, for which place returns the rank and the bytes of
	// inner chunk k; see [Chain.Arrange].
	Arrange(shape []int64, a *Arrangement, place func(k int64) (rank uint64, n int64)) error
	// CheckInner returns an error if src does not decode to the inner chunk at index.
	CheckInner(ctx context.Context, w *Work, shape, index []int64, src []byte) error
	// Weight estimates the bytes that fast decoding of a part takes besides the caller's
	// memory: the stored bytes, and the inner chunks that the cores decode at once.
	Weight(p Extract, cores int) int64
	// Fetched estimates the stored bytes of a part from the chunks that were read so far.
	// Chunks that are written may be longer.
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

// Weight estimates the bytes that decoding a part of a chunk takes besides the caller's
// memory. The chain must be [Chain.Divided].
func (c *Chain) Weight(p Extract, cores int) int64 { return c.divider().Weight(c.inStored(p), cores) }

// Fetched estimates the stored bytes that reading a part of a chunk takes. The chain must
// be [Chain.Divided].
func (c *Chain) Fetched(p Extract) int64 { return c.divider().Fetched(c.inStored(p)) }

// EncodedInner appends the stored form of the inner chunk at index to dst, without
// decoding it. The index is relative to the chunk, which has the given shape. The result
// is nil if the chunk does not store this inner chunk; its elements are then the fill
// value. The chain must be [Chain.Divided].
//
// It fails with [fs.ErrNotExist] if the chunk is not stored, with [grid.ErrOutOfRange] if
// there is no such inner chunk, and with [codec.ErrCorrupt] if the chunk is damaged.
func (c *Chain) EncodedInner(ctx context.Context, w *Work, shape, index []int64, src Source, dst []byte) ([]byte, error) {
	if len(index) != len(c.order) {
		return nil, fmt.Errorf("%w: index %v of an inner chunk needs one number for each of %s", grid.ErrOutOfRange, index, quantity.Count(len(c.order), "axes"))
	}
	if !c.inOrder {
		shape, index = c.permuted(shape), c.permuted(index)
	}
	out, err := c.divider().EncodedInner(ctx, w, shape, index, src, dst)
	return out, c.failSerial(err)
}

// CheckInner returns an error if src does not decode to the inner chunk at index. The
// caller holds a core. The chain must be [Chain.Divided].
func (c *Chain) CheckInner(ctx context.Context, w *Work, shape, index []int64, src []byte) error {
	if !c.inOrder {
		shape, index = c.permuted(shape), c.permuted(index)
	}
	return c.failSerial(c.divider().CheckInner(ctx, w, shape, index, src))
}

// Divided reports whether chunks consist of inner chunks that can be read and written one
// by one.
func (c *Chain) Divided() bool { return c.divides && c.order != nil && len(c.bytes) == 0 }

// Inner returns the cuts of chunks into inner chunks, one for each axis of the decoded
// array. It returns nil if chunks have no inner chunks, or if other codecs of the chain
// hide them.
func (c *Chain) Inner() []grid.Cut {
	if !c.Divided() {
		return nil
	}
	return c.Cuts()
}

// Cuts is [Chain.Inner], but also returns cuts that later codecs hide. It returns nil if
// chunks have no inner chunks, or if earlier codecs do more than reorder axes.
func (c *Chain) Cuts() []grid.Cut {
	d, ok := c.serial.(Divider)
	if !ok || c.order == nil {
		return nil
	}
	inner := d.Inner()
	cuts := make([]grid.Cut, len(inner))
	for i, axis := range c.order {
		cuts[axis] = inner[i]
	}
	return cuts
}

// DistinguishesShapes reports whether a stored chunk never decodes as a chunk of another
// shape. If it is false, [Chain.Distinguishes] may still hold for two given shapes.
func (c *Chain) DistinguishesShapes() bool {
	switch s := c.serial.(type) {
	case Divider:
		return s.Checked()
	case codec.Uncounted:
		return !s.Uncounted()
	}
	return true
}

// Distinguishes reports whether a stored chunk of shape was never decodes as one of shape
// is.
func (c *Chain) Distinguishes(was, is []int64) bool {
	if c.DistinguishesShapes() {
		return true
	}
	// Different fixed lengths distinguish the shapes.
	before, fixed := c.sizeOfShape(was)
	after, alsoFixed := c.sizeOfShape(is)
	return fixed && alsoFixed && before != after
}

// sizeOfShape returns the largest size in bytes to which the array-to-bytes codec encodes
// a chunk, and whether the size is always the same.
func (c *Chain) sizeOfShape(shape []int64) (size int64, fixed bool) {
	n, ok := blockBytes(shape, Width(c.spec))
	if !ok || c.varies {
		return 0, false
	}
	s := newScratch()
	defer s.free()
	serial := c.serialShape(s, shape)
	return c.serial.EncodedSize(serial, c.serialBytes(serial, n))
}

// CheckGrid returns an error that wraps [codec.ErrConfiguration] if the codecs cannot
// encode chunks of the grid.
func (c *Chain) CheckGrid(g *grid.Grid) error {
	d, ok := c.serial.(Divider)
	if !ok || c.order == nil {
		return nil
	}
	for i, axis := range c.order {
		if err := d.CheckAxis(i, g.Axis(axis)); err != nil {
			return c.failSerial(&grid.AxisError{Axis: axis, Err: err})
		}
	}
	return nil
}

// Alias points v to the elements of a chunk within its stored bytes src, without
// decoding. The caller sets Shape and Size. It returns false if the chunk must be
// decoded. Errors wrap [codec.ErrCorrupt].
func (c *Chain) Alias(v *strided.View, src []byte) (ok bool, err error) {
	defer parallel.Recover(&err)
	if !c.shows {
		return false, nil
	}
	for i := len(c.bytes) - 1; i >= 0; i-- {
		out, err := c.bytes[i].(codec.Trimmer).Trim(src)
		if err != nil {
			return false, c.failBytes(i, err)
		}
		src = out
	}
	v.Data, v.Offset = src, 0
	c.setStrides(v)
	return true, c.checkSerial(src, v.Shape, bytesOf(*v))
}
