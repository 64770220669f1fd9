// SPDX-License-Identifier: Apache-2.0

package grib

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/codecs/grib2"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual/scan"
)

// minGrid are the bytes that coordinates of grids may have in a file of any size. Beyond
// them, they may have as many as the file. A short message may claim a grid of any size.
const minGrid = 64 << 10

// The grid definition templates with coordinates (code table 3.1).
const (
	latitudeLongitude = 0
	gaussian          = 40
)

// addGrid adds the axes of the grid to an array. One without known axes has a row of
// points.
func (x *axes) addGrid(a *scan.Array, s *series) {
	g := s.grid
	// Such as the unstructured grids of ICON (template 3.101): a list of points.
	if g.Nx == 0 {
		a.Shape, a.Chunk = append(a.Shape, g.Points), append(a.Chunk, g.Points)
		a.Names = append(a.Names, x.bare("point", g.Points))
		return
	}
	ny, nx := x.gridNames(s)
	// Points that follow each other run along y (flag table 3.4).
	if g.Scanning&grib2.ScansColumns != 0 {
		a.Shape, a.Names = append(a.Shape, g.Nx, g.Ny), append(a.Names, nx, ny)
		a.Chunk = append(a.Chunk, g.Nx, g.Ny)
		return
	}
	a.Shape, a.Names = append(a.Shape, g.Ny, g.Nx), append(a.Names, ny, nx)
	a.Chunk = append(a.Chunk, g.Ny, g.Nx)
}

// gridNames returns the names of the axes of a grid. Those of regular grids have
// coordinates.
func (x *axes) gridNames(s *series) (ny, nx string) {
	g := s.grid
	// Projected and rotated grids have no latitudes of rows. Their definition is in the
	// attribute grid_octets.
	if g.Template != latitudeLongitude && g.Template != gaussian {
		return x.bare("y", g.Ny), x.bare("x", g.Nx)
	}
	if 8*(g.Nx+g.Ny) > x.left {
		x.omit("latitude and longitude", scan.Unsupportedf("grib: the coordinates of a grid of %d x %s, in so small a file", g.Ny, quantity.Count(g.Nx, "points")))
		return x.bare("latitude", g.Ny), x.bare("longitude", g.Nx)
	}
	before := len(x.arrays)
	lat, lon := corners([]byte(s.key.grid), g.Scanning)
	nx = x.add(floats("longitude", spaced(lon, g.Nx), coordinate("longitude", "degrees_east")))
	rows, err := spaced(lat, g.Ny), error(nil)
	if g.Template == gaussian {
		rows, err = x.gaussianRows(s, lat)
	}
	if err != nil {
		x.omit("latitude", err)
		ny = x.bare("latitude", g.Ny)
	} else {
		ny = x.add(floats("latitude", rows, coordinate("latitude", "degrees_north")))
	}
	for _, a := range x.arrays[before:] {
		x.left -= 8 * a.Shape[0]
	}
	return ny, nx
}

func coordinate(name, units string) (list scan.Attributes) {
	list.Set("standard_name", name)
	list.Set("units", units)
	return list
}

// corners returns the coordinates of the first and the last point (template 3.0, octets
// 39 to 63). Longitudes continue beyond 360 where a grid crosses the meridian.
func corners(s []byte, scanning byte) (lat, lon [2]float64) {
	unit := 1e6 // parts of a degree
	const missing = 1<<32 - 1
	// Octets 39 to 46: the basic angle and its subdivisions. Zero and missing stand for
	// the usual unit, 10^-6 degrees.
	angle, parts := binary.BigEndian.Uint32(s[38:]), binary.BigEndian.Uint32(s[42:])
	if angle != 0 && angle != missing && parts != 0 && parts != missing {
		unit = float64(parts) / float64(angle)
	}
	at := func(octet int) float64 { return float64(signed(binary.BigEndian.Uint32(s[octet-1:]), 31)) / unit }
	lat, lon = [2]float64{at(47), at(56)}, [2]float64{at(51), at(60)}
	// A global grid may go from 0 to 359.75, one of Europe from 350 to 40. The numbers
	// have to rise or fall evenly.
	west := scanning&grib2.ScansWest != 0
	switch {
	case !west && lon[1] < lon[0]:
		lon[1] += 360
	case west && lon[1] > lon[0]:
		lon[1] -= 360
	}
	return lat, lon
}

// spaced returns n equally spaced numbers.
func spaced(ends [2]float64, n int64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = ends[0]
		// Each is computed from both ends: sums of rounded steps would miss the last one.
		if i > 0 {
			list[i] = (ends[0]*float64(n-1-int64(i)) + ends[1]*float64(i)) / float64(n-1)
		}
	}
	return list
}

// mostParallels bounds the parallels between a pole and the equator in all Gaussian grids
// of a file together: the time for a grid grows with their square.
const mostParallels = 1 << 12

