// SPDX-License-Identifier: Apache-2.0

package conventions

import (
	"reflect"
	"slices"
	"strings"

	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/quantity"
)

// cfRules are rules of the CF conventions 1.13, of what its conformance document lists.
var cfRules = []Rule{
	{"cf/conventions", "CF 2.6.1", false, `set Conventions, such as "CF-1.12", at the root`},
	{"cf/conventions-below", "CF 2.7", false, "remove the attribute from the group: that of the root counts"},
	{"cf/dimensions", "CF 2.4", false, "name the dimensions of the array"},
	{"cf/fill-value", "CF 2.5.1", false, "give the attribute a value that the data type has"},
	{"cf/valid-range", "CF 2.5.1", false, "write the range as a list of its least and its largest value"},
	{"cf/units", "CF 3.1", false, "write the units as text; a number without a dimension has the units \"1\""},
	{"cf/units-given", "CF 3.1", false, "set units, such as degrees_north, degrees_east or \"days since 2000-01-01\""},
	{"cf/standard-name", "CF 3.3", false, "take the name from the table of standard names"},
	{"cf/ancillary", "CF 3.4", false, "correct the name, or remove it from the list"},
	{"cf/flags", "CF 3.5", false, "make the lists equally long, with one word for each flag"},
	{"cf/axis", "CF 4", false, "set axis to X, Y, Z or T, or remove it"},
	{"cf/axis-once", "CF 4", false, "leave axis to the coordinate that readers should take"},
	{"cf/latitude", "CF 4.1", false, "correct units or standard_name"},
	{"cf/latitude-spelling", "CF 4.1", true, "set units to degrees_north or degrees_east"},
	{"cf/positive", "CF 4.3", false, "set positive to up or down"},
	{"cf/formula-terms", "CF 4.3.3", false, `write pairs such as "a: ak b: bk ps: ps", and correct the names`},
	{"cf/reference-time", "CF 4.4.2", false, `write a date such as "days since 2000-01-01"`},
	{"cf/time-unit", "CF 4.4.2", true, "count days: the length of a month or a year is an average"},
	{"cf/calendar", "CF 4.4.3", false, "set calendar to standard, proleptic_gregorian, noleap, all_leap, 360_day, julian, utc, tai or none"},
	{"cf/calendar-of-times", "CF 4.4.3", false, "remove calendar, or set units such as \"days since 2000-01-01\""},
	{"cf/calendar-given", "CF 4.4.3", true, "set calendar: without one it is standard"},
	{"cf/coordinate-order", "CF 5", false, "sort the values, and drop those that repeat"},
	{"cf/coordinate-missing", "CF 5", false, "remove the attribute from the coordinate"},
	{"cf/coordinates", "CF 5", false, "correct the name, or remove it from the list"},
	{"cf/coordinate-dimensions", "CF 5", false, "remove the coordinate from the list, or correct its dimensions"},
	{"cf/coordinate-name", "CF 5", true, "rename the array or the dimension: xarray may not open the group"},
	{"cf/grid-mapping", "CF 5.6", false, "correct the name, or store the array with the attributes of the projection"},
	{"cf/grid-mapping-name", "CF 5.6", false, "set grid_mapping_name, such as latitude_longitude, beside crs_wkt"},
	{"cf/bounds", "CF 7.1", false, "correct the name, or store the bounds"},
	{"cf/bounds-shape", "CF 7.1", false, "store the bounds with a last axis of length 2, or of one for each vertex"},
	{"cf/bounds-attributes", "CF 7.1", false, "remove the attribute from the bounds: they inherit it"},
	{"cf/cell-measures", "CF 7.2", false, `write pairs such as "area: cell_area", and correct the names`},
	{"cf/cell-methods", "CF 7.3", false, `write entries such as "time: mean" or "area: mean where land"`},
	{"cf/climatology", "CF 7.4", false, "correct the name, or store the bounds of the climatology"},
	{"cf/geometry", "CF 7.6", false, "correct the name, or store the container of the geometries"},
	{"cf/packing", "CF 8.1", false, "write the attribute as a number"},
	{"cf/ragged", "CF 9.3", false, "correct the name of the dimension"},
	{"cf/feature-type", "CF 9.4", false, "set featureType to point, timeSeries, trajectory, profile, timeSeriesProfile or trajectoryProfile"},
}

