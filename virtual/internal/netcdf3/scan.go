// SPDX-License-Identifier: Apache-2.0

// Package netcdf3 finds the values of variables in NetCDF-3 files: the classic format
// (CDF-1), that with 64-bit offsets (CDF-2) and that with 64-bit data (CDF-5).
//
// A variable without the record dimension is one chunk. Other variables have a chunk for
// every record. Records that the header counts and the file does not have, because it was
// only partly written, are missing chunks: they read as the fill value of the variable,
// which is its attribute _FillValue or the default of the netCDF library. A file that
// ends within a chunk is damaged, and so is one that ends before a variable without
// records.
//
// Structures are those of "NetCDF Classic Format Specification" in the NetCDF User's
// Guide, and of "CDF-5 File Format Specification" of PnetCDF.
package netcdf3

import (
	"fmt"
	"strings"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual/scan"
)

// formats are the names of formats by the byte after "CDF".
var formats = map[byte]string{1: "NetCDF-3 classic", 2: "NetCDF-3 64-bit offset", 5: "NetCDF-3 64-bit data"}

// Matches reports whether a file begins as a NetCDF-3 file does.
func Matches(f *scan.File) bool {
	_, ok := version(f)
	return ok
}

// version returns the byte after "CDF" (magic = 'C' 'D' 'F' VERSION).
func version(f *scan.File) (v byte, ok bool) {
	head, err := f.Bytes(0, 4)
	if err != nil || string(head[:3]) != "CDF" {
		return 0, false
	}
	return head[3], formats[head[3]] != ""
}

// Scan finds the variables of a NetCDF-3 file.
func Scan(f *scan.File) (*scan.Dataset, error) {
	d, err := scanFile(f)
	if err != nil {
		return nil, fmt.Errorf("netcdf3: %w", err)
	}
	return d, nil
}

func scanFile(f *scan.File) (*scan.Dataset, error) {
	v, ok := version(f)
	if !ok {
		return nil, scan.Corruptf("it does not begin with CDF and 1, 2 or 5")
	}
	h, err := readHeader(&cursor{file: f, at: 4, version: v})
	if err != nil {
		return nil, err
	}
	if err := h.arrange(f.Size()); err != nil {
		return nil, err
	}
	d := &scan.Dataset{Format: formats[v], Groups: []scan.Group{{Attributes: attributes(h.attributes)}}}
	room := int64(mostChunks)
	for _, v := range h.variables {
		a := h.array(v, f.Size(), room)
		d.Arrays = append(d.Arrays, a)
		// All variables with records share the bound: each has as many chunks as records.
		room -= int64(len(a.Chunks))
	}
	return d, nil
}

// mostChunks bounds the records of all variables. It is 480 years of hours.
const mostChunks = 1 << 22

// array returns a variable as an array with at most room chunks.
func (h *header) array(v *variable, fileSize, room int64) *scan.Array {
	a := &scan.Array{Path: v.name, Type: v.element.typ, Fill: v.fill(), Attributes: attributes(v.attributes)}
	// Everything in the file is big-endian, headers and values.
	a.Codecs = []metadata.Extension{scan.Plain(a.Type, true)}
	if a.Refused = check(v); a.Refused != nil {
		return a
	}
	h.shape(a, v)
	if _, ok := checked.Product(append(a.Shape, int64(a.Type.Size()))...); !ok {
		a.Refused = scan.Corruptf("variable %q: more than 2^63 bytes", v.name)
		return a
	}
	if err := h.locate(a, v, fileSize, room); err != nil {
		a.Chunks, a.Refused = nil, fmt.Errorf("variable %q: %w", v.name, err)
	}
	return a
}

// check returns why a variable cannot be an array.
func check(v *variable) error {
	// The netCDF library permits 1024 dimensions (NC_MAX_VAR_DIMS).
	if len(v.dimensions) > grid.MaxRank {
		return scan.Unsupportedf("variable %q: %s, at most %d are possible", v.name, quantity.Count(len(v.dimensions), "dimensions"), grid.MaxRank)
	}
	// No path has such a name. Whoever uses the data set decides about others.
	if nodename.CheckPath(v.name) != nil || strings.Contains(v.name, "/") {
		return scan.Unsupportedf("variable %q: the name is not one of an array", v.name)
	}
	return nil
}

// shape sets the shape, chunks and dimensions of an array.
func (h *header) shape(a *scan.Array, v *variable) {
	a.Shape, a.Chunk = []int64{}, []int64{}
	for i, number := range v.dimensions {
		d := h.dimensions[number]
		n, chunk := d.length, d.length
		// A record has one index of the first dimension, and lies in one piece.
		if i == 0 && v.perRecord {
			n, chunk = h.records, 1
		}
		a.Shape, a.Chunk = append(a.Shape, n), append(a.Chunk, chunk)
		a.Names = append(a.Names, strings.ToValidUTF8(d.name, "\ufffd"))
	}
}

// locate finds the chunks of an array, at most room. They lie within the file.
func (h *header) locate(a *scan.Array, v *variable, fileSize, room int64) error {
	n, stride := int64(1), v.size
	if v.perRecord {
		n, stride = h.records, h.stride
	}
	// Only a variable without values may begin anywhere.
	if n > 0 && v.begin < h.end {
		return scan.Corruptf("values at %d, in a header of %s", v.begin, quantity.Count(h.end, "bytes"))
	}
	// Records that a crashed writer has counted and not written are missing chunks.
	have := int64(0)
	if end, ok := checked.Add(v.begin, v.size); ok {
		have = min(n, recordsWithin(fileSize, end, stride))
	}
	if next := v.begin + have*stride; have < n && (next < fileSize || !v.perRecord) {
		return scan.Corruptf("%s at %d, in a file of %d", quantity.Count(v.size, "bytes"), next, fileSize)
	}
	if have > room {
		return scan.Unsupportedf("%s; a file may have %d for all variables", quantity.Count(have, "records"), mostChunks)
	}
	a.Chunks = make([]scan.Chunk, have)
	for i := range a.Chunks {
		a.Chunks[i] = scan.Chunk{Number: int64(i), Offset: v.begin + int64(i)*stride, Length: v.size}
	}
	return nil
}
