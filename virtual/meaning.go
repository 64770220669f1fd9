// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"

	"varve.dev/zarr/calendar"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/strictjson"
)

// An attribute of the first file is a statement about the whole array. So an attribute
// that changes what elements mean agrees in all files, or becomes a coordinate
// ([Point]). Any other one that differs is left out, with a note.

// meaning are the attributes that must agree, by the formats that have them.
var meaning = set(
	// CF and NetCDF.
	"_FillValue", "missing_value", "scale_factor", "add_offset", "_Unsigned", "units", "calendar", "month_lengths", "leap_year", "leap_month",
	"positive", "grid_mapping", "formula_terms", "compress", "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks", "flag_meanings", "dtype",
	// FITS, beside those of coordinate systems.
	"BUNIT", "BSCALE", "BZERO", "BLANK",
	// TIFF, GeoTIFF and GDAL.
	"PhotometricInterpretation", "ExtraSamples", "ColorMap", "ModelPixelScale", "ModelTiepoint", "ModelTransformation",
	"GeoKeyDirectory", "GeoDoubleParams", "GeoAsciiParams", "GDAL_NODATA",
	// GRIB. Those of a [Point] become a coordinate.
	"discipline", "parameter_category", "parameter_number", "parameter_centre", "product_template", "product_octets", "type_of_level", "statistic",
	"grid_template", "grid_octets", "scanning_mode", "number", "time", "step_seconds", "level", "level_units", "second_level",
)

// naming are attributes that name what an array is. A file may lack them.
var naming = set("standard_name", "cell_methods", "axis")

// referring are attributes that name other arrays, which are compared themselves.
var referring = set("coordinates", "bounds", "climatology", "ancillary_variables", "cell_measures")

// describing are attributes of a grid mapping that do not define it.
var describing = set("long_name", "comment", "history")

// absent are the values that attributes have if they are not set.
var absent = map[string]string{"scale_factor": "1", "add_offset": "0", "BSCALE": "1", "BZERO": "0", "_Unsigned": `"false"`}

func set(names ...string) map[string]bool {
	s := map[string]bool{}
	for _, name := range names {
		s[name] = true
	}
	return s
}

// worldKeywords are the keywords of world coordinates in FITS (section 8), a letter at
// their end for further systems, and those of SIP distortions.
var worldKeywords = regexp.MustCompile(`^(WCSAXES|WCSNAME|C(TYPE|RPIX|RVAL|DELT|UNIT|ROTA)\d+|(PC|CD|PV|PS)\d+_\d+|` +
	`(LON|LAT)POLE|RADE(SYS|CSYS)|EQUINOX|SPECSYS|SSYSOBS|RESTFRQ|RESTFREQ|RESTWAV|VELREF|TIMESYS|TIMEUNIT|[AB]P?_(ORDER|\d+_\d+))[A-Z]?$`)

// mustAgree reports whether an attribute changes what elements mean.
func mustAgree(name string) bool {
	return meaning[name] || worldKeywords.MatchString(name) || strings.HasPrefix(name, "proj:") || strings.HasPrefix(name, "spatial:") // GeoZarr
}

// statements are the attributes of a node.
type statements map[string]strictjson.Value

func statementsOf(raw []byte) (statements, error) {
	s := statements{}
	if len(raw) == 0 {
		return s, nil
	}
	v, err := strictjson.Parse(raw, strictjson.Limits{Size: int64(len(raw))})
	if err != nil {
		return nil, err
	}
	for name, value := range v.Members() {
		s[name] = value
	}
	return s, nil
}

// isGridMapping reports whether the attributes of an array define a projection, as all
// that it has.
func (s statements) isGridMapping() bool {
	return !s["grid_mapping_name"].IsZero() || !s["crs_wkt"].IsZero() || !s["spatial_ref"].IsZero()
}

