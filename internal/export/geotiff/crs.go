// SPDX-License-Identifier: Apache-2.0

package geotiff

import (
	"math"
	"strconv"
	"strings"

	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/quantity"
)

// The keys of GeoTIFF (7.2 to 7.5) that a coordinate reference system takes.
const (
	keyModelType      = 1024
	keyRasterType     = 1025
	keyGeographic     = 2048
	keyGeogCitation   = 2049
	keyDatum          = 2050
	keyAngularUnits   = 2054
	keyEllipsoid      = 2056
	keySemiMajor      = 2057
	keySemiMinor      = 2058
	keyInvFlattening  = 2059
	keyPrimeLongitude = 2061
	keyProjected      = 3072
	keyCitation       = 3073
	keyProjection     = 3074
	keyMethod         = 3075
	keyLinearUnits    = 3076
	keyParallel1      = 3078
	keyParallel2      = 3079
	keyOriginLong     = 3080
	keyOriginLat      = 3081
	keyEasting        = 3082
	keyNorthing       = 3083
	keyFalseLong      = 3084
	keyFalseLat       = 3085
	keyFalseEasting   = 3086
	keyFalseNorthing  = 3087
	keyCenterLong     = 3088
	keyCenterLat      = 3089
	keyScale          = 3092
	keyPoleLong       = 3095

	modelProjected  = 1
	modelGeographic = 2
	pixelIsArea     = 1
	userDefined     = 32767
	degree          = 9102
)

// geoKey is a key with one value: a code, a number or a text.
type geoKey struct {
	id     uint16
	code   uint16
	number float64
	text   string
}

// geoKeys are keys in the order of their numbers.
type geoKeys []geoKey

func (k *geoKeys) code(id, code uint16)             { *k = append(*k, geoKey{id: id, code: code}) }
func (k *geoKeys) number(id uint16, number float64) { *k = append(*k, geoKey{id: id, number: number}) }

// entries returns the fields of keys (GeoTIFF 7.1.1): numbers and texts lie in fields of
// their own.
func (k geoKeys) entries() (list []entry) {
	const version, revision, minor = 1, 1, 0
	directory, numbers, texts := []uint16{version, revision, minor, uint16(len(k))}, []float64{}, ""
	for _, key := range k {
		switch {
		case key.text != "":
			directory = append(directory, key.id, tagGeoText, uint16(len(key.text)+1), uint16(len(texts)))
			texts += key.text + "|"
		case key.code != 0:
			directory = append(directory, key.id, 0, 1, key.code)
		default:
			directory = append(directory, key.id, tagGeoDoubles, 1, uint16(len(numbers)))
			numbers = append(numbers, key.number)
		}
	}
	list = append(list, shorts(tagGeoKeys, directory...))
	if len(numbers) > 0 {
		list = append(list, doubles(tagGeoDoubles, numbers...))
	}
	if texts != "" {
		list = append(list, text(tagGeoText, texts))
	}
	return list
}

// crs returns the keys of the coordinate reference system: of the flag, of the attribute
// proj:code, or of the grid mapping. Latitudes and longitudes without any are those of
// WGS 84.
func (p *planner) crs() (geoKeys, error) {
	code := p.CRS
	if code == "" {
		code = textOf(p.from.Attributes, "proj:code")
	}
	g := p.mapping()
	var kind uint16
	if code == "" && g != nil {
		for _, name := range []string{"crs_wkt", "spatial_ref"} {
			if wkt := textOf(g.Attributes, name); wkt != "" && code == "" {
				code, kind = authorityOf(wkt)
			}
		}
		if code == "" {
			if code = textOf(g.Attributes, "epsg_code"); code != "" && !strings.Contains(code, ":") {
				code = epsg + code
			}
		}
	}
	geographic := p.isGeographic()
	switch {
	case code != "":
		n, err := parseEPSG(code)
		if err != nil {
			return nil, err
		}
		if kind == 0 {
			kind = modelOf(n, geographic)
		}
		if unit, _ := p.linearUnit(); kind == modelProjected && unit == kilometre {
			return nil, unfit("the coordinates have the unit km, and systems of EPSG have m: convert the coordinates, or export without a place (--crs none)")
		}
		return registered(kind, n), nil
	case g != nil:
		return p.mapped(g)
	case geographic:
		return registered(modelGeographic, wgs84), nil
	}
	return nil, unfit("nothing says which coordinate reference system the coordinates have: give its number (--crs EPSG:32633), or export without a place (--crs none)")
}

