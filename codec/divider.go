// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strided"
)

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
	d, ok := c.serial.(divider)
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
	case divider:
		return s.Checked()
	case Uncounted:
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
	n, ok := blockBytes(shape, c.spec.Width())
	if !ok || c.varies {
		return 0, false
	}
	s := newScratch()
	defer s.free()
	serial := c.serialShape(s, shape)
	return c.serial.EncodedSize(serial, c.serialBytes(serial, n))
}

// CheckGrid returns an error that wraps [ErrConfiguration] if the codecs cannot encode
// chunks of the grid.
func (c *Chain) CheckGrid(g *grid.Grid) error {
	d, ok := c.serial.(divider)
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
// decoded. Errors wrap [ErrCorrupt].
func (c *Chain) Alias(v *strided.View, src []byte) (bool, error) {
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
