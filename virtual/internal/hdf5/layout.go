// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"varve.dev/zarr/virtual/scan"
)

// The layouts of arrays.
const (
	layoutCompact = iota
	layoutContiguous
	layoutChunked
	layoutVirtual
)

// The indexes of chunks. Those from 1 on have the numbers of version 4 of layouts.
const (
	indexTree1 = iota
	indexSingle
	indexImplicit
	indexFixed
	indexExtensible
	indexTree2
)

// layout says where the elements of an array are (specification, IV.A.2.i).
type layout struct {
	class   byte
	address int64 // of the elements, or of the index of chunks
	size    int64 // bytes of contiguous elements, if the file has it, or undefined
	data    []byte
	chunk   []int64 // the shape of a chunk in elements
	element int64   // bytes of an element
	index   byte
	// wholeOnly is set if chunks that cross the edge of the array skip all filters.
	wholeOnly bool
	// A single chunk may have its size and mask here.
	filtered   bool
	singleSize int64
	singleMask uint32
}

func parseLayout(c *cursor) (l layout, err error) {
	version, err := c.version(1, 2, 3, 4, 5)
	if err != nil {
		return l, err
	}
	l.size = undefined
	if version < 3 {
		l.parseOld(c)
	} else {
		l.class = c.byte()
		switch l.class {
		case layoutCompact:
			l.data = c.take(int(c.uint16()))
		case layoutContiguous:
			l.address, l.size = c.address(), c.length()
		case layoutChunked:
			if version == 3 {
				n := int(c.byte())
				l.address = c.address()
				l.parseChunk(c, n, 4)
			} else {
				l.parseIndexed(c)
			}
		}
	}
	if err := c.err(); err != nil {
		return l, err
	}
	return l, l.check()
}

// parseOld reads a layout of version 1 or 2.
func (l *layout) parseOld(c *cursor) {
	n := int(c.byte())
	l.class = c.byte()
	c.skip(5)
	if l.class != layoutCompact {
		l.address = c.address()
	}
	switch l.class {
	case layoutChunked:
		l.parseChunk(c, n, 4)
	case layoutCompact:
		c.skip(4 * n)
		l.data = c.take(int(c.uint32()))
	}
}

// parseChunk reads n sizes, of which the last is that of an element.
func (l *layout) parseChunk(c *cursor, n, width int) {
	for range min(n, c.rest()) {
		l.chunk = append(l.chunk, int64(c.uint(width))) // negative if too large
	}
	if n == 0 {
		c.short = true
		return
	}
	if len(l.chunk) == n {
		l.element, l.chunk = l.chunk[n-1], l.chunk[:n-1]
	}
}

// parseIndexed reads the chunks of a layout of version 4 or 5.
func (l *layout) parseIndexed(c *cursor) {
	flags := c.byte()
	l.wholeOnly, l.filtered = flags&1 != 0, flags&2 != 0
	n, width := int(c.byte()), int(c.byte())
	if width < 1 || width > 8 {
		c.short = true
		return
	}
	l.parseChunk(c, n, width)
	l.index = c.byte()
	// The headers of the indexes have these parameters again.
	switch l.index {
	case indexSingle:
		if l.filtered {
			l.singleSize, l.singleMask = c.length(), c.uint32()
		}
	case indexFixed:
		c.skip(1)
	case indexExtensible:
		c.skip(5)
	case indexTree2:
		c.skip(6)
	}
	l.address = c.address()
}

// check checks the shape of chunks.
func (l *layout) check() error {
	if l.class != layoutChunked {
		return nil
	}
	if len(l.chunk) > mostAxes || l.element <= 0 {
		return scan.Corruptf("chunks of %d axes, with elements of %d bytes", len(l.chunk), l.element)
	}
	for _, n := range l.chunk {
		if n <= 0 {
			return scan.Corruptf("chunks of the shape %v", l.chunk)
		}
	}
	return nil
}
