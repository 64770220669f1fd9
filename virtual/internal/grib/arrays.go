// SPDX-License-Identifier: Apache-2.0

package grib

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/codecs/grib2"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual/scan"
)

// arrays returns the arrays of all series, and then those of their coordinates.
func (c *collection) arrays() (list []*scan.Array) {
	for _, s := range c.series {
		a := &scan.Array{Path: c.names.unique(s.name()), Attributes: s.attributes(), Refused: s.refused}
		if s.refused == nil {
			c.fill(a, s)
		}
		list = append(list, a)
	}
	return append(list, c.axes.arrays...)
}

// name returns a name for the array of a series.
func (s *series) name() string {
	k := s.key
	if !k.known {
		return fmt.Sprintf("%s_template_%d", s.what.short, k.template)
	}
	name := s.what.short
	if k.surface != none {
		name += "_" + surfaceNamed(k.surface).name
	}
	if k.second != none && k.second != k.surface {
		name += "_to_" + surfaceNamed(k.second).name
	}
	if k.statistic != none {
		name += "_" + statisticNamed(k.statistic)
	}
	return name
}

// attributes returns what all fields of a series have in common.
func (s *series) attributes() (list scan.Attributes) {
	k := s.key
	list.Set("short_name", s.what.short)
	if s.what.long != "" {
		list.Set("long_name", s.what.long)
		list.Set("units", s.what.units)
	}
	list.Set("discipline", k.discipline)
	list.Set("parameter_category", k.category)
	list.Set("parameter_number", k.parameter)
	list.Set("centre", s.centre)
	if k.centre != 0 { // the numbers of the parameter mean something else elsewhere
		list.Set("parameter_centre", k.centre)
	}
	list.Set("product_template", uint16(k.template))
	describeOrigins(&list, s.origins)
	if k.variant != "" {
		list.Set("product_octets", []byte(k.variant))
	}
	if k.surface != none {
		list.Set("type_of_level", surfaceNamed(k.surface).name)
	}
	if k.statistic != none {
		list.Set("statistic", statisticNamed(k.statistic))
	}
	if seconds, one := s.interval(); one && seconds != 0 {
		list.Set("interval_seconds", seconds)
	}
	if s.refused == nil {
		list.Set("grid_template", uint16(s.grid.Template))
		list.Set("scanning_mode", s.grid.Scanning)
		list.Set("grid_octets", k.gridOctets())
	}
	return list
}

// interval returns the interval of a statistic, if all fields have the same.
func (s *series) interval() (seconds int64, one bool) {
	for i, e := range s.entries {
		if i > 0 && e.interval != seconds {
			return 0, false
		}
		seconds = e.interval
	}
	return seconds, true
}

// gridOctets returns the definition of the grid (section 3 from octet 6 on), or a hash of
// one that lists points of each row.
func (k key) gridOctets() any {
	const most = 128
	if octets := []byte(k.grid)[5:]; len(octets) <= most {
		return octets
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(k.grid)[5:]))
}

// fill sets the shape, the codec and the chunks of an array. It refuses one that is too
// large.
func (c *collection) fill(a *scan.Array, s *series) {
	number := make([]int64, len(s.entries))
	for _, k := range kinds {
		values := k.values(s.entries)
		if len(values) == 1 {
			a.Points = append(a.Points, k.points(a, s, values)...)
			continue
		}
		n := int64(len(values))
		a.Shape, a.Chunk = append(a.Shape, n), append(a.Chunk, 1)
		a.Names = append(a.Names, c.axes.add(k.coordinate(s, values)))
		for i, e := range s.entries {
			number[i] = number[i]*n + k.index(values, e)
		}
	}
	c.axes.addGrid(a, s)
	if n, ok := checked.Product(a.Shape...); !ok || n > math.MaxInt64/8 {
		*a = scan.Array{Path: a.Path, Attributes: a.Attributes, Refused: scan.Unsupportedf("grib: an array of the shape %d", a.Shape)}
		return
	}
	a.Type = dtype.Float64
	a.Fill = binary.NativeEndian.AppendUint64(nil, math.Float64bits(math.NaN()))
	a.Codecs = []metadata.Extension{grib2.Extension(s.key.field)}
	for i, e := range s.entries {
		a.Chunks = append(a.Chunks, scan.Chunk{Number: number[i], Offset: e.at, Length: e.size})
	}
}

// text returns a time in seconds since 1970 as text.
func text(seconds float64) string {
	return time.Unix(int64(seconds), 0).UTC().Format(time.RFC3339)
}
