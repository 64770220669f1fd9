// SPDX-License-Identifier: Apache-2.0

package grib

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual/scan"
)

// kind is a kind of axis along which fields differ.
type kind struct {
	name  string
	value func(e entry) level // all but levels have one number
	// describe adds attributes of an array in which the value does not vary.
	describe func(to *scan.Attributes, s *series, v level)
}

// kinds are the axes in the order that arrays have them.
var kinds = []*kind{
	{"number", func(e entry) level { return level{float64(e.member), 0} }, describeNumber},
	{"time", func(e entry) level { return level{float64(e.time), 0} }, describeTime},
	{"step", func(e entry) level { return level{float64(e.step), 0} }, describeStep},
	{"level", func(e entry) level { return e.level }, describeLevel},
}

func describeNumber(to *scan.Attributes, s *series, v level) {
	if s.key.ensemble {
		to.Set("number", int64(v.first))
	}
}

func describeTime(to *scan.Attributes, _ *series, v level) { to.Set("time", text(v.first)) }

func describeStep(to *scan.Attributes, _ *series, v level) { to.Set("step_seconds", int64(v.first)) }

func describeLevel(to *scan.Attributes, s *series, v level) {
	is := surfaceNamed(s.key.surface)
	if is.units == "" && v == (level{}) {
		return
	}
	to.Set("level", v.first)
	if is.units != "" {
		to.Set("level_units", is.units)
	}
	if s.key.second != none {
		to.Set("second_level", v.second)
	}
}

func (l level) compare(o level) int {
	return cmp.Or(cmp.Compare(l.first, o.first), cmp.Compare(l.second, o.second))
}

// values returns the different values of fields in ascending order.
func (k *kind) values(entries []entry) []level {
	list := make([]level, len(entries))
	for i, e := range entries {
		list[i] = k.value(e)
	}
	slices.SortFunc(list, level.compare)
	return slices.Clip(slices.Compact(list))
}

// index returns the index of a field along the axis.
func (k *kind) index(values []level, e entry) int64 {
	i, _ := slices.BinarySearchFunc(values, k.value(e), level.compare)
	return int64(i)
}

// axes are the coordinates of all arrays. Arrays with the same coordinates share them.
// Others of the same kind have a number at the end of their name.
type axes struct {
	names  names
	known  map[string]string // names by what they stand for
	arrays []*scan.Array
	left   int64 // bytes that coordinates of grids may still have
	// parallels has the latitudes of Gaussian grids by their numbers, which were spent.
	parallels map[int64][]float64
	spent     int64
	omitted   []scan.Omission // the coordinates that grids lack
}

// omit notes once that a coordinate is left out.
func (x *axes) omit(name string, why error) {
	o := scan.Omission{Path: name, Reason: why}
	if !slices.ContainsFunc(x.omitted, func(p scan.Omission) bool { return p.Path == name && p.Reason.Error() == why.Error() }) {
		x.omitted = append(x.omitted, o)
	}
}

// add adds a coordinate, unless there is an equal one, and returns its name.
func (x *axes) add(c *scan.Array) string {
	described, _ := c.Attributes.JSON() // numbers and texts have a form
	identity := fmt.Sprintf("%s\x00%s\x00%s", c.Path, described, c.Chunks[0].Data)
	name, ok := x.known[identity]
	if !ok {
		name = x.names.unique(c.Path)
		x.known[identity] = name
		c.Path, c.Names = name, []string{name}
		x.arrays = append(x.arrays, c)
	}
	return name
}

// points returns the place of an array along an axis with a single value, and describes
// it by attributes. There is none where the value means nothing, as at the surface.
func (k *kind) points(a *scan.Array, s *series, values []level) []scan.Point {
	before := len(a.Attributes)
	k.describe(&a.Attributes, s, values[0])
	p := scan.Point{Axis: len(a.Shape), Coordinate: k.coordinate(s, values)}
	for _, x := range a.Attributes[before:] {
		p.Attributes = append(p.Attributes, x.Name)
	}
	if p.Attributes == nil {
		return nil
	}
	return []scan.Point{p}
}

// coordinate returns the coordinate with values of a kind.
func (k *kind) coordinate(s *series, values []level) *scan.Array {
	var about scan.Attributes
	number, second := make([]float64, len(values)), make([]float64, len(values))
	for i, v := range values {
		number[i], second[i] = v.first, v.second
	}
	switch k.name {
	case "number":
		about.Set("long_name", "member of the ensemble")
	case "time":
		about.Set("standard_name", "forecast_reference_time")
		about.Set("units", "seconds since 1970-01-01")
		about.Set("calendar", "proleptic_gregorian")
	case "step":
		about.Set("standard_name", "forecast_period")
		about.Set("units", "seconds")
	case "level":
		is := surfaceNamed(s.key.surface)
		about.Set("long_name", is.name)
		if is.units != "" {
			about.Set("units", is.units)
		}
		if is.positive != "" {
			about.Set("positive", is.positive)
		}
		if s.key.second != none {
			about.Set("second_level", second)
		}
		return floats(k.name, number, about)
	}
	return integers(k.name, number, about)
}

// integers returns a coordinate of integers.
func integers(name string, values []float64, about scan.Attributes) *scan.Array {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, uint64(int64(v)))
	}
	return coordinateOf(name, b, dtype.Int64, about)
}

// floats returns a coordinate of floats.
func floats(name string, values []float64, about scan.Attributes) *scan.Array {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return coordinateOf(name, b, dtype.Float64, about)
}

// coordinateOf returns a coordinate of elements of eight bytes.
func coordinateOf(name string, data []byte, t dtype.Type, about scan.Attributes) *scan.Array {
	n := int64(len(data) / 8)
	return &scan.Array{
		Path: name, Shape: []int64{n}, Chunk: []int64{n}, Type: t, Names: []string{name}, Attributes: about,
		Codecs: []metadata.Extension{codec.Bytes(codec.Little)}, Chunks: []scan.Chunk{{Data: data}},
	}
}

// bare returns the name of an axis of a length without coordinates.
func (x *axes) bare(base string, n int64) string {
	identity := fmt.Sprintf("%s\x00%d", base, n)
	name, ok := x.known[identity]
	if !ok {
		name = x.names.unique(base)
		x.known[identity] = name
	}
	return name
}
