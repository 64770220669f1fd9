// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/internal/gdal"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// Statements are the attributes of an array or a group, by their names. They describe
// elements. If elements of several files or arrays are joined in one array, attributes
// that change the meaning of elements must agree. Other attributes that differ are not
// attributes of the joined array.
type Statements map[string]strictjson.Value

// StatementsOf parses attributes, which are a JSON object, or nothing.
func StatementsOf(attributes []byte) (Statements, error) {
	s := Statements{}
	if len(attributes) == 0 {
		return s, nil
	}
	v, err := strictjson.Parse(attributes, strictjson.Limits{Size: int64(len(attributes))})
	if err != nil {
		return nil, err
	}
	for name, value := range v.Members() {
		s[name] = value
	}
	return s, nil
}

// meaning are the attributes that must agree, by the formats that have them.
var meaning = set(
	// CF and NetCDF.
	"_FillValue", "missing_value", "scale_factor", "add_offset", "_Unsigned", "units", "units_metadata", "calendar", "month_lengths", "leap_year", "leap_month",
	"positive", "grid_mapping", "formula_terms", "compress", "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks", "flag_meanings", "dtype",
	// FITS, beside those of coordinate systems.
	"BUNIT", "BSCALE", "BZERO", "BLANK",
	// TIFF, GeoTIFF and GDAL.
	"Orientation", "PhotometricInterpretation", "ExtraSamples", "ColorMap", "ModelPixelScale", "ModelTiepoint", "ModelTransformation",
	"GeoKeyDirectory", "GeoDoubleParams", "GeoAsciiParams", "GDAL_NODATA",
	// GRIB, unless the array has them as a coordinate.
	"discipline", "parameter_category", "parameter_number", "product_template", "product_octets", "type_of_level", "statistic",
	"grid_template", "scanning_mode", "number", "time", "step_seconds", "level", "level_units", "second_level",
)

// naming are attributes that identify the quantity of an array. A file may lack them. So
// may manifests that older scanners made.
var naming = set("standard_name", "cell_methods", "axis", "grid_octets", "parameter_centre")

// series are the values of GRIB attributes that may occur together in one series of
// fields: a forecast begins with an analysis. Any other value, such as an error of the
// analysis, must agree with the values of the file.
var series = map[string]map[string]bool{
	"generating_process":             set("analysis", "initialization", "forecast", "ensemble forecast"),
	"significance_of_reference_time": set("analysis", "start of forecast"),
	"type_of_data": set("analysis", "forecast", "analysis and forecast", "control forecast", "perturbed forecast",
		"control and perturbed forecast"),
}

// isSeries reports whether two values of an attribute may occur in one series. It returns
// true if one of the values is missing.
func isSeries(name string, left, right strictjson.Value) bool {
	for _, v := range []strictjson.Value{left, right} {
		text, err := v.Str()
		if v.IsZero() || err != nil {
			return true
		}
		for part := range strings.SplitSeq(text, ", ") {
			if !series[name][part] {
				return false
			}
		}
	}
	return true
}

// referring are attributes that name other arrays, which are compared themselves.
var referring = set("coordinates", "bounds", "climatology", "ancillary_variables", "cell_measures")

// storing are attributes that describe the storage of a node, not its elements: the names
// of dimensions in format 2, and the records of netcdf-c.
var storing = set(
	"_ARRAY_DIMENSIONS", "_NCZARR_ARRAY", "_NCZARR_ATTR", "_NCZARR_GROUP", "_NCZARR_SUPERBLOCK", "_nczarr_array", "_nczarr_attr", "_nczarr_attrs", "_nczarr_group",
	"_nczarr_superblock", "_NCProperties", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict", "CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST",
)

// isStoring reports whether an attribute describes only the storage of a node. The
// attributes that Varve reserves for itself belong to one array.
func isStoring(name string) bool { return storing[name] || strings.HasPrefix(name, own.Attributes) }

// describing are attributes of a grid mapping that do not define it.
var describing = set("long_name", "comment", "history")

// ofValues are the attributes for the encoding and the range of values. They may differ
// between coordinates, whose values are compared.
var ofValues = set(FillValue, MissingValue, ScaleFactor, AddOffset, Unsigned, "dtype", "units", "valid_min", "valid_max", "valid_range")

// absent are the values that attributes have if they are not set.
var absent = map[string]string{"scale_factor": "1", "add_offset": "0", "BSCALE": "1", "BZERO": "0", "_Unsigned": `"false"`, "Orientation": "1"}

func set(names ...string) map[string]bool {
	s := map[string]bool{}
	for _, name := range names {
		s[name] = true
	}
	return s
}