// carriesCF reports whether an array has attributes that only CF explains.
func carriesCF(a object) bool {
	for _, name := range []string{"units", "standard_name", "bounds", "grid_mapping", "cell_methods", "axis", "calendar", "flag_meanings"} {
		if a[name] != nil {
			return true
		}
	}
	return false
}

// cf asks the rules of CF about a node.
func (j *judge) cf() {
	if j.kind == "group" {
		j.cfGroup()
		return
	}
	if carriesCF(j.a) {
		j.cfDimensions()
	}
	j.cfValues()
	j.cfUnits()
	j.cfFlags()
	j.cfCoordinate()
	j.cfReferences()
	j.cfBounds("bounds", "bounds", "bounds-shape")
	j.cfBounds("climatology", "climatology", "climatology")
	j.cfMethods()
}

// cfGroup asks about the attributes of a group.
func (j *judge) cfGroup() {
	named, isText := j.a["Conventions"].(string)
	switch {
	case j.path != "":
		if _, above := j.root["Conventions"]; above && j.a["Conventions"] != nil {
			j.broken("conventions-below", "the attribute Conventions is not at the root, which has one")
		}
	case j.a["Conventions"] == nil && (!j.attached || !j.whole): // no CF, or not the root
	case j.a["Conventions"] == nil:
		j.broken("conventions", "the root has no attribute Conventions")
	case !isText:
		j.broken("conventions", "the attribute Conventions is no text")
	case !strings.Contains(named, "CF-") && j.attached:
		j.broken("conventions", "the attribute Conventions, %.80q, does not name CF", named)
	}
	const kinds = "point timeseries trajectory profile timeseriesprofile trajectoryprofile"
	if v := j.a["featureType"]; v != nil && !among(kinds, strings.ToLower(textOf(j.a, "featureType"))) {
		j.broken("feature-type", "featureType %.80q is none of CF", v)
	}
}

// cfDimensions asks about the names of dimensions.
func (j *judge) cfDimensions() {
	if len(j.node.dims) == 0 && len(j.shape) > 0 {
		j.broken("dimensions", "the dimensions have no names")
	}
	for i, name := range j.node.dims {
		switch {
		case name == "":
			j.broken("dimensions", "dimension %d has no name", i)
		case slices.Contains(j.node.dims[:i], name):
			j.broken("dimensions", "two dimensions have the name %q", name)
		}
	}
}

// cfValues asks about the attributes that say what elements mean.
func (j *judge) cfValues() {
	if !cf.IsNumeric(j.typ) {
		return
	}
	for _, name := range []string{"_FillValue", "missing_value"} {
		_, unsigned := j.a["_Unsigned"] // then the type of the values is another one
		for _, text := range j.spelled(name) {
			if !holds(j.typ, text) && !unsigned {
				j.broken("fill-value", "%s %.80s is no value of the data type %s", name, text, j.typ)
				break
			}
		}
	}
	for _, name := range []string{"valid_range", "actual_range"} {
		if _, ok := listOf(j.a[name], 2); !ok && j.a[name] != nil {
			j.broken("valid-range", "%s is not a list of two numbers", name)
		}
	}
	if j.a["valid_range"] != nil && (j.a["valid_min"] != nil || j.a["valid_max"] != nil) {
		j.broken("valid-range", "valid_min or valid_max is beside valid_range")
	}
	for _, name := range []string{"scale_factor", "add_offset"} {
		// Floats may be scaled, too: CF compares types here, which JSON does not have.
		if all, ok := numbers(j.a[name]); j.a[name] != nil && (!ok || len(all) != 1) {
			j.broken("packing", "%s is not a number", name)
		}
	}
}

// The units of latitudes and longitudes (CF 4.1 and 4.2).
const (
	northUnits = "degrees_north degree_north degree_N degrees_N degreeN degreesN"
	eastUnits  = "degrees_east degree_east degree_E degrees_E degreeE degreesE"
)

// calendars are the names of CF 4.4.3.
const calendars = "standard gregorian proleptic_gregorian julian noleap 365_day all_leap 366_day 360_day utc tai none"

