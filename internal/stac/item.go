// SPDX-License-Identifier: Apache-2.0

// Package stac describes a group as an item of STAC 1.1.0, with the extensions datacube
// 2.3.0 and, for grids of a projection, projection 2.0.0.
package stac

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/cf"
)

// The schemas of the extensions, by which items name them.
const (
	datacube   = "https://stac-extensions.github.io/datacube/v2.3.0/schema.json"
	projection = "https://stac-extensions.github.io/projection/v2.0.0/schema.json"
)

// Item is an item of STAC, a feature of GeoJSON.
type Item struct {
	Type       string           `json:"type"`
	Version    string           `json:"stac_version"`
	Extensions []string         `json:"stac_extensions"`
	ID         string           `json:"id"`
	Geometry   *geometry        `json:"geometry"` // null if no coordinate says where
	BBox       []float64        `json:"bbox,omitempty"`
	Properties properties       `json:"properties"`
	Links      []struct{}       `json:"links"`
	Assets     map[string]asset `json:"assets"`
}

type properties struct {
	Title       string               `json:"title,omitempty"`
	Description string               `json:"description,omitempty"`
	License     string               `json:"license,omitempty"`
	Time        *string              `json:"datetime"` // null if there is a range
	Start       string               `json:"start_datetime,omitempty"`
	End         string               `json:"end_datetime,omitempty"`
	Dimensions  map[string]dimension `json:"cube:dimensions"`
	Variables   map[string]variable  `json:"cube:variables,omitempty"`

	Code      string    `json:"proj:code,omitempty"`
	WKT2      string    `json:"proj:wkt2,omitempty"`
	ProjBBox  []float64 `json:"proj:bbox,omitempty"`
	Shape     []int64   `json:"proj:shape,omitempty"`
	Transform []float64 `json:"proj:transform,omitempty"`
}

type asset struct {
	Href  string   `json:"href"`
	Type  string   `json:"type"`
	Title string   `json:"title,omitempty"`
	Roles []string `json:"roles"`
}

// variable describes an array.
type variable struct {
	Dimensions  []string `json:"dimensions"`
	Type        string   `json:"type"` // data or auxiliary
	Description string   `json:"description,omitempty"`
	Unit        string   `json:"unit,omitempty"`
	NoData      any      `json:"nodata,omitempty"`
	DataType    string   `json:"data_type"`
}

// Options are what a group does not say of itself.
type Options struct {
	ID   string // of the item; for catalogs unique among their items
	Href string // where the group is
	// Time is that of a group without a coordinate of times, and zero if it is not known.
	Time time.Time
}

// ErrNoTime means that an item lacks a time, which STAC demands.
var ErrNoTime = fmt.Errorf("%w: an item of STAC has a time, and the group has neither a coordinate of times nor the attributes time_coverage_start and time_coverage_end", zarr.ErrInvalidArgument)

// Of describes a group and the arrays in it, without those of groups below. It reads
// their coordinates. If there is no array, the error wraps [zarr.ErrInvalidArgument]; if
// nothing says of what time they are, it is [ErrNoTime].
func Of(ctx context.Context, g *zarr.Group, opt Options) (*Item, error) {
	d := &describing{
		item: &Item{
			Type: "Feature", Version: "1.1.0", Extensions: []string{datacube}, ID: opt.ID, Links: []struct{}{},
			Properties: properties{Dimensions: map[string]dimension{}, Variables: map[string]variable{}},
			Assets: map[string]asset{"data": {
				Href: opt.Href, Type: fmt.Sprintf("application/vnd.zarr; version=%d", g.Metadata().Format()), Roles: []string{"data"},
			}},
		},
		arrays: map[string]*zarr.Array{}, helpers: map[string]bool{}, named: map[string]bool{},
	}
	for m, err := range g.Members(ctx, false) {
		if err == nil {
			err = m.Err
		}
		if err != nil {
			return nil, err
		}
		if a, isArray := m.Node.(*zarr.Array); isArray {
			d.arrays[m.Name()] = a
		}
	}
	if len(d.arrays) == 0 {
		return nil, fmt.Errorf("%w: the group has no array: an item of STAC describes arrays; name a group that has some", zarr.ErrInvalidArgument)
	}
	if err := g.DecodeAttributes(&d.attributes); err != nil {
		return nil, err
	}
	if err := d.describe(ctx); err != nil {
		return nil, err
	}
	return d.item, d.date(opt.Time)
}

// attributes are those of a group that say something of its item: of the conventions ACDD
// and of GeoZarr.
type attributes struct {
	Title   any `json:"title"`
	Summary any `json:"summary"`
	Comment any `json:"comment"`
	License any `json:"license"`
	Start   any `json:"time_coverage_start"`
	End     any `json:"time_coverage_end"`
	West    any `json:"geospatial_lon_min"`
	East    any `json:"geospatial_lon_max"`
	South   any `json:"geospatial_lat_min"`
	North   any `json:"geospatial_lat_max"`
	Code    any `json:"proj:code"`
	WKT2    any `json:"proj:wkt2"`
}

