// SPDX-License-Identifier: Apache-2.0

package stac

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
)

// dimension describes a dimension of a data cube.
type dimension struct {
	Type        string `json:"type"`
	Axis        string `json:"axis,omitempty"`
	Description string `json:"description,omitempty"`
	Extent      []any  `json:"extent"` // least and greatest
	Values      []any  `json:"values,omitempty"`
	Step        any    `json:"step,omitempty"`
	Unit        string `json:"unit,omitempty"`
}

// null is a step that is not even.
var null = (*float64)(nil)

// mostValues bounds the values that are listed of a coordinate without an even step.
const mostValues = 1000

// span is what the numbers of a coordinate extend over.
type span struct {
	array       *zarr.Array
	first       float64
	least, most float64
	step        float64 // 0 if it is not even, or if there is one number
	n           int64
}

// edges returns the span with half a step around it: numbers are the middles of pixels.
func (s *span) edges() (least, most float64) {
	half := math.Abs(s.step) / 2
	return s.least - half, s.most + half
}

// spanOf reads a coordinate. Missing elements do not count; ok is false without others.
func spanOf(ctx context.Context, c *zarr.Array) (s *span, numbers []float64, ok bool, err error) {
	b, err := cf.ReadFloats(ctx, c, nil)
	if err != nil {
		return nil, nil, false, err
	}
	s = &span{array: c, least: math.Inf(1), most: math.Inf(-1), n: int64(len(b.Data))}
	for _, v := range b.Data {
		if v < s.least {
			s.least = v
		}
		if v > s.most {
			s.most = v
		}
	}
	if s.n == 0 || math.IsInf(s.least, 0) || math.IsInf(s.most, 0) {
		return nil, nil, false, nil
	}
	s.first, s.step = b.Data[0], evenStep(b.Data)
	return s, b.Data, true, nil
}

// evenStep returns the step of numbers, or 0 if it is not even. Numbers that were rounded
// to float32 are still even.
func evenStep(numbers []float64) float64 {
	n := len(numbers)
	if n < 2 {
		return 0
	}
	step := (numbers[n-1] - numbers[0]) / float64(n-1)
	for i, v := range numbers {
		if !(math.Abs(v-(numbers[0]+float64(i)*step)) <= 1e-3*math.Abs(step)) {
			return 0
		}
	}
	return step
}

// dimensionOf describes the dimension of a coordinate.
func (d *describing) dimensionOf(ctx context.Context, c *zarr.Array) (dimension, error) {
	is := dimension{Type: "index", Description: cf.TextAttribute(c, "long_name"), Unit: cf.TextAttribute(c, "units")}
	n := c.Shape()[0]
	is.Extent = []any{0, n - 1}
	if c.Type().Kind() == dtype.KindDatetime || cf.UnitsOf(c).Units != "" {
		if times, err := cf.ReadTimes(ctx, c, nil); err == nil && !slices.ContainsFunc(times.Data, time.Time.IsZero) {
			d.describeTimes(&is, c, times.Data)
			return is, nil
		}
	}
	if err := ctx.Err(); err != nil || !cf.IsNumeric(c.Type()) {
		return is, err
	}
	s, numbers, ok, err := spanOf(ctx, c)
	if err != nil || !ok {
		return is, err
	}
	is.Extent = []any{s.least, s.most}
	switch {
	case s.step != 0:
		is.Step = s.step
	case n > 1:
		is.Step = null
		if n <= mostValues && !slices.ContainsFunc(numbers, math.IsNaN) {
			for _, v := range numbers {
				is.Values = append(is.Values, v)
			}
		}
	}
	if _, isTime := cf.UnitsOf(c).Times(); isTime { // of a calendar that ISO 8601 lacks
		is.Type = "temporal"
		return is, nil
	}
	switch axis := axisOf(c); axis {
	case "x", "y", "z":
		is.Type, is.Axis = "spatial", axis
		switch {
		case axis == "x":
			d.x = s
		case axis == "y":
			d.y = s
		}
	}
	return is, nil
}