const (
	epsg  = "EPSG:"
	wgs84 = 4326
)

// parseEPSG returns the number of a system. Larger numbers than those of GeoTIFF belong
// to other registries.
func parseEPSG(code string) (uint16, error) {
	digits, found := strings.CutPrefix(strings.ToUpper(strings.TrimSpace(code)), epsg)
	n, err := strconv.ParseUint(digits, 10, 16)
	if !found || err != nil || n < 1024 || n >= userDefined {
		return 0, unfit("%q is no coordinate reference system that a GeoTIFF can name: give its number in the registry of EPSG, from 1024 to 32766 (--crs EPSG:32633), or none", code)
	}
	return uint16(n), nil
}

// modelOf tells whether a system is projected. EPSG has most geographic ones between 4000
// and 5000; the units of coordinates tell the others.
func modelOf(code uint16, geographic bool) uint16 {
	if code >= 4000 && code < 5000 || geographic {
		return modelGeographic
	}
	return modelProjected
}

// isGeographic reports whether coordinates are longitudes and latitudes.
func (p *planner) isGeographic() bool {
	for _, axis := range []int{p.x, p.y} {
		c := p.coordinate(p.from.Dimensions[axis])
		if c == nil {
			return false
		}
		unit, name := textOf(c.Attributes, "units"), textOf(c.Attributes, "standard_name")
		dimension := strings.ToLower(c.Name)
		switch {
		case strings.HasPrefix(unit, "degree") && !strings.HasPrefix(name, "grid_"):
		case name == "longitude" || name == "latitude":
		case unit == "" && name == "" && (dimension == "lon" || dimension == "longitude" || dimension == "lat" || dimension == "latitude"):
		default:
			return false
		}
	}
	return true
}

// registered returns the keys of a system with a number.
func registered(model, code uint16) (k geoKeys) {
	k.code(keyModelType, model)
	k.code(keyRasterType, pixelIsArea)
	if model == modelGeographic {
		k.code(keyGeographic, code)
		k.code(keyAngularUnits, degree)
	} else {
		k.code(keyProjected, code)
	}
	return k
}

// authorityOf returns the number of a system in well-known text, of either version, and
// its model. "" is none: the numbers of its parts say nothing about the whole.
func authorityOf(wkt string) (code string, model uint16) {
	head := strings.ToUpper(strings.TrimSpace(wkt))
	switch {
	case strings.HasPrefix(head, "GEOG"), strings.HasPrefix(head, "GEODCRS"), strings.HasPrefix(head, "GEODETICCRS"):
		model = modelGeographic
	case strings.HasPrefix(head, "PROJ"):
		model = modelProjected
	default:
		return "", 0 // compound and bound systems
	}
	depth, quoted := 0, false
	for i, c := range head {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '(':
			depth++
		case c == ']' || c == ')':
			depth--
		case depth == 1 && (strings.HasPrefix(head[i:], "ID[") || strings.HasPrefix(head[i:], "AUTHORITY[")) && !isLetter(head[i-1]):
			_, list, _ := strings.Cut(head[i:], "[")
			list, _, _ = strings.Cut(list, "]")
			name, number, _ := strings.Cut(list, ",")
			if strings.Trim(name, `" `) == "EPSG" {
				number, _, _ = strings.Cut(number, ",")
				code = epsg + strings.Trim(number, `" `)
			}
		}
	}
	return code, model
}

func isLetter(c byte) bool { return c >= 'A' && c <= 'Z' }

// projection is how CF (appendix F) and GeoTIFF (C.2) name a method and its parameters.
type projection struct {
	method     uint16
	parameters map[string]uint16 // the keys, by the attributes
}

