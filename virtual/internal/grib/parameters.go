// SPDX-License-Identifier: Apache-2.0

package grib

import "fmt"

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
