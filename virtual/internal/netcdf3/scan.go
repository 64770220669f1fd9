// SPDX-License-Identifier: Apache-2.0

package netcdf3

import (
	"fmt"

	"varve.dev/zarr/virtual/scan"
)

// formats are the names of formats by the byte after "CDF".
var formats = map[byte]string{1: "NetCDF-3 classic", 2: "NetCDF-3 64-bit offset", 5: "NetCDF-3 64-bit data"}

// Is reports whether a file begins as a NetCDF-3 file does.
func Is(f *scan.File) bool {
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
		room -= int64(len(a.Chunks))
	}
	return d, nil
}