// describeTimes describes a dimension of times.
func (d *describing) describeTimes(is *dimension, c *zarr.Array, times []time.Time) {
	first, last := slices.MinFunc(times, time.Time.Compare), slices.MaxFunc(times, time.Time.Compare)
	is.Type, is.Unit = "temporal", ""
	is.Extent = []any{timeText(first), timeText(last)}
	// Another axis of times may be that of the forecasts.
	if p := &d.item.Properties; p.Start == "" || cf.TextAttribute(c, "standard_name") == "time" || cf.TextAttribute(c, "axis") == "T" {
		p.Start, p.End = timeText(first), timeText(last)
	}
	if len(times) < 2 {
		return
	}
	step := times[1].Sub(times[0])
	for i := range times[1:] {
		if times[i+1].Sub(times[i]) != step {
			step = 0
		}
	}
	if is.Step = null; step > 0 {
		is.Step = durationText(step)
	} else if len(times) <= mostValues {
		for _, t := range times {
			is.Values = append(is.Values, timeText(t))
		}
	}
}

// describeScalar takes the time of an array without axes for that of the item, unless a
// dimension of times says more.
func (d *describing) describeScalar(ctx context.Context, a *zarr.Array) {
	if p := &d.item.Properties; p.Start == "" {
		if times, err := cf.ReadTimes(ctx, a, nil); err == nil && !times.Data[0].IsZero() {
			p.Start, p.End = timeText(times.Data[0]), timeText(times.Data[0])
		}
	}
}

// durationText writes a duration as ISO 8601 does.
func durationText(d time.Duration) string {
	const day = 24 * time.Hour
	text := "P"
	if d >= day {
		text += fmt.Sprintf("%dD", d/day)
	}
	if d %= day; d > 0 {
		text += "T" + strings.ToUpper(strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String()))
	}
	return text
}

// axisOf returns x, y or z for a coordinate in space, by its attributes (CF conventions,
// section 4) or, if it has none of these, by its name, and else "".
func axisOf(c *zarr.Array) string {
	name := c.DimensionNames()[0]
	switch cf.TextAttribute(c, "standard_name") {
	case "longitude", "projection_x_coordinate", "grid_longitude":
		return "x"
	case "latitude", "projection_y_coordinate", "grid_latitude":
		return "y"
	}
	switch {
	case isDegrees(c, "east"):
		return "x"
	case isDegrees(c, "north"):
		return "y"
	}
	if axis := strings.ToLower(cf.TextAttribute(c, "axis")); axis == "x" || axis == "y" || axis == "z" {
		return axis
	}
	switch p := cf.TextAttribute(c, "positive"); {
	case p == "up", p == "down":
		return "z"
	}
	switch strings.ToLower(name) {
	case "x", "lon", "longitude", "easting":
		return "x"
	case "y", "lat", "latitude", "northing":
		return "y"
	}
	return ""
}

// isDegrees reports whether the unit of an array is degrees to the east or to the north
// (CF conventions, 4.1 and 4.2).
func isDegrees(a *zarr.Array, side string) bool {
	unit := strings.ToLower(cf.TextAttribute(a, "units"))
	first := side[:1]
	return slices.Contains([]string{"degrees_" + side, "degree_" + side, "degrees" + first, "degree" + first, "degree_" + first, "degrees_" + first}, unit)
}

// isGeographic reports whether an array has longitudes (east) or latitudes (north).
func isGeographic(a *zarr.Array, side string) bool {
	standard := map[string]string{"east": "longitude", "north": "latitude"}[side]
	return cf.IsNumeric(a.Type()) && (isDegrees(a, side) && cf.TextAttribute(a, "standard_name") != "grid_"+standard || cf.TextAttribute(a, "standard_name") == standard)
}

