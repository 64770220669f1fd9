// SPDX-License-Identifier: Apache-2.0

// Package grib finds the fields of GRIB2 files: a message is a chunk, which the codec of
// package grib2 decodes.
//
// Numbers of sections, octets, templates and code tables in comments are those of the WMO
// Manual on Codes, volume I.2, FM 92 GRIB edition 2.
package grib

import (
	"varve.dev/zarr/virtual/scan"
)

// Is reports whether a file has a GRIB message of edition 1 or 2, perhaps after the
// heading of a bulletin.
func Is(f *scan.File) bool {
	b, err := f.Bytes(0, min(f.Size(), mostBetween))
	return err == nil && find(b) >= 0
}

// Scan returns an array for every parameter on every type of level, such as "t_isobaric".
// It has the axes number (of a member of an ensemble), time (to which forecasts refer),
// step and level, as far as they vary, and then those of the grid. Values that do not
// vary are attributes.
//
// Arrays also differ in their grid, and in what their values are statistics of. If a
// message has the parameter, time, step and level of an earlier one, it belongs to
// another array, with a number at the end of its name.
//
// Only headers are read. Messages of edition 1 are one array, which is refused.
func Scan(f *scan.File) (*scan.Dataset, error) {
	if !Is(f) {
		return nil, scan.Corruptf("grib: there is no GRIB message in the first %d bytes", mostBetween)
	}
	c := newCollection(f.Size())
	w := walker{file: f, visit: c.add}
	if err := w.walk(); err != nil {
		return nil, err
	}
	// A file with nothing but edition 1 is of no use.
	if w.old > 0 && len(c.series) == 0 {
		return nil, w.refusal()
	}
	d := &scan.Dataset{Format: "GRIB2", Groups: []scan.Group{{}}, Arrays: c.arrays()}
	d.Omitted = append(w.skipped, c.axes.omitted...)
	if w.old > 0 {
		d.Arrays = append(d.Arrays, &scan.Array{Path: c.names.unique("grib1"), Refused: w.refusal()})
	}
	return d, nil
}