// describing is one call of Of.
type describing struct {
	item       *Item
	attributes attributes
	arrays     map[string]*zarr.Array
	names      []string        // of the arrays, in order
	helpers    map[string]bool // arrays that describe others
	named      map[string]bool // dimensions that were looked at
	x, y       *span           // of the horizontal axes
	lon, lat   *span
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// describe fills in all but the time.
func (d *describing) describe(ctx context.Context) error {
	p := &d.item.Properties
	p.Title, p.License = text(d.attributes.Title), text(d.attributes.License)
	p.Description = cmp.Or(text(d.attributes.Summary), text(d.attributes.Comment))
	d.names = slices.Sorted(maps.Keys(d.arrays))
	for _, name := range d.names {
		for _, helper := range helpersOf(d.arrays[name]) {
			d.helpers[helper] = true
		}
	}
	for _, name := range d.names {
		a := d.arrays[name]
		v := variable{
			Dimensions: []string{}, Type: "data", Description: cf.TextAttribute(a, "long_name"), Unit: cf.TextAttribute(a, "units"),
			DataType: dataType(a.Type()),
		}
		var err error
		if v.NoData, err = noData(ctx, a); err != nil {
			return err
		}
		for i, n := range a.Shape() {
			dimension := fmt.Sprintf("%s_dim_%d", name, i) // as xarray names it
			if given := a.DimensionNames(); given != nil && given[i] != "" {
				dimension = given[i]
			}
			v.Dimensions = append(v.Dimensions, dimension)
			if err := d.addDimension(ctx, dimension, n); err != nil {
				return err
			}
		}
		if d.helpers[name] {
			v.Type = "auxiliary"
		}
		if a.Rank() == 0 {
			d.describeScalar(ctx, a)
		}
		// The name of a dimension is not that of a variable too.
		if !cf.IsCoordinate(a) {
			p.Variables[name] = v
		}
	}
	if err := d.surface(ctx); err != nil {
		return err
	}
	d.project()
	return nil
}

// addDimension describes a dimension by its coordinate, if there is one.
func (d *describing) addDimension(ctx context.Context, name string, n int64) error {
	if d.named[name] {
		return nil
	}
	d.named[name] = true
	is := dimension{Type: "index", Extent: []any{0, max(0, n-1)}}
	if c := d.arrays[name]; c != nil && cf.IsCoordinate(c) && c.Shape()[0] == n && n > 0 && n <= cf.MaxCoordinate {
		var err error
		if is, err = d.dimensionOf(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.Path(), err)
		}
	}
	d.item.Properties.Dimensions[name] = is
	return nil
}

// helpersOf returns the names of arrays that the attributes of an array name: auxiliary
// coordinates, bounds and grid mappings (CF conventions, 5 and 7).
func helpersOf(a *zarr.Array) []string {
	var all []string
	for _, attribute := range []string{"coordinates", "bounds", "climatology", "grid_mapping", "cell_measures", "ancillary_variables"} {
		all = append(all, strings.FieldsFunc(cf.TextAttribute(a, attribute), func(r rune) bool { return r == ' ' || r == ':' })...)
	}
	return all
}

// noData returns the missing value of an array as common metadata of STAC have it.
func noData(ctx context.Context, a *zarr.Array) (any, error) {
	p, err := cf.PackingOf(ctx, a)
	if err != nil || !cf.IsNumeric(a.Type()) {
		return nil, ctx.Err() // not a number, or a malformed attribute: not of interest here
	}
	all := p.Missing()
	if len(all) == 0 {
		return nil, nil
	}
	switch f := p.Stored(all[0]); {
	case math.IsNaN(f):
		return "nan", nil
	case math.IsInf(f, 0):
		return strings.ToLower(strings.TrimPrefix(fmt.Sprint(f), "+")), nil
	}
	return json.RawMessage(p.Type().AppendJSON(nil, all[0])), nil
}

// date fills in the time, which the coordinate of times has given already if there is
// one.
func (d *describing) date(given time.Time) error {
	p := &d.item.Properties
	if p.Start == "" {
		start, err1 := ParseTime(text(d.attributes.Start))
		end, err2 := ParseTime(text(d.attributes.End))
		if errors.Join(err1, err2) == nil {
			p.Start, p.End = timeText(start), timeText(end)
		}
	}
	switch {
	case p.Start != "" && p.Start == p.End:
		at := p.Start
		p.Time, p.Start, p.End = &at, "", ""
	case p.Start != "": // and the time is null
	case given.IsZero():
		return ErrNoTime
	default:
		at := timeText(given)
		p.Time = &at
	}
	return nil
}

// ParseTime parses a time of ISO 8601, also a date alone. A time without a zone is one of
// UTC.
func ParseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time", text)
}

func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