// cfUnits asks about names of quantities, units and calendars.
func (j *judge) cfUnits() {
	named, isText := j.a["standard_name"].(string)
	words := strings.Fields(named)
	const modifiers = "detection_minimum number_of_observations standard_error status_flag"
	switch {
	case j.a["standard_name"] == nil:
	case !isText || len(words) == 0 || len(words) > 2 || !isMadeOf(words[0], lower+digits+"_") || len(words) == 2 && !among(modifiers, words[1]):
		j.broken("standard-name", "standard_name %.80q has not the form of a standard name", j.a["standard_name"])
	}
	units, isText := j.a["units"].(string)
	if j.a["units"] != nil && !isText {
		j.broken("units", "units %.80v are not text", j.a["units"])
		return
	}
	for i, name := range []string{"latitude", "longitude"} {
		right, wrong, first := northUnits, eastUnits, "degrees_north"
		if i == 1 {
			right, wrong, first = eastUnits, northUnits, "degrees_east"
		}
		switch {
		case named != name || among(right, units) || !cf.IsNumeric(j.typ):
		case units == "":
			j.broken("units-given", "a %s has no units", name)
		case among(wrong, units):
			j.broken("latitude", "a %s has the units %s", name, units)
		default:
			j.broken("latitude-spelling", "a %s has the units %.80q, not %s", name, units, first)
		}
	}
	j.cfTimes(units, named)
}

// cfTimes asks about the units and the calendar of times.
func (j *judge) cfTimes(units, named string) {
	unit, since, isTime := strings.Cut(strings.Join(strings.Fields(units), " "), " since ")
	if named == "time" && units == "" && cf.IsNumeric(j.typ) {
		j.broken("units-given", "a time has no units")
	}
	name, isText := j.a["calendar"].(string)
	name = strings.ToLower(name)
	switch {
	case j.a["calendar"] == nil:
		if isTime && j.coordinate {
			j.broken("calendar-given", "a coordinate of time has no calendar")
		}
	case !isText || j.a["month_lengths"] == nil && !among(calendars, name):
		j.broken("calendar", "calendar %.80q is none of CF", j.a["calendar"])
		return
	case !isTime && units != "" && cf.IsNumeric(j.typ):
		j.broken("calendar-of-times", "the units %.80q with a calendar count no time", units)
	}
	if !isTime {
		return
	}
	if among("month months year years", unit) {
		j.broken("time-unit", "times count %s", unit)
	}
	// The calendars that are not known here have the days of the standard one, or days of
	// their own.
	days, err := calendar.Parse(name)
	date, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(since), "T", " "), " ")
	_, bad := calendar.ParseInstant(date, days)
	packed := isMadeOf(date, digits) // 20000101, as UDUNITS also writes it
	if bad != nil && err == nil && !packed || !isMadeOf(strings.Trim(date, "+-"), digits+"-") {
		j.broken("reference-time", "the units %.80q end in no date of their calendar", units)
	}
}

// cfFlags asks about the meanings of flags.
func (j *judge) cfFlags() {
	if j.a["flag_values"] == nil && j.a["flag_masks"] == nil && j.a["flag_meanings"] == nil {
		return
	}
	meanings, isText := j.a["flag_meanings"].(string)
	if !isText {
		j.broken("flags", "flag_meanings is missing, or not one text")
		return
	}
	n := len(strings.Fields(meanings))
	for _, name := range []string{"flag_values", "flag_masks"} {
		all, ok := numbers(j.a[name])
		switch {
		case j.a[name] == nil:
			continue
		case !ok && cf.IsNumeric(j.typ):
			j.broken("flags", "%s has values that are no numbers", name)
			continue
		case ok && len(all) != n:
			j.broken("flags", "%s has values for %s, and flag_meanings words for %d", name, quantity.Of(int64(len(all)), "flag"), n)
		}
		if name == "flag_masks" && slices.Contains(all, 0) {
			j.broken("flags", "a mask in flag_masks is 0")
		}
		if slices.Sort(all); name == "flag_values" && j.a["flag_masks"] == nil && len(slices.Compact(all)) < len(all) {
			j.broken("flags", "flag_values has a value twice")
		}
	}
}

