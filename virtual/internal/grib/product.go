// SPDX-License-Identifier: Apache-2.0

package grib

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"varve.dev/zarr/internal/quantity"
)

// product is what section 4 and section 1 say about a field: what it is, and when and
// where.
type product struct {
	category, parameter byte
	variant             string // further octets that tell arrays apart
	surface, second     byte   // types of the levels (code table 4.5), 255 for none
	statistic           byte   // code table 4.10, 255 for none
	origin              origin

	time, step int64 // seconds since 1970, and seconds
	interval   int64 // seconds before the step over which a statistic is, 0 for none
	level      level
	member     int64 // of the ensemble, -1 for none
}

// level is a level, or the layer between two.
type level struct{ first, second float64 }

// none is the value of octets that say nothing.
const none = 255

// template says where a product definition template has its octets, beyond those that all
// have. Octets count from 1, and 0 means none.
type template struct {
	shift         int // of the octets from 12 on
	variant, last int // octets that tell arrays apart
	member        int
	end           int // of the interval: seven octets of a time
	statistic     int
}

// templates are the product definition templates with levels and a forecast time (code
// table 4.0).
var templates = map[int]template{
	0:  {},                                              // at a time
	1:  {member: 36},                                    // of an ensemble
	2:  {variant: 35, last: 35},                         // derived from an ensemble
	5:  {variant: 35, last: 47},                         // probability
	6:  {variant: 35, last: 35},                         // percentile
	8:  {end: 35, statistic: 47},                        // over an interval
	9:  {variant: 35, last: 47, end: 48, statistic: 60}, // probability over an interval
	10: {variant: 35, last: 35, end: 36, statistic: 48}, // percentile over an interval
	11: {member: 36, end: 38, statistic: 50},            // of an ensemble, over an interval
	12: {variant: 35, last: 35, end: 37, statistic: 49}, // derived, over an interval
	15: {variant: 35, last: 37},                         // over an area
	// The same for chemicals.
	40: {shift: 2, variant: 12, last: 13},
	41: {shift: 2, variant: 12, last: 13, member: 38},
	42: {shift: 2, variant: 12, last: 13, end: 37, statistic: 49},
	43: {shift: 2, variant: 12, last: 13, member: 38, end: 40, statistic: 52},
}

// read reads sections 1 and 4. If the template is not known, the category and the
// parameter are set.
func (m *message) read() (p product, err error) {
	s := m.product
	p = product{category: s[9], parameter: s[10], surface: none, second: none, statistic: none, member: -1}
	number := int(binary.BigEndian.Uint16(s[7:]))
	t, known := templates[number]
	if !known {
		return p, m.unsupportedf("product definition template 4.%d", number)
	}
	if n := max(34+t.shift, t.last, t.member, t.end+6, t.statistic); len(s) < n {
		return p, m.corruptf("section 4 has %s, template 4.%d needs %d", quantity.Count(len(s), "bytes"), number, n)
	}
	// Octets count from 1 in the Manual, and bytes from 0 here.
	if t.variant > 0 {
		p.variant = string(s[t.variant-1 : t.last])
	}
	if t.member > 0 {
		p.member = int64(s[t.member-1])
	}
	if t.statistic > 0 {
		p.statistic = s[t.statistic-1]
	}
	p.origin = m.origin(s[11+t.shift])
	// Octets 23 to 28 are the first surface, 29 to 34 the second. 255 means none.
	p.surface, p.level.first = surfaceOf(s[22+t.shift:])
	p.second, p.level.second = surfaceOf(s[28+t.shift:])
	return p, m.readTimes(&p, t)
}

// surfaceOf reads the six octets of a level: its type, a scale factor, and a number.
func surfaceOf(b []byte) (typ byte, value float64) {
	// All bits set mean a missing value. Surfaces such as the ground have none.
	const missing = math.MaxUint32
	if b[0] == none || b[1] == none || binary.BigEndian.Uint32(b[2:]) == missing {
		return b[0], 0
	}
	value = float64(signed(binary.BigEndian.Uint32(b[2:]), 31))
	// Most scale factors are powers that floats have; dividing by these rounds once.
	if scale := int(signed(uint32(b[1]), 7)); scale >= 0 {
		value /= math.Pow10(scale)
	} else {
		value *= math.Pow10(-scale)
	}
	return b[0], value
}

