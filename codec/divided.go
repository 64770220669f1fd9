package codec

import (
	"context"
	"fmt"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/strided"
)

// Divider is the power of an [ArrayBytes] codec whose chunks consist of chunks that are
// coded each by itself, so that parts of them are read and written at the price of these.
type Divider interface {
	PartialDecoder
	PartialEncoder
	// Inner returns how a chunk is cut, an entry an axis.
	Inner() []grid.Cut
	// CheckAxis refuses an axis whose chunks cannot be cut in that way. It is called
	// after Bind.
	CheckAxis(i int, a grid.Axis) error
	// Checked reports whether a chunk of one shape is never taken for one of another,
	// because a checksum tells.
	Checked() bool
	// Check looks for faults in a chunk; see [Chain.Check]. What is wrong with it is no
	// error.
	Check(ctx context.Context, w *Work, shape []int64, src Source, deep bool) (*Check, error)
	// Merge makes one chunk of several; see [Chain.Merge].
	Merge(ctx context.Context, w *Work, shape []int64, parts []MergePart) (*Edited, error)
	// CheckInner refuses bytes that do not decode to the inner chunk at index of a chunk.
	CheckInner(ctx context.Context, w *Work, shape, index []int64, src []byte) error
	// Weight returns the bytes that decoding a part of a chunk probably takes besides the
	// caller's memory, if it is to be fast: for what is stored, and for inner chunks that
	// so many cores decode.
	Weight(p Part, cores int) int64
	// Fetched is Weight of what is stored alone, as long as the chunks that were read so
	// far let expect. It says nothing of what is to be written, which may be longer.
	Fetched(p Part) int64
	// EncodedInner appends one inner chunk of a chunk of that shape to dst, as it is
	// encoded; see [Chain.EncodedInner].
	EncodedInner(ctx context.Context, w *Work, shape, index []int64, src Source, dst []byte) ([]byte, error)
}

// Divided reports whether chunks consist of inner chunks that can be read and written by
// themselves.
func (c *Chain) Divided() bool {
	_, ok := c.serial.(Divider)
	return ok && c.order != nil && len(c.bytes) == 0
}

// Inner returns how chunks are cut into inner chunks, an entry an axis of the decoded
// array, and nil where they are not, or where other codecs around hide it.
func (c *Chain) Inner() []grid.Cut {
	if !c.Divided() {
		return nil
	}
	return c.Cuts()
}

// Cuts returns how chunks are cut, as Inner does, also where codecs behind hide the inner
// chunks. It is nil where chunks are not cut, or where other codecs before them leave no
// axes to speak of.
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

// TellsShapes reports whether a stored chunk of one shape does not decode as one of
// another, whatever the shapes are. For two that are known [Chain.Tells] may say more.
func (c *Chain) TellsShapes() bool {
	switch s := c.serial.(type) {
	case Divider:
		return s.Checked()
	case Uncounted:
		return !s.Uncounted()
	}
	return true
}

// Tells reports whether a stored chunk of the shape was does not decode as one of the
// shape is.
func (c *Chain) Tells(was, is []int64) bool {
	if c.TellsShapes() {
		return true
	}
	before, fixed := c.sizeOfShape(was)
	after, alsoFixed := c.sizeOfShape(is)
	return fixed && alsoFixed && before != after
}

// sizeOfShape returns how many bytes the array-to-bytes codec makes of a chunk, and
// whether these are always as many.
func (c *Chain) sizeOfShape(shape []int64) (size int64, fixed bool) {
	n, ok := blockBytes(shape, c.spec.Width())
	if !ok || c.varies {
		return 0, false
	}
	s := newScratch()
	defer s.free()
	serial := c.serialShape(s, shape)
	return c.serial.EncodedSize(serial, c.serialBytes(serial, n))
}

// CheckGrid refuses a grid whose chunks the codecs cannot code. Errors wrap
// [ErrConfiguration].
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

// Weight returns the bytes that decoding a part of a chunk takes besides the caller's
// memory. It is for chains that are [Chain.Divided].
func (c *Chain) Weight(p Part, cores int) int64 {
	if !c.inOrder {
		p.Shape, p.Part = c.permuted(p.Shape), c.permutedPart(p.Part, p.Shape)
	}
	return c.serial.(Divider).Weight(p, cores)
}

// Fetched returns the bytes that reading a part of a chunk takes for what is stored of
// it. It is for chains that are [Chain.Divided].
func (c *Chain) Fetched(p Part) int64 {
	if !c.inOrder {
		p.Shape, p.Part = c.permuted(p.Shape), c.permutedPart(p.Part, p.Shape)
	}
	return c.serial.(Divider).Fetched(p)
}

// EncodedInner appends the stored form of the inner chunk at index, counted within a
// chunk of that shape, to dst. It returns nil where the chunk does not store it, which is
// the fill value. It is for chains that are [Chain.Divided].
//
// A chunk that is not stored is [fs.ErrNotExist], an index without an inner chunk
// [grid.ErrOutOfRange]; others wrap [ErrCorrupt]. The bytes are not looked into.
func (c *Chain) EncodedInner(ctx context.Context, w *Work, shape, index []int64, src Source, dst []byte) ([]byte, error) {
	if len(index) != len(c.order) {
		return nil, fmt.Errorf("%w: index %v of an inner chunk, want a number for each of %d axes", grid.ErrOutOfRange, index, len(c.order))
	}
	if !c.inOrder {
		shape, index = c.permuted(shape), c.permuted(index)
	}
	out, err := c.serial.(Divider).EncodedInner(ctx, w, shape, index, src, dst)
	return out, c.failSerial(err)
}

// Show points v, whose Shape and Size the caller sets, to the elements of a chunk within
// its stored bytes, where they stand there as they are. It is false where they have to be
// decoded. Errors wrap [ErrCorrupt].
func (c *Chain) Show(v *strided.View, src []byte) (bool, error) {
	if !c.shows {
		return false, nil
	}
	for i := len(c.bytes) - 1; i >= 0; i-- {
		out, err := c.bytes[i].(Trimmer).Trim(src)
		if err != nil {
			return false, c.failBytes(i, err)
		}
		src = out
	}
	v.Data, v.Offset = src, 0
	c.setStrides(v)
	return true, c.checkSerial(src, v.Shape, bytesOf(*v))
}

// CheckInner refuses bytes that are no stored form of an inner chunk: they have to decode
// to its shape. The caller holds a core. It is for chains that are [Chain.Divided].
func (c *Chain) CheckInner(ctx context.Context, w *Work, shape, index []int64, src []byte) error {
	if !c.inOrder {
		shape, index = c.permuted(shape), c.permuted(index)
	}
	return c.failSerial(c.serial.(Divider).CheckInner(ctx, w, shape, index, src))
}