// cfCoordinate asks about coordinates, and about those of the dimensions of an array.
func (j *judge) cfCoordinate() {
	axis, isText := j.a["axis"].(string)
	if j.a["axis"] != nil && (!isText || !among("X Y Z T", strings.ToUpper(axis))) {
		j.broken("axis", "axis %.80q is none of CF", j.a["axis"])
	}
	if v := j.a["positive"]; v != nil && !among("up down", strings.ToLower(textOf(j.a, "positive"))) {
		j.broken("positive", "positive %.80q is neither up nor down", v)
	}
	if len(j.node.dims) > 1 && slices.Contains(j.node.dims, j.name) {
		j.broken("coordinate-name", "the array has several dimensions, and the name of one of them")
	}
	if j.coordinate {
		for _, name := range []string{"_FillValue", "missing_value"} {
			if j.a[name] != nil && cf.IsNumeric(j.typ) {
				j.broken("coordinate-missing", "a coordinate has the attribute %s", name)
			}
		}
		if j.disorder != "" {
			j.broken("coordinate-order", "%s", j.disorder)
		}
	}
	seen := map[string]string{}
	for _, dim := range j.node.dims {
		c, _ := j.find(dim)
		if dim == "" || c == nil || !c.coordinate || c == j.node {
			continue
		}
		axis := strings.ToUpper(textOf(j.attributesOf(c), "axis"))
		if before := seen[axis]; axis != "" && before != "" && before != dim {
			j.broken("axis-once", "its coordinates %s and %s have the axis %s", before, dim, axis)
		}
		seen[axis] = dim
	}
}

// pairs returns the second words of an attribute such as "area: cell_area", and whether
// it has this form.
func pairs(text string) (terms, names []string, ok bool) {
	words := strings.Fields(text)
	for i := 0; i+1 < len(words); i += 2 {
		term, isTerm := strings.CutSuffix(words[i], ":")
		if !isTerm || strings.HasSuffix(words[i+1], ":") {
			return nil, nil, false
		}
		terms, names = append(terms, term), append(names, words[i+1])
	}
	return terms, names, len(words) > 0 && len(words)%2 == 0
}

// cfReferences asks whether the names in attributes are those of arrays.
func (j *judge) cfReferences() {
	plain := []struct{ attribute, rule string }{
		{"coordinates", "coordinates"}, {"ancillary_variables", "ancillary"}, {"geometry", "geometry"},
	}
	for _, p := range plain {
		for _, c := range j.refers(p.attribute, p.rule, strings.Fields(textOf(j.a, p.attribute))) {
			if p.rule == "coordinates" {
				j.cfAuxiliary(c)
			}
		}
	}
	if text := textOf(j.a, "grid_mapping"); text != "" {
		words := strings.Fields(text)
		for i, word := range words {
			name, isMapping := strings.CutSuffix(word, ":")
			for _, m := range j.refers("grid_mapping", "grid-mapping", []string{name}) {
				if isMapping = isMapping || i == 0; isMapping && m.kind == "array" && textOf(j.attributesOf(m), "grid_mapping_name") == "" {
					j.broken("grid-mapping-name", "%s, the grid mapping of the array, has no grid_mapping_name", name)
				}
			}
		}
	}
	if text, isText := j.a["formula_terms"].(string); isText {
		_, names, ok := pairs(text)
		if !ok {
			j.broken("formula-terms", "formula_terms %.80q has no pairs of a term and an array", text)
		}
		j.refers("formula_terms", "formula-terms", names)
	}
	if text, isText := j.a["cell_measures"].(string); isText {
		terms, names, ok := pairs(text)
		if ok = ok && !slices.ContainsFunc(terms, func(s string) bool { return s != "area" && s != "volume" }); !ok {
			j.broken("cell-measures", "cell_measures %.80q has no pairs of area or volume and an array", text)
		}
		external := strings.Fields(textOf(j.root, "external_variables"))
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(external, name) })
		j.refers("cell_measures", "cell-measures", names)
	}
	for _, name := range []string{"sample_dimension", "instance_dimension"} {
		if dim := textOf(j.a, name); dim != "" && j.whole && !j.partial && !j.Tree.dims[dim] {
			j.broken("ragged", "%s names %.80q, a dimension that no array has", name, dim)
		}
	}
}

