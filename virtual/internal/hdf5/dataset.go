// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"fmt"
	"math"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
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
		return scan.Corruptf("chunks of %s, with elements of %s", quantity.Count(len(l.chunk), "axes"), quantity.Count(l.element, "bytes"))
	}
	for _, n := range l.chunk {
		if n <= 0 {
			return scan.Corruptf("chunks of the shape %v", l.chunk)
		}
	}
	return nil
}

// filter is a filter of a pipeline.
type filter struct {
	id     uint16
	name   string // as the file has it, often ""
	values []uint32
}

// The filters that have a codec, by the numbers that The HDF Group gives out.
const (
	filterDeflate  = 1
	filterShuffle  = 2
	filterFletcher = 3
	filterBZ2      = 307
	filterBlosc    = 32001
	filterZstd     = 32015
)

// known are the names of filters without a codec.
var known = map[uint16]string{
	4: "szip", 5: "nbit", 6: "scaleoffset", 305: "lzo", 32000: "lzf", 32004: "lz4", 32008: "bitshuffle",
	32013: "zfp", 32016: "fpzip", 32017: "sz", 32022: "granular bitround", 32024: "sz3", 32026: "blosc2",
}

// parseFilters reads a pipeline (specification, IV.A.2.l). The filters are in the order
// of encoding.
func parseFilters(c *cursor) (list []filter, err error) {
	version, err := c.version(1, 2)
	if err != nil {
		return nil, err
	}
	n := int(c.byte())
	if version == 1 {
		c.skip(6)
	}
	for range n {
		f := filter{id: c.uint16()}
		name := 0
		if version == 1 || f.id >= 256 {
			name = int(c.uint16())
		}
		c.skip(2) // flags
		values := int(c.uint16())
		f.name = trimZeros(c.take(name))
		for range min(values, c.rest()) {
			f.values = append(f.values, c.uint32())
		}
		if version == 1 && values%2 != 0 {
			c.skip(4)
		}
		if err := c.err(); err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// trimZeros returns the text before the first zero.
func trimZeros(b []byte) string {
	for i, x := range b {
		if x == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// String returns the name and the number of a filter.
func (f filter) String() string {
	name := known[f.id]
	if name == "" {
		name = fmt.Sprintf("%q", f.name)
	}
	return fmt.Sprintf("%s (%d)", name, f.id)
}

// value returns a value, or one for a filter that has too few.
func (f filter) value(i int, missing uint32) uint32 {
	if i < len(f.values) {
		return f.values[i]
	}
	return missing
}

// codec returns the codec that does what the filter does. The size is that of an element.
func (f filter) codec(size int64) (metadata.Extension, error) {
	as := func(name, format string, args ...any) (metadata.Extension, error) {
		return metadata.Extension{Name: name, Configuration: fmt.Appendf(nil, format, args...)}, nil
	}
	switch f.id {
	case filterDeflate:
		return as("numcodecs.zlib", `{"level":%d}`, min(9, f.value(0, 6)))
	case filterShuffle:
		return as("numcodecs.shuffle", `{"elementsize":%d}`, f.value(0, uint32(size)))
	case filterFletcher:
		return as("numcodecs.fletcher32", `{}`)
	case filterBZ2:
		return as("numcodecs.bz2", `{"level":%d}`, min(9, max(1, f.value(0, 9))))
	case filterZstd:
		level := max(-1<<17, min(22, int32(f.value(0, 3))))
		return as("zstd", `{"level":%d,"checksum":false}`, level)
	case filterBlosc:
		return f.blosc(size)
	}
	return metadata.Extension{}, scan.Unsupportedf("there is no codec for its filter %s", f)
}

// blosc returns the codec of Blosc. Reading needs none of the values.
func (f filter) blosc(size int64) (metadata.Extension, error) {
	compressors := [...]string{"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"}
	shuffles := [...]string{"noshuffle", "shuffle", "bitshuffle"}
	element := max(1, min(f.value(2, uint32(min(size, 255))), 255))
	level := min(9, f.value(4, 5))
	shuffle, compressor := f.value(5, 1), f.value(6, 0)
	if int(shuffle) >= len(shuffles) || int(compressor) >= len(compressors) {
		return metadata.Extension{}, scan.Unsupportedf("the filter %s has the values %v", f, f.values)
	}
	return metadata.Extension{Name: "blosc", Configuration: fmt.Appendf(nil,
		`{"typesize":%d,"cname":%q,"clevel":%d,"shuffle":%q,"blocksize":0}`,
		element, compressors[compressor], level, shuffles[shuffle])}, nil
}

// codecs returns the codecs of an array, in the order of encoding.
func (d *described) codecs(filters []filter) ([]metadata.Extension, error) {
	first, err := d.typ.bytesCodec()
	if err != nil {
		return nil, err
	}
	list := []metadata.Extension{first}
	for _, f := range filters {
		c, err := f.codec(d.element)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// bytesCodec returns the codec that makes bytes of an array.
func (d *datatype) bytesCodec() (metadata.Extension, error) {
	switch d.order() {
	case littleOrder:
		return metadata.Extension{Name: "bytes", Configuration: []byte(`{"endian":"little"}`)}, nil
	case bigOrder:
		return metadata.Extension{Name: "bytes", Configuration: []byte(`{"endian":"big"}`)}, nil
	case bothOrders:
		return metadata.Extension{}, scan.Unsupportedf("its fields have different byte orders")
	}
	return metadata.Extension{Name: "bytes"}, nil
}