// projections are the grid mappings whose parameters are the same in GeoTIFF.
var projections = map[string]projection{
	"transverse_mercator": {1, map[string]uint16{
		"latitude_of_projection_origin": keyOriginLat, "longitude_of_central_meridian": keyOriginLong,
		"scale_factor_at_central_meridian": keyScale, "false_easting": keyEasting, "false_northing": keyNorthing,
	}},
	"mercator": {7, map[string]uint16{
		"standard_parallel": keyParallel1, "longitude_of_projection_origin": keyOriginLong,
		"scale_factor_at_projection_origin": keyScale, "false_easting": keyEasting, "false_northing": keyNorthing,
	}},
	"lambert_conformal_conic": {8, map[string]uint16{
		"latitude_of_projection_origin": keyFalseLat, "longitude_of_central_meridian": keyFalseLong,
		"false_easting": keyFalseEasting, "false_northing": keyFalseNorthing,
	}},
	"lambert_azimuthal_equal_area": {10, map[string]uint16{
		"latitude_of_projection_origin": keyCenterLat, "longitude_of_projection_origin": keyCenterLong,
		"false_easting": keyEasting, "false_northing": keyNorthing,
	}},
	"albers_conical_equal_area": {11, map[string]uint16{
		"latitude_of_projection_origin": keyOriginLat, "longitude_of_central_meridian": keyOriginLong,
		"false_easting": keyEasting, "false_northing": keyNorthing,
	}},
	"polar_stereographic": {15, map[string]uint16{
		"straight_vertical_longitude_from_pole": keyPoleLong, "longitude_of_projection_origin": keyPoleLong,
		"scale_factor_at_projection_origin": keyScale, "false_easting": keyEasting, "false_northing": keyNorthing,
	}},
}

// mapped returns the keys of a grid mapping of CF.
func (p *planner) mapped(g *export.Variable) (geoKeys, error) {
	name := textOf(g.Attributes, "grid_mapping_name")
	if name == "latitude_longitude" {
		var k geoKeys
		k.code(keyModelType, modelGeographic)
		k.code(keyRasterType, pixelIsArea)
		return p.ellipsoid(k, g)
	}
	m, known := projections[name]
	if !known {
		return nil, unfit("the grid mapping %s is %q, which GeoTIFF does not have or this writer does not know, and it has no number of EPSG: give one (--crs EPSG:32633), export to NetCDF (.nc), or without a place (--crs none)", g.Name, name)
	}
	values := map[uint16]float64{}
	for attribute, key := range m.parameters {
		if list := numbersOf(g.Attributes, attribute); len(list) > 0 {
			values[key] = list[0]
		}
	}
	method := m.method
	parallels := numbersOf(g.Attributes, "standard_parallel")
	switch name {
	case "lambert_conformal_conic":
		if len(parallels) == 0 {
			return nil, missingParallel(g, name)
		}
		// One parallel is two equal ones.
		values[keyParallel1], values[keyParallel2] = parallels[0], parallels[len(parallels)-1]
	case "albers_conical_equal_area":
		if len(parallels) == 0 {
			return nil, missingParallel(g, name)
		}
		values[keyParallel1], values[keyParallel2] = parallels[0], parallels[len(parallels)-1]
	case "polar_stereographic":
		// GeoTIFF has the parallel of true scale where others have the pole.
		values[keyOriginLat] = append(append(parallels, numbersOf(g.Attributes, "latitude_of_projection_origin")...), 90)[0]
	case "mercator":
		values[keyOriginLat] = 0
	}
	if _, scaled := values[keyScale]; !scaled && (name == "transverse_mercator" || name == "mercator" || name == "polar_stereographic") {
		values[keyScale] = 1
	}
	unit, err := p.linearUnit()
	if err != nil {
		return nil, err
	}
	if zone := utmZone(name, values, g); zone != 0 && unit == metre {
		return registered(modelProjected, zone), nil
	}
	var k geoKeys
	k.code(keyModelType, modelProjected)
	k.code(keyRasterType, pixelIsArea)
	if k, err = p.ellipsoid(k, g); err != nil {
		return nil, err
	}
	k.code(keyProjected, userDefined)
	k = append(k, geoKey{id: keyCitation, text: strings.ReplaceAll(name, "_", " ")})
	k.code(keyProjection, userDefined)
	k.code(keyMethod, method)
	k.code(keyLinearUnits, unit)
	for id := uint16(keyParallel1); id <= keyPoleLong; id++ {
		if v, found := values[id]; found {
			k.number(id, v)
		}
	}
	return k, nil
}

func missingParallel(g *export.Variable, name string) error {
	return unfit("the grid mapping %s is %s without the attribute standard_parallel: add it, or give the number of the system (--crs EPSG:3035)", g.Name, name)
}

// The numbers of units in the registry of EPSG.
const (
	metre     = 9001
	kilometre = 9036
)