// signed returns a number whose bit sign says that it is negative (regulation 92.1.5).
func signed(x uint32, sign int) int64 {
	if x>>sign&1 != 0 {
		return -int64(x &^ (1 << sign))
	}
	return int64(x)
}

// readTimes reads the reference time (section 1) and the step (section 4). That of an
// interval is its end.
func (m *message) readTimes(p *product, t template) error {
	from, ok := clock(m.identity[12:])
	if !ok {
		return m.corruptf("the reference time is %d", m.identity[12:19])
	}
	p.time = from.Unix()
	// Octet 18 is the unit, octets 19 to 22 the step.
	s := m.product[17+t.shift:]
	n := signed(binary.BigEndian.Uint32(s[1:]), 31)
	start, known := seconds(from, s[0], n)
	// Of an interval, section 4 has the step at its beginning, and the time at its end.
	if t.end > 0 {
		to, ok := clock(m.product[t.end-1:])
		if !ok {
			return m.corruptf("the interval ends at %d", m.product[t.end-1:t.end+6])
		}
		if p.step = to.Unix() - p.time; known {
			p.interval = p.step - start
		}
		return nil
	}
	if !known {
		return m.unsupportedf("a step of %d in the unit %d (code table 4.4)", n, s[0])
	}
	p.step = start
	return nil
}

// clock reads seven octets of a time.
func clock(b []byte) (t time.Time, ok bool) {
	month, day, hour, minute, second := b[2], b[3], b[4], b[5], b[6]
	// 24 hours and second 60 are valid: the end of a day, and a leap second.
	if month < 1 || month > 12 || day < 1 || day > 31 || hour > 24 || minute > 59 || second > 60 {
		return t, false
	}
	year := int(binary.BigEndian.Uint16(b))
	return time.Date(year, time.Month(month), int(day), int(hour), int(minute), int(second), 0, time.UTC), true
}

// seconds returns a step in seconds (code table 4.4).
func seconds(from time.Time, unit byte, n int64) (int64, bool) {
	switch unit {
	case 0: // minutes
		return n * 60, true
	case 1: // hours
		return n * 3600, true
	case 2: // days
		return n * 86400, true
	case 10, 11, 12:
		return n * []int64{3, 6, 12}[unit-10] * 3600, true
	case 13: // seconds
		return n, true
	}
	// Months, years, decades, normals of 30 years and centuries have no fixed length.
	months := map[byte]int64{3: 1, 4: 12, 5: 120, 6: 360, 7: 1200}[unit]
	const most = 1 << 20 // months of all times that calendars compute with
	if months == 0 || n > most/months || n < -most/months {
		return 0, false
	}
	return from.AddDate(0, int(n*months), 0).Unix() - from.Unix(), true
}

// parameter is the name of a parameter, as programs such as ecCodes have it, with its
// units and a longer name.
type parameter struct{ short, units, long string }