// worldKeywords are the keywords of world coordinates in FITS (section 8), a letter at
// their end for further systems, and those of SIP distortions.
var worldKeywords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(WCSAXES|C(TYPE|RPIX|RVAL|DELT|UNIT|ROTA)\d+|(PC|CD|PV|PS)\d+_\d+|` +
		`(LON|LAT)POLE|RADE(SYS|CSYS)|EQUINOX|SPECSYS|SSYSOBS|RESTFRQ|RESTFREQ|RESTWAV|VELREF|TIMESYS|TIMEUNIT|[AB]P?_(ORDER|\d+_\d+))[A-Z]?$`)
})

// Inherited returns the statements of a group that apply to its arrays. The primary
// header of a FITS file has such statements, and so has a GeoZarr group of bands.
func (s Statements) Inherited() Statements {
	some := maps.Clone(s)
	maps.DeleteFunc(some, func(name string, _ strictjson.Value) bool {
		return !isOfPlace(name) && name != "BUNIT" && name != "BSCALE" && name != "BZERO" && name != "BLANK"
	})
	return some
}

// isOfPlace reports whether an attribute gives the place of elements: world coordinates
// of FITS, and GeoZarr.
func isOfPlace(name string) bool {
	return worldKeywords().MatchString(name) || strings.HasPrefix(name, "proj:") || strings.HasPrefix(name, "spatial:")
}

// isGridMapping reports whether an array is a grid mapping: its attributes define a
// projection, and its elements mean nothing.
func (s Statements) isGridMapping() bool {
	return !s["grid_mapping_name"].IsZero() || !s["crs_wkt"].IsZero() || !s["spatial_ref"].IsZero()
}

// Compare returns the names of the attributes that differ between s and o: faults are
// those that must agree, others the rest. Attributes with the same meaning are equal:
// names of units and calendars have synonyms, and a scale of 1 equals no scale.
func (s Statements) Compare(o Statements) (faults, others []string) {
	// All attributes of a grid mapping define the projection, not only those in meaning.
	whole := s.isGridMapping() || o.isGridMapping()
	names := maps.Clone(s)
	maps.Copy(names, o)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		left, right := s[name], o[name]
		switch {
		case s.alike(o, name) || referring[name]:
		case meaning[name] || isOfPlace(name),
			whole && !describing[name] && !isStoring(name),
			naming[name] && !left.IsZero() && !right.IsZero(),
			name == gdal.Metadata && !sameRoles(left, right),
			series[name] != nil && !isSeries(name, left, right):
			faults = append(faults, name)
		default:
			others = append(others, name)
		}
	}
	return faults, others
}

// contradict returns the names of the attributes that must agree, that both have, and
// that differ.
func (s Statements) contradict(o Statements) []string {
	faults, _ := s.Compare(o)
	return slices.DeleteFunc(faults, func(name string) bool { return s[name].IsZero() || o[name].IsZero() })
}

// alike reports whether an attribute means the same in two files.
func (s Statements) alike(o Statements, name string) bool {
	switch name {
	case "calendar":
		return s.calendar() == o.calendar()
	case "units":
		return s.units().Alike(o.units()) || sameJSON(s[name], o[name])
	}
	left, right := s[name], o[name]
	// A missing attribute equals its default.
	if text, ok := absent[name]; ok {
		left, right = orElse(left, text), orElse(right, text)
	}
	return sameJSON(left, right)
}

// calendar returns the canonical name of the calendar. Names have synonyms and any case;
// the default is standard (CF conventions, section 4.4.1).
func (s Statements) calendar() string {
	name := s.text("calendar")
	if c, err := calendar.Parse(name); err == nil {
		return c.String()
	}
	return strings.ToLower(strings.TrimSpace(name))
}

func (s Statements) units() Units {
	return Units{Units: s.text("units"), Calendar: s.text("calendar")}
}

// text returns an attribute: a string as it is, any other value as JSON.
func (s Statements) text(name string) string {
	v := soleElement(s[name])
	if text, err := v.Str(); err == nil {
		return text
	}
	return string(v.Raw())
}

func orElse(v strictjson.Value, text string) strictjson.Value {
	if v.IsZero() {
		return strictjson.Parsed([]byte(text))
	}
	return v
}

// sameJSON reports whether two values are equal. 1 equals 1.0. A value equals a list of
// only that value, because some writers store every attribute as a list.
func sameJSON(a, b strictjson.Value) bool {
	if a.IsZero() || b.IsZero() {
		return a.IsZero() && b.IsZero()
	}
	if bytes.Equal(a.Raw(), b.Raw()) {
		return true
	}
	// Some writers store every attribute as a list, like NumPy arrays of one element.
	a, b = soleElement(a), soleElement(b)
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

// soleElement returns the element of a list of one, and any other value as it is.
func soleElement(v strictjson.Value) strictjson.Value {
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
	// Compare integers exactly: float64 rounds those beyond 2^53.
	m, err := a.Int64()
	n, also := b.Int64()
	if err == nil && also == nil {
		return m == n
	}
	x, err := a.Float64()
	y, also := b.Float64()
	return err == nil && also == nil && x == y
}

// Without returns raw, the JSON from which s was parsed, without the named attributes.
// The GDAL metadata keep the items that s shares with o.
func (s Statements) Without(raw []byte, names []string, o Statements) ([]byte, error) {
	for _, name := range names {
		var err error
		if common := commonItems(s[name], o[name]); name == gdal.Metadata && common != nil {
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

// Differ describes the differences between the named attributes of o and those of s. The
// text calls the file or array of s other.
func (s Statements) Differ(o Statements, names []string, other string) string {
	const most = 3
	var list []string
	for _, name := range names[:min(most, len(names))] {
		what, x, y := difference(s[name], o[name])
		list = append(list, fmt.Sprintf("%sits attribute %s is %s, and in %s it is %s", what, name, textOr(y.Raw()), other, textOr(x.Raw())))
	}
	if len(names) > most {
		list = append(list, quantity.Count(len(names)-most, "more attributes differ"))
	}
	return strings.Join(list, "; ")
}

// difference returns the first pair of elements in which two lists of one length differ,
// and a text with their index. For any other values it returns the values.
func difference(left, right strictjson.Value) (what string, x, y strictjson.Value) {
	if left.Kind() != strictjson.Array || right.Kind() != strictjson.Array || left.Len() != right.Len() {
		return "", left, right
	}
	for i, x := range left.Elements() {
		if y := right.Element(i); !sameJSON(x, y) {
			return fmt.Sprintf("element %d of ", i), x, y
		}
	}
	return "", left, right
}

func textOr(raw []byte) string {
	if raw == nil {
		return "not set"
	}
	return fmt.Sprintf("%.60s", raw)
}

// Attributes that describe missing values and packed numbers (CF conventions, sections
// 2.5.1 and 8.1; NetCDF user guide).
const (
	FillValue    = missing.FillValue
	MissingValue = missing.Value
	Unsigned     = missing.Unsigned
	ScaleFactor  = "scale_factor"
	AddOffset    = "add_offset"
)

// attributeIn returns the JSON of one attribute in a parsed document. It does not
// validate the attributes again, because there may be millions of them.
func attributeIn(object []byte, name string) (raw []byte, ok bool) {
	if len(object) == 0 {
		return nil, false
	}
	v, ok := strictjson.Parsed(object).Member(name)
	return v.Raw(), ok
}

// Attribute returns a user attribute, or the zero Value if it is not set.
func Attribute(a *zarr.Array, name string) (v strictjson.Value, err error) {
	raw, ok := attributeIn(a.Metadata().Attributes, name)
	if !ok {
		return v, nil
	}
	return strictjson.Parse(raw, strictjson.Limits{})
}

// TextAttribute returns a user attribute that is a string, and otherwise "".
func TextAttribute(a *zarr.Array, name string) string {
	v, err := Attribute(a, name)
	if err != nil {
		return ""
	}
	text, _ := v.Str() // "" for any other kind of value
	return text
}

// numberAttribute returns a user attribute that is a number, or a list of one number.
func numberAttribute(a *zarr.Array, name string) (value float64, ok bool, err error) {
	v, err := Attribute(a, name)
	if err != nil || v.IsZero() {
		return 0, false, err
	}
	// Some writers store every attribute as a list, like NumPy arrays of one element.
	if v.Kind() == strictjson.Array && v.Len() == 1 {
		for _, v = range v.Elements() {
			break
		}
	}
	if v.Kind() != strictjson.Number {
		return 0, false, invalid("attribute %s is not a number", name)
	}
	value, err = strconv.ParseFloat(string(v.Raw()), 64)
	if err != nil {
		err = invalid("attribute %s: %v", name, err)
	}
	return value, true, err
}

// itemsOf returns the items of an attribute. ok is false if it cannot be parsed.
func itemsOf(v strictjson.Value) (items []gdal.Item, ok bool) {
	if v.IsZero() {
		return nil, true
	}
	text, err := v.Str()
	if err == nil {
		items, err = gdal.Parse(text)
	}
	return items, err == nil
}

// sameRoles reports whether two attributes give samples the same meaning. It returns
// false if one cannot be parsed.
func sameRoles(a, b strictjson.Value) bool {
	x, ok := itemsOf(a)
	y, also := itemsOf(b)
	return ok && also && slices.Equal(rolesOf(x), rolesOf(y))
}

// rolesOf returns the items that give samples a meaning, sorted and in one spelling. It
// omits items without an effect.
func rolesOf(items []gdal.Item) (roles []gdal.Item) {
	for _, i := range items {
		if role, ok := i.Meaning(); ok && !role.IsIdle() {
			roles = append(roles, role)
		}
	}
	sort.Slice(roles, func(i, j int) bool {
		a, b := roles[i], roles[j]
		return a.Sample+" "+a.Role+" "+a.Text < b.Sample+" "+b.Role+" "+b.Text
	})
	return slices.Compact(roles)
}

// commonItems returns the items that two attributes share, as JSON. It returns nil if
// there are none.
func commonItems(a, b strictjson.Value) []byte {
	x, _ := itemsOf(a)
	y, _ := itemsOf(b)
	x = slices.DeleteFunc(x, func(i gdal.Item) bool { return !slices.Contains(y, i) && len(rolesOf([]gdal.Item{i})) == 0 })
	if len(x) == 0 || len(y) == 0 {
		return nil
	}
	text, err := gdal.Format(x)
	if err != nil {
		return nil
	}
	return strictjson.AppendQuote(nil, string(text))
}
