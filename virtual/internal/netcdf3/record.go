// SPDX-License-Identifier: Apache-2.0

package netcdf3

import (
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/virtual/scan"
)

// arrange finds the distance of records, and their number if the header does not say it.
//
// The values of a variable in a record are padded to a multiple of four bytes, unless it
// is the only one with records ("Note on padding").
func (h *header) arrange(fileSize int64) error {
	end, n := int64(0), 0
	for _, v := range h.variables {
		if !v.perRecord {
			continue
		}
		n++
		last, ok := checked.Add(v.begin, v.size)
		padded, fits := checked.Add(v.size, -v.size&3)
		if !ok || !fits {
			return scan.Corruptf("variable %q: %d bytes at %d", v.name, v.size, v.begin)
		}
		if h.stride, ok = checked.Add(h.stride, padded); !ok {
			return scan.Corruptf("variable %q: the records are larger than 2^63 bytes", v.name)
		}
		end = max(end, last)
	}
	if n == 1 {
		h.stride = h.only().size
	}
	// A streamed file has the records of which it has all values. The padding of the last
	// one may be missing.
	if h.streaming && n > 0 {
		h.records = recordsWithin(fileSize, end, h.stride)
	}
	return nil
}

// only returns the variable with records.
func (h *header) only() *variable {
	for _, v := range h.variables {
		if v.perRecord {
			return v
		}
	}
	return nil
}

// recordsWithin returns the number of records in a file, if the first one ends at end.
func recordsWithin(fileSize, end, stride int64) int64 {
	if end > fileSize {
		return 0
	}
	return (fileSize-end)/stride + 1
}