// parameters are common parameters by discipline, category and number (code table 4.2).
var parameters = map[[3]byte]parameter{
	{0, 0, 0}:  {"t", "K", "temperature"},
	{0, 0, 1}:  {"vtmp", "K", "virtual temperature"},
	{0, 0, 2}:  {"pt", "K", "potential temperature"},
	{0, 0, 4}:  {"tmax", "K", "maximum temperature"},
	{0, 0, 5}:  {"tmin", "K", "minimum temperature"},
	{0, 0, 6}:  {"dpt", "K", "dew point temperature"},
	{0, 0, 10}: {"lhtfl", "W m-2", "latent heat net flux"},
	{0, 0, 11}: {"shtfl", "W m-2", "sensible heat net flux"},
	{0, 0, 17}: {"skt", "K", "skin temperature"},

	{0, 1, 0}:  {"q", "kg kg-1", "specific humidity"},
	{0, 1, 1}:  {"r", "%", "relative humidity"},
	{0, 1, 2}:  {"mixr", "kg kg-1", "humidity mixing ratio"},
	{0, 1, 3}:  {"pwat", "kg m-2", "precipitable water"},
	{0, 1, 7}:  {"prate", "kg m-2 s-1", "precipitation rate"},
	{0, 1, 8}:  {"tp", "kg m-2", "total precipitation"},
	{0, 1, 9}:  {"ncpcp", "kg m-2", "large-scale precipitation"},
	{0, 1, 10}: {"acpcp", "kg m-2", "convective precipitation"},
	{0, 1, 11}: {"sde", "m", "snow depth"},
	{0, 1, 13}: {"sdwe", "kg m-2", "water equivalent of accumulated snow depth"},
	{0, 1, 22}: {"clwmr", "kg kg-1", "cloud mixing ratio"},
	{0, 1, 23}: {"icmr", "kg kg-1", "ice water mixing ratio"},
	{0, 1, 24}: {"rwmr", "kg kg-1", "rain mixing ratio"},
	{0, 1, 25}: {"snmr", "kg kg-1", "snow mixing ratio"},
	{0, 1, 32}: {"grle", "kg kg-1", "graupel"},
	{0, 1, 52}: {"tprate", "kg m-2 s-1", "total precipitation rate"},
	{0, 1, 60}: {"sd", "kg m-2", "snow depth water equivalent"},
	{0, 1, 64}: {"tcwv", "kg m-2", "total column integrated water vapour"},
	{0, 1, 69}: {"tclw", "kg m-2", "total column integrated cloud water"},
	{0, 1, 70}: {"tciw", "kg m-2", "total column integrated cloud ice"},
	{0, 1, 83}: {"clwc", "kg kg-1", "specific cloud liquid water content"},
	{0, 1, 84}: {"ciwc", "kg kg-1", "specific cloud ice water content"},

	{0, 2, 0}:  {"wdir", "degree", "wind direction"},
	{0, 2, 1}:  {"ws", "m s-1", "wind speed"},
	{0, 2, 2}:  {"u", "m s-1", "u component of wind"},
	{0, 2, 3}:  {"v", "m s-1", "v component of wind"},
	{0, 2, 8}:  {"w", "Pa s-1", "vertical velocity"},
	{0, 2, 9}:  {"wz", "m s-1", "geometric vertical velocity"},
	{0, 2, 10}: {"absv", "s-1", "absolute vorticity"},
	{0, 2, 12}: {"vo", "s-1", "relative vorticity"},
	{0, 2, 13}: {"d", "s-1", "relative divergence"},
	{0, 2, 22}: {"gust", "m s-1", "wind speed of gusts"},

	{0, 3, 0}:  {"pres", "Pa", "pressure"},
	{0, 3, 1}:  {"prmsl", "Pa", "pressure reduced to mean sea level"},
	{0, 3, 4}:  {"z", "m2 s-2", "geopotential"},
	{0, 3, 5}:  {"gh", "gpm", "geopotential height"},
	{0, 3, 18}: {"blh", "m", "height of the boundary layer"},

	{0, 4, 7}: {"dswrf", "W m-2", "downward short-wave radiation flux"},
	{0, 4, 8}: {"uswrf", "W m-2", "upward short-wave radiation flux"},
	{0, 4, 9}: {"nswrf", "W m-2", "net short-wave radiation flux"},
	{0, 5, 3}: {"dlwrf", "W m-2", "downward long-wave radiation flux"},
	{0, 5, 4}: {"ulwrf", "W m-2", "upward long-wave radiation flux"},
	{0, 5, 5}: {"nlwrf", "W m-2", "net long-wave radiation flux"},

	{0, 6, 1}:  {"tcc", "%", "total cloud cover"},
	{0, 6, 3}:  {"lcc", "%", "low cloud cover"},
	{0, 6, 4}:  {"mcc", "%", "medium cloud cover"},
	{0, 6, 5}:  {"hcc", "%", "high cloud cover"},
	{0, 7, 6}:  {"cape", "J kg-1", "convective available potential energy"},
	{0, 7, 7}:  {"cin", "J kg-1", "convective inhibition"},
	{0, 7, 8}:  {"hlcy", "m2 s-2", "storm relative helicity"},
	{0, 14, 1}: {"o3mr", "kg kg-1", "ozone mixing ratio"},
	{0, 19, 0}: {"vis", "m", "visibility"},
	{0, 19, 1}: {"al", "%", "albedo"},

	{2, 0, 0}: {"lsm", "1", "land-sea mask"},
	{2, 0, 1}: {"fsr", "m", "surface roughness"},
	{2, 0, 2}: {"st", "K", "soil temperature"},
	{2, 0, 4}: {"veg", "%", "vegetation"},

	{10, 0, 3}:  {"swh", "m", "significant height of combined wind waves and swell"},
	{10, 0, 5}:  {"shww", "m", "significant height of wind waves"},
	{10, 0, 8}:  {"shts", "m", "significant height of swell"},
	{10, 0, 10}: {"dirpw", "degree", "primary wave direction"},
	{10, 0, 11}: {"perpw", "s", "primary wave mean period"},
	{10, 1, 2}:  {"uogrd", "m s-1", "u component of current"},
	{10, 1, 3}:  {"vogrd", "m s-1", "v component of current"},
	{10, 2, 0}:  {"ci", "1", "sea ice area fraction"},
	{10, 2, 1}:  {"sithick", "m", "sea ice thickness"},
	{10, 3, 0}:  {"sst", "K", "sea surface temperature"},
}