// surface finds the longitudes and latitudes of the group, on one axis or on two, and
// fills in where on Earth it is.
func (d *describing) surface(ctx context.Context) error {
	for _, name := range d.names {
		a := d.arrays[name]
		for _, side := range []struct {
			name string
			to   **span
		}{{"east", &d.lon}, {"north", &d.lat}} {
			if n := elements(a); !isGeographic(a, side.name) || n == 0 || n > cf.MaxCoordinate {
				continue
			}
			s, _, ok, err := spanOf(ctx, a)
			if err != nil {
				return fmt.Errorf("%s: %w", a.Path(), err)
			}
			if a.Rank() != 1 && ok {
				s.step = 0
			}
			// Bounds and the like extend further than the coordinate.
			if before := *side.to; ok && (before == nil || s.least < before.least || s.most > before.most) {
				*side.to = s
			}
		}
	}
	west, south, east, north := 0.0, 0.0, 0.0, 0.0
	if d.lon != nil && d.lat != nil {
		west, east = d.lon.edges()
		south, north = d.lat.edges()
	} else {
		var ok [4]bool
		west, ok[0] = d.attributes.West.(float64)
		east, ok[1] = d.attributes.East.(float64)
		south, ok[2] = d.attributes.South.(float64)
		north, ok[3] = d.attributes.North.(float64)
		if ok != [4]bool{true, true, true, true} {
			return nil
		}
	}
	d.item.BBox, d.item.Geometry = footprint(west, max(-90, south), east, min(90, north))
	return nil
}

// elements returns the number of elements of an array.
func elements(a *zarr.Array) int64 {
	n := int64(1)
	for _, k := range a.Shape() {
		if n *= k; n > cf.MaxCoordinate {
			break
		}
	}
	return n
}

// geometry is one of GeoJSON.
type geometry struct {
	Type        string `json:"type"`
	Coordinates any    `json:"coordinates"`
}

// footprint returns the box and the polygon of an area. One across the 180th meridian is
// cut there (RFC 7946, 3.1.9).
func footprint(west, south, east, north float64) ([]float64, *geometry) {
	if east-west >= 360 {
		west, east = -180, 180
	}
	for west >= 180 {
		west, east = west-360, east-360
	}
	for west < -180 {
		west, east = west+360, east+360
	}
	ring := func(w, e float64) [][][2]float64 {
		return [][][2]float64{{{w, south}, {e, south}, {e, north}, {w, north}, {w, south}}}
	}
	if east > 180 {
		east -= 360
		return []float64{west, south, east, north}, &geometry{"MultiPolygon", [][][][2]float64{ring(west, 180), ring(-180, east)}}
	}
	return []float64{west, south, east, north}, &geometry{"Polygon", ring(west, east)}
}

// outer finds the code of EPSG at the end of a text of WKT, which is that of the whole.
var outer = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:AUTHORITY|ID)\["EPSG",\s*"?(\d+)"?\]\s*\]\s*$`)
})

// project fills in the reference system and the grid of a projection.
func (d *describing) project() {
	p := &d.item.Properties
	p.Code, p.WKT2 = text(d.attributes.Code), text(d.attributes.WKT2)
	for _, name := range d.names {
		a := d.arrays[name]
		wkt := cf.TextAttribute(a, "crs_wkt")
		if wkt == "" {
			wkt = cf.TextAttribute(a, "spatial_ref")
		}
		if code := outer().FindStringSubmatch(wkt); code != nil && p.Code == "" {
			p.Code = "EPSG:" + code[1]
		}
		// Older texts are of WKT 1, for which there is no field.
		kind, _, _ := strings.Cut(wkt, "[")
		if p.WKT2 == "" && slices.Contains([]string{"PROJCRS", "GEOGCRS", "GEODCRS", "BOUNDCRS", "COMPOUNDCRS", "ENGCRS"}, kind) {
			p.WKT2 = wkt
		}
	}
	if p.Code == "" && p.WKT2 == "" {
		return
	}
	d.item.Extensions = append(d.item.Extensions, projection)
	if d.x == nil || d.y == nil {
		return
	}
	p.Shape = []int64{d.y.n, d.x.n}
	left, right := d.x.edges()
	bottom, top := d.y.edges()
	p.ProjBBox = []float64{left, bottom, right, top}
	if d.x.step != 0 && d.y.step != 0 {
		p.Transform = []float64{d.x.step, 0, d.x.first - d.x.step/2, 0, d.y.step, d.y.first - d.y.step/2}
	}
}

// dataType returns the name that STAC has for a data type.
func dataType(t dtype.Type) string {
	switch name := t.Name(); name {
	case "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64":
		return name
	case "complex64":
		return "cfloat32"
	case "complex128":
		return "cfloat64"
	}
	return "other"
}