// linearUnits are the units of coordinates.
var linearUnits = map[string]uint16{
	"m": metre, "metre": metre, "meter": metre, "metres": metre, "meters": metre, "": metre, "km": kilometre, "kilometre": kilometre,
	"kilometer": kilometre, "kilometres": kilometre, "kilometers": kilometre, "ft": 9002, "foot": 9002, "us-ft": 9003, "us_survey_foot": 9003,
}

// linearUnit returns the unit of both coordinates.
func (p *planner) linearUnit() (uint16, error) {
	var units []string
	for _, axis := range []int{p.x, p.y} {
		unit := ""
		if c := p.coordinate(p.from.Dimensions[axis]); c != nil {
			unit = textOf(c.Attributes, "units")
		}
		units = append(units, unit)
	}
	u, known := linearUnits[units[0]]
	if !known || linearUnits[units[1]] != u {
		return 0, unfit("coordinates of a map have one unit of length, and those here have %s: convert them to m, or export without a place (--crs none)", quantity.List(units...))
	}
	return u, nil
}

// ellipsoid appends the keys of the figure of the Earth. Without any it is that of WGS
// 84.
func (p *planner) ellipsoid(k geoKeys, g *export.Variable) (geoKeys, error) {
	major, minor, inverse, isWGS84 := figure(g)
	if isWGS84 {
		k.code(keyGeographic, wgs84)
		k.code(keyAngularUnits, degree)
		return k, nil
	}
	if !(major > 0) || !(minor > 0) || math.IsInf(major, 0) || math.IsInf(minor, 0) {
		return nil, unfit("the grid mapping %s has axes of an ellipsoid of %v and %v: correct its attributes, or give the number of the system (--crs EPSG:32633)", g.Name, major, minor)
	}
	name := textOf(g.Attributes, "geographic_crs_name")
	if name == "" {
		name = "unknown"
	}
	k.code(keyGeographic, userDefined)
	k = append(k, geoKey{id: keyGeogCitation, text: "GCS Name = " + strings.ReplaceAll(name, "|", "/")})
	k.code(keyDatum, userDefined)
	k.code(keyAngularUnits, degree)
	k.code(keyEllipsoid, userDefined)
	k.number(keySemiMajor, major)
	if inverse > 0 {
		k.number(keyInvFlattening, inverse)
	} else {
		k.number(keySemiMinor, minor)
	}
	if list := numbersOf(g.Attributes, "longitude_of_prime_meridian"); len(list) > 0 && list[0] != 0 {
		k.number(keyPrimeLongitude, list[0])
	}
	return k, nil
}

// figure returns the axes of the ellipsoid in metres, and the inverse flattening if it is
// known, else 0 (CF conventions, appendix F).
func figure(g *export.Variable) (major, minor, inverse float64, isWGS84 bool) {
	number := func(name string) float64 { return append(numbersOf(g.Attributes, name), 0)[0] }
	major, minor, inverse = number("semi_major_axis"), number("semi_minor_axis"), number("inverse_flattening")
	if radius := number("earth_radius"); radius != 0 && major == 0 {
		return radius, radius, 0, false
	}
	const wgs84Major, wgs84Inverse = 6378137, 298.257223563
	switch {
	case major == 0:
		return wgs84Major, wgs84Major * (1 - 1/wgs84Inverse), wgs84Inverse, true
	case inverse != 0:
		minor = major * (1 - 1/inverse)
	case minor == 0:
		minor = major
	}
	// A tenth of a millimetre tells WGS 84 and GRS 1980 apart.
	isWGS84 = major == wgs84Major && math.Abs(minor-wgs84Major*(1-1/wgs84Inverse)) < 5e-5 && number("longitude_of_prime_meridian") == 0
	return major, minor, inverse, isWGS84
}

// utmZone returns the number of a zone of UTM on WGS 84, or 0 if the grid mapping is
// another one.
func utmZone(name string, values map[uint16]float64, g *export.Variable) uint16 {
	_, _, _, isWGS84 := figure(g)
	zone := (values[keyOriginLong] + 183) / 6
	if name != "transverse_mercator" || !isWGS84 || values[keyScale] != 0.9996 || values[keyEasting] != 500000 ||
		values[keyOriginLat] != 0 || zone != math.Trunc(zone) || zone < 1 || zone > 60 {
		return 0
	}
	switch values[keyNorthing] {
	case 0:
		return 32600 + uint16(zone)
	case 10000000:
		return 32700 + uint16(zone)
	}
	return 0
}