// refers returns the nodes that the names in an attribute mean. Each name must have one.
func (j *judge) refers(attribute, rule string, names []string) (all []*node) {
	for _, name := range names {
		n, judged := j.find(name)
		switch {
		case n != nil:
			all = append(all, n)
		case judged:
			j.broken(rule, "%s names %.80q, which is no array here", attribute, name)
		}
	}
	return all
}

// cfAuxiliary asks about the dimensions of an auxiliary coordinate. Labels of characters
// have a dimension for their length, and ragged arrays connect dimensions by values.
func (j *judge) cfAuxiliary(c *node) {
	if c.kind != "array" || !cf.IsNumeric(c.typ) || j.indirect || j.node.dims == nil {
		return
	}
	for _, dim := range c.dims {
		if !slices.Contains(j.node.dims, dim) && dim != "" {
			j.broken("coordinate-dimensions", "its coordinate %s has the dimension %s, which the array has not", c.path, dim)
		}
	}
}

// cfBounds asks about the array of bounds that an attribute names.
func (j *judge) cfBounds(attribute, rule, ofShape string) {
	v := j.a[attribute]
	if v == nil {
		return
	}
	words := strings.Fields(textOf(j.a, attribute))
	if len(words) != 1 {
		j.broken(rule, "%s %.80q is not the name of an array", attribute, v)
		return
	}
	for _, b := range j.refers(attribute, rule, words) {
		rank := len(j.shape)
		switch {
		case b.kind == "":
			continue
		case b.kind != "array" || !cf.IsNumeric(b.typ) && b.typ.Kind() != dtype.KindDatetime:
			j.broken(rule, "its %s %s are no array of numbers", attribute, b.path)
			continue
		case len(b.shape) != rank+1 || !slices.Equal(b.shape[:rank], j.shape),
			len(b.dims) > rank && len(j.node.dims) == rank && !slices.Equal(b.dims[:rank], j.node.dims),
			// Cells of one dimension have two vertices, also if their coordinates have
			// several dimensions or lie along another one. There they may have more.
			b.shape[rank] < 2, b.shape[rank] > 2 && (j.coordinate || attribute == "climatology"):
			j.broken(ofShape, "its %s %s have the shape %v and the dimensions %v, which do not fit %v and %v", attribute, b.path, b.shape, b.dims, j.shape, j.node.dims)
		}
		of := j.attributesOf(b)
		for _, name := range []string{"units", "calendar", "standard_name", "axis", "positive"} {
			if of[name] != nil && !reflect.DeepEqual(of[name], j.a[name]) {
				j.broken("bounds-attributes", "%s of its bounds %s is %.80q, not %.80q", name, b.path, of[name], j.a[name])
			}
		}
	}
}

// cfMethods asks about the form of cell_methods: names that end in colons, a method, and
// pairs of words, with comments in parentheses.
func (j *judge) cfMethods() {
	v := j.a["cell_methods"]
	if v == nil {
		return
	}
	var plain strings.Builder
	depth, balanced := 0, true
	for _, r := range textOf(j.a, "cell_methods") {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
			balanced = balanced && depth >= 0
			plain.WriteByte(' ')
		case depth == 0:
			plain.WriteRune(r)
		}
	}
	words := strings.Fields(plain.String())
	ok := balanced && depth == 0 && len(words) > 0
	for len(words) > 0 && ok {
		n := 0
		for n < len(words) && strings.HasSuffix(words[n], ":") {
			n++
		}
		ok = n > 0 && n < len(words)
		if words = words[min(n, len(words)):]; !ok {
			break
		}
		if words[0] == "anomaly_wrt" && len(words) > 1 {
			words = words[1:]
		}
		words = words[1:]
		for len(words) > 1 && among("where over within", words[0]) && !strings.HasSuffix(words[1], ":") {
			words = words[2:]
		}
	}
	if !ok {
		j.broken("cell-methods", "cell_methods %.80q has not the form of names with colons and a method", v)
	}
}
