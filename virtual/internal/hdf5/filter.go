// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"fmt"

	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual/scan"
)

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

// withoutCodec are the names of filters that no codec of Varve undoes.
var withoutCodec = map[uint16]string{
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
		// Version 2 leaves out the names of the library's own filters, below 256.
		if version == 1 || f.id >= 256 {
			name = int(c.uint16())
		}
		c.skip(2) // flags
		values := int(c.uint16())
		f.name = trimZeros(c.take(name))
		for range min(values, c.rest()) {
			f.values = append(f.values, c.uint32())
		}
		// Version 1 pads the values, of 4 bytes each, to a multiple of 8.
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
	name := withoutCodec[f.id]
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
		// The stream is zlib's (RFC 1950), which the codec "gzip" does not read. Only
		// writers need the level.
		return as("numcodecs.zlib", `{"level":%d}`, min(9, f.value(0, 6)))
	case filterShuffle:
		// Bytes behind the last whole element stay in place, in HDF5 as in numcodecs.
		return as("numcodecs.shuffle", `{"elementsize":%d}`, f.value(0, uint32(size)))
	case filterFletcher:
		// The last 4 bytes of a chunk. numcodecs computes the variant of HDF5.
		return as("numcodecs.fletcher32", `{}`)
	case filterBZ2:
		// The value is the size of blocks in units of 100 kB, from 1 to 9.
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
	// The values are the revision of the filter, the version of Blosc, the bytes of an
	// element and of a chunk, the level, the shuffle and the compressor.
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
	// HDF5 lists filters as Zarr lists codecs: in the order of writing.
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