// gaussianRows returns the latitudes of the rows of a Gaussian grid (template 3.40),
// which may be a part of the globe. ends are the latitudes of the first and the last row,
// which may be rounded.
func (x *axes) gaussianRows(s *series, ends [2]float64) ([]float64, error) {
	// Octets 68 to 71. A grid such as F640 has 640 parallels on each side.
	n := int64(binary.BigEndian.Uint32([]byte(s.key.grid)[67:]))
	all, known := x.parallels[n]
	if !known {
		if x.spent += n; n == 0 || x.spent > mostParallels {
			return nil, scan.Unsupportedf("grib: the latitudes of Gaussian grids with %s between a pole and the equator", quantity.Count(n, "parallels"))
		}
		all = gaussianLatitudes(n)
		x.parallels[n] = all
	}
	// Ends are in millionths of a degree. Those of messages that were converted from
	// edition 1 are in thousandths.
	const rounded = 1e-3
	at := func(latitude float64) int64 {
		return int64(slices.IndexFunc(all, func(l float64) bool { return math.Abs(l-latitude) <= rounded }))
	}
	first, last, step := at(ends[0]), at(ends[1]), int64(1)
	if last < first {
		step = -1
	}
	if first < 0 || last < 0 || (last-first)*step != s.grid.Ny-1 {
		return nil, scan.Unsupportedf("grib: a Gaussian grid of %s from %v to %v degrees, which are not those between %s", quantity.Count(s.grid.Ny, "rows"), ends[0], ends[1], quantity.Count(2*n, "parallels"))
	}
	rows := make([]float64, s.grid.Ny)
	for i := range rows {
		rows[i] = all[first+int64(i)*step]
	}
	return rows, nil
}

// gaussianLatitudes returns the latitudes of a Gaussian grid with n parallels between a
// pole and the equator, from north to south. Their sines are the roots of the Legendre
// polynomial of degree 2n, which Newton's method finds. Conversions of products keep
// processors from rounding them together with sums: all get the same latitudes.
func gaussianLatitudes(n int64) []float64 {
	list, degree := make([]float64, 2*n), float64(2*n)
	for i := range n {
		// The usual first guess. Newton's method needs a few steps from there.
		sine := math.Cos(math.Pi * (float64(i) + 0.75) / (degree + 0.5))
		for i, step := 0, 1.0; i < 8 && math.Abs(step) > 1e-15; i++ {
			p, before := 1.0, 0.0 // the polynomials of two degrees that follow each other
			for k := 1.0; k <= degree; k++ {
				p, before = (float64((2*k-1)*sine*p)-float64((k-1)*before))/k, p
			}
			step = p * (1 - float64(sine*sine)) / (degree * (before - float64(sine*p)))
			sine -= step
		}
		list[i] = math.Asin(sine) * 180 / math.Pi
		list[2*n-1-i] = -list[i]
	}
	return list
}

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
	// A surface such as the tropopause has no number.
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
	sort.Slice(list, func(i, j int) bool { return list[i].compare(list[j]) < 0 })
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
		Codecs: []metadata.Extension{codec.Bytes("little")}, Chunks: []scan.Chunk{{Data: data}},
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

// origin is how a field came about: codes of tables in sections 4 and 1, in the order of
// origins.
type origin [4]byte

// origins are the attributes that say how fields came about, and the names of their
// codes (code tables 4.3, 1.2, 1.3 and 1.4). The first codes of three of them are
// analyses and forecasts, which are one series: the first step of a forecast may be an
// analysis, and one member of an ensemble the control forecast. Fields of other codes,
// such as errors of an analysis, are something else.
var origins = [len(origin{})]struct {
	attribute string
	series    []byte
	names     map[byte]string
}{
	{"generating_process", []byte{0, 1, 2, 4}, map[byte]string{
		0: "analysis", 1: "initialization", 2: "forecast", 3: "bias corrected forecast", 4: "ensemble forecast", 5: "probability forecast",
		6: "forecast error", 7: "analysis error", 8: "observation", 9: "climatological", 10: "probability-weighted forecast",
		11: "bias-corrected ensemble forecast", 12: "post-processed analysis", 13: "post-processed forecast", 14: "nowcast", 15: "hindcast",
	}},
	{"significance_of_reference_time", []byte{0, 1}, map[byte]string{
		0: "analysis", 1: "start of forecast", 2: "verifying time of forecast", 3: "observation time", 4: "local time",
	}},
	{"production_status", nil, map[byte]string{
		0: "operational", 1: "operational test", 2: "research", 3: "re-analysis", 4: "TIGGE", 5: "TIGGE test",
	}},
	{"type_of_data", []byte{0, 1, 2, 3, 4, 5}, map[byte]string{
		0: "analysis", 1: "forecast", 2: "analysis and forecast", 3: "control forecast", 4: "perturbed forecast", 5: "control and perturbed forecast",
		6: "processed satellite observations", 7: "processed radar observations", 8: "event probability",
	}},
}

// origin returns how a field came about. process is the octet of section 4.
func (m *message) origin(process byte) origin {
	return origin{process, m.identity[11], m.identity[19], m.identity[20]}
}

// kind returns what of the origin tells arrays apart: all analyses and forecasts,
// and codes that say nothing, are of one kind.
func (o origin) kind() origin {
	for i := range o {
		if slices.Contains(origins[i].series, o[i]) {
			o[i] = none
		}
	}
	return o
}

// describeOrigins adds attributes that say how fields came about. Several codes are in
// one text, in ascending order.
func describeOrigins(to *scan.Attributes, fields []origin) {
	for i, x := range origins {
		var codes []byte
		for _, o := range fields {
			if o[i] != none && !slices.Contains(codes, o[i]) {
				codes = append(codes, o[i])
			}
		}
		slices.Sort(codes)
		var texts []string
		for _, code := range codes {
			text, ok := x.names[code]
			if !ok {
				text = fmt.Sprintf("code %d", code)
			}
			texts = append(texts, text)
		}
		if texts != nil {
			to.Set(x.attribute, strings.Join(texts, ", "))
		}
	}
}