// parameterNamed returns a parameter. One without a name is called by its numbers, such
// as "d0_c1_p22".
func parameterNamed(discipline, category, number byte) parameter {
	if p, ok := parameters[[3]byte{discipline, category, number}]; ok {
		return p
	}
	return parameter{short: fmt.Sprintf("d%d_c%d_p%d", discipline, category, number)}
}

// surface is a type of level.
type surface struct{ name, units, positive string }

// surfaces are the types of levels (code table 4.5).
var surfaces = map[byte]surface{
	1:   {"surface", "", ""},
	2:   {"cloud_base", "", ""},
	3:   {"cloud_top", "", ""},
	4:   {"zero_degree_isotherm", "", ""},
	5:   {"adiabatic_condensation", "", ""},
	6:   {"maximum_wind", "", ""},
	7:   {"tropopause", "", ""},
	8:   {"top_of_atmosphere", "", ""},
	9:   {"sea_bottom", "", ""},
	10:  {"atmosphere", "", ""},
	20:  {"isotherm", "K", ""},
	100: {"isobaric", "Pa", "down"},
	101: {"mean_sea", "", ""},
	102: {"height_above_sea", "m", "up"},
	103: {"height_above_ground", "m", "up"},
	104: {"sigma", "1", "down"},
	105: {"hybrid", "1", "down"},
	106: {"depth_below_land", "m", "down"},
	107: {"isentropic", "K", "up"},
	108: {"pressure_above_ground", "Pa", "up"},
	109: {"potential_vorticity", "K m2 kg-1 s-1", ""},
	111: {"eta", "1", "down"},
	117: {"mixed_layer_depth", "m", "down"},
	118: {"hybrid_height", "1", "up"},
	119: {"hybrid_pressure", "1", "down"},
	150: {"generalized_height", "1", ""},
	151: {"soil", "1", "down"},
	160: {"depth_below_sea", "m", "down"},
	166: {"mixed_layer", "", ""},
	200: {"whole_atmosphere", "", ""},
}

// surfaceNamed returns a type of level.
func surfaceNamed(typ byte) surface {
	if s, ok := surfaces[typ]; ok {
		return s
	}
	return surface{name: fmt.Sprintf("level_type_%d", typ)}
}

// statistics name statistical processes (code table 4.10).
var statistics = map[byte]string{
	0: "average", 1: "accumulation", 2: "maximum", 3: "minimum", 4: "difference", 5: "root_mean_square",
	6: "standard_deviation", 7: "covariance", 8: "negative_difference", 9: "ratio", 10: "standardized_anomaly",
	11: "summation", 100: "severity", 101: "mode",
}

// statisticNamed returns the name of a statistical process.
func statisticNamed(n byte) string {
	if name, ok := statistics[n]; ok {
		return name
	}
	return fmt.Sprintf("statistic_%d", n)
}
