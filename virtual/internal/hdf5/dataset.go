// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"fmt"
	"math"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/virtual/scan"
)

// dataspace is the extent of an array or an attribute (specification, IV.A.2.b).
type dataspace struct {
	null  bool // there are no elements, not even a scalar
	shape []int64
	// most are the extents that the array may grow to, or undefined for no limit.
	most []int64
}

// mostAxes is the greatest rank that HDF5 permits.
const mostAxes = 32

func parseDataspace(c *cursor) (s dataspace, err error) {
	version, err := c.version(1, 2)
	if err != nil {
		return s, fmt.Errorf("dataspace: %w", err)
	}
	rank, flags := int(c.byte()), c.byte()
	if version == 1 {
		c.skip(5)
	} else {
		const null = 2
		s.null = c.byte() == null
	}
	if rank > mostAxes {
		return s, scan.Corruptf("dataspace: %s", quantity.Count(rank, "dimensions"))
	}
	s.shape = make([]int64, rank)
	for i := range s.shape {
		s.shape[i] = c.length()
	}
	// Without bit 0 there are no greatest extents, and the array cannot grow.
	s.most = s.shape
	if flags&1 != 0 {
		s.most = make([]int64, rank)
		for i := range s.most {
			s.most[i] = c.length()
		}
	}
	if c.short {
		return s, scan.Corruptf("dataspace: %s too few", quantity.Count(len(c.data), "bytes are"))
	}
	return s, s.check()
}

// check checks the extents.
func (s *dataspace) check() error {
	for i, n := range s.shape {
		if n < 0 || s.most[i] != undefined && s.most[i] < n {
			return scan.Corruptf("dataspace: an extent of %d, and at most %d", n, s.most[i])
		}
	}
	return nil
}

// bytes returns the bytes of all elements of a size.
func (s *dataspace) bytes(size int64) (int64, error) {
	if s.null {
		return 0, nil
	}
	n, ok := checked.Product(append([]int64{size}, s.shape...)...)
	if !ok {
		return 0, scan.Corruptf("a shape of %v, with elements of %s", s.shape, quantity.Count(size, "bytes"))
	}
	return n, nil
}

// fill is what elements are that were not written.
type fill struct {
	value []byte // as the file has it, or nil for the default
	// unwritten says that new chunks are not filled with the value, so that they may have
	// anything.
	unwritten bool
}

// fill reads the fill value of an array (specification, IV.A.2.e and f).
func (r *reader) fill(o *object) (f fill, err error) {
	parse := parseFill
	m := o.find(kindFill)
	// The library writes the old message beside the new one, for older readers. Old
	// files have only the old one.
	if m == nil {
		parse = func(c *cursor) (f fill, err error) { f.value, err = parseFillValue(c); return f, err }
		m = o.find(kindOldFill)
	}
	if m == nil {
		return f, nil
	}
	b, err := r.body(m)
	if err != nil {
		return f, err
	}
	return parse(r.over(b))
}

func parseFill(c *cursor) (f fill, err error) {
	version, err := c.version(1, 2, 3)
	if err != nil {
		return f, err
	}
	const never = 1 // when the value is written
	defined := false
	if version == 3 {
		// Bits 0 and 1 say when space is allocated, 2 and 3 when the value is written.
		// Bit 4 stands for an undefined value, bit 5 for a defined one.
		flags := c.byte()
		f.unwritten, defined = flags>>2&3 == never, flags&(1<<5) != 0
	} else {
		c.skip(1) // when it is allocated
		f.unwritten, defined = c.byte() == never, c.byte() != 0
	}
	if defined {
		f.value, err = parseFillValue(c)
		return f, err
	}
	return f, c.err()
}

// parseFillValue reads the number of bytes and the bytes.
func parseFillValue(c *cursor) ([]byte, error) {
	n := c.uint32()
	if n == 0 || n == math.MaxUint32 {
		return nil, c.err() // the default, or none
	}
	if int64(n) > int64(c.rest()) {
		return nil, scan.Corruptf("a fill value of %s", quantity.Count(n, "bytes"))
	}
	return c.take(int(n)), c.err()
}

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
		// The extents again, which the dataspace has.
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
	// The sizes of chunks have as many bytes as the largest one needs.
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
		return scan.Corruptf("chunks of %s, with elements of %s", quantity.Count(len(l.chunk), "axes"), quantity.Count(l.element, "bytes"))
	}
	for _, n := range l.chunk {
		if n <= 0 {
			return scan.Corruptf("chunks of the shape %v", l.chunk)
		}
	}
	return nil
}
