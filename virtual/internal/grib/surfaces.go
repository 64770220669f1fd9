// SPDX-License-Identifier: Apache-2.0

package grib

import "fmt"

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