// compare returns the names of the attributes that differ from those of another file:
// what must agree, and what does not hold for both.
func (s statements) compare(o statements) (faults, others []string) {
	whole := s.isGridMapping() || o.isGridMapping()
	names := maps.Clone(s)
	maps.Copy(names, o)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, is := s[name], o[name]
		switch {
		case s.alike(o, name) || referring[name]:
		case mustAgree(name), whole && !describing[name], naming[name] && !was.IsZero() && !is.IsZero(), name == gdalMetadata && !sameRoles(was, is):
			faults = append(faults, name)
		case !was.IsZero(): // the whole array does not get what only a later file has
			others = append(others, name)
		}
	}
	return faults, others
}

// alike reports whether an attribute means the same in two files.
func (s statements) alike(o statements, name string) bool {
	switch name {
	case "calendar":
		return s.calendar() == o.calendar()
	case "units":
		return s.units().Alike(o.units()) || sameJSON(s[name], o[name])
	}
	was, is := s[name], o[name]
	if text, ok := absent[name]; ok {
		was, is = orElse(was, text), orElse(is, text)
	}
	return sameJSON(was, is)
}

// calendar returns the name of the calendar: several names are synonyms, in any case, and
// none is standard (CF conventions, section 4.4.1).
func (s statements) calendar() string {
	name := s.text("calendar")
	if c, err := calendar.Parse(name); err == nil {
		return c.String()
	}
	return strings.ToLower(strings.TrimSpace(name))
}

func (s statements) units() cf.Units {
	return cf.Units{Units: s.text("units"), Calendar: s.text("calendar")}
}

// text returns an attribute that is a string, and that of another kind as JSON.
func (s statements) text(name string) string {
	if text, err := s[name].Str(); err == nil {
		return text
	}
	return string(s[name].Raw())
}

func orElse(v strictjson.Value, text string) strictjson.Value {
	if v.IsZero() {
		return strictjson.Parsed([]byte(text))
	}
	return v
}

// sameJSON reports whether two values mean the same: 1 and 1.0 do, and so do a value and
// a list of it alone, which some writers make of every attribute.
func sameJSON(a, b strictjson.Value) bool {
	if a.IsZero() || b.IsZero() {
		return a.IsZero() && b.IsZero()
	}
	if bytes.Equal(a.Raw(), b.Raw()) {
		return true
	}
	a, b = only(a), only(b)
	switch {
	case a.Kind() != b.Kind() || a.Kind() == strictjson.Object:
		return bytes.Equal(a.Raw(), b.Raw())
	case a.Kind() == strictjson.Array:
		return sameLists(a, b)
	case a.Kind() == strictjson.Number:
		return sameNumber(a, b)
	}
	x, _ := a.Str()
	y, err := b.Str()
	return err == nil && x == y
}

// only returns the element of a list of one, and any other value as it is.
func only(v strictjson.Value) strictjson.Value {
	if v.Kind() == strictjson.Array && v.Len() == 1 {
		for _, v := range v.Elements() {
			return v
		}
	}
	return v
}

func sameLists(a, b strictjson.Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	next, stop := iter.Pull2(b.Elements())
	defer stop()
	for _, x := range a.Elements() {
		if _, y, _ := next(); !sameJSON(x, y) {
			return false
		}
	}
	return true
}

func sameNumber(a, b strictjson.Value) bool {
	m, err := a.Int64()
	n, also := b.Int64()
	if err == nil && also == nil {
		return m == n
	}
	x, err := a.Float64()
	y, also := b.Float64()
	return err == nil && also == nil && x == y
}

// without returns the attributes of the document without some that do not hold for all
// files. That of GDAL keeps the items that do.
func (s statements) without(raw []byte, names []string, o statements) ([]byte, error) {
	for _, name := range names {
		var err error
		if common := commonItems(s[name], o[name]); name == gdalMetadata && common != nil {
			raw, err = metadata.SetAttribute(raw, name, common)
		} else {
			raw, err = metadata.UnsetAttribute(raw, name)
		}
		if err != nil {
			return nil, err
		}
	}
	return raw, nil
}
