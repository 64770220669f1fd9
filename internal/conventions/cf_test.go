// SPDX-License-Identifier: Apache-2.0

package conventions

import "testing"

// weather is right by CF.
const weather = `
/ group {"Conventions": "CF-1.8 ACDD-1.3", "featureType": "timeSeries", "external_variables": "outer"}
/time float64 6 time {"units": "days since 2000-01-01", "calendar": "Standard", "standard_name": "time", "axis": "t", "bounds": "time_bnds"}
/time_bnds float64 6,2 time,nv {"units": "days since 2000-01-01"}
/lat float32 3 lat {"units": "degrees_north", "standard_name": "latitude", "axis": "Y"}
/lon float32 4 lon {"units": "degree_E", "standard_name": "longitude", "axis": "X"}
/height float32 - - {"units": "m", "positive": "Up", "axis": "Z", "standard_name": "height"}
/lev float32 2 lev {"units": "1", "positive": "down", "formula_terms": "a: ak b: bk ps: ps"}
/ak float32 2 lev
/bk float32 2 lev
/ps float32 3 lat {"units": "Pa"}
/crs int32 - - {"grid_mapping_name": "latitude_longitude"}
/area float32 3,4 lat,lon {"units": "m2"}
/quality uint8 6,3,4 time,lat,lon {"flag_values": [0, 1], "flag_masks": [1, 1], "flag_meanings": "bad good", "valid_range": [0, 1], "standard_name": "air_temperature status_flag"}
/t2m int16 6,3,4 time,lat,lon {"units": "K", "standard_name": "air_temperature", "scale_factor": 0.01, "add_offset": [250], "_FillValue": -32768, "missing_value": [-32768], "coordinates": "height", "grid_mapping": "crs", "ancillary_variables": "quality", "cell_measures": "area: area volume: outer", "cell_methods": "area: mean where land time: maximum within days (interval: 1 hr comment: all)"}
/cells float32 3,2 lat,lon2 {"units": "1", "coordinates": "/area2 height"}
/area2 float32 3,2 lat,lon2
/climate float64 6 climate {"units": "days since 2000-1-1 0:0", "calendar": "noleap", "climatology": "climate_bnds"}
/climate_bnds float64 6,2 climate,nv
/below group
/below/t int32 6,3 time,lat {"units": "K", "coordinates": "lat height", "grid_mapping": "crs: lat lon"}
/bare int32 2,2 - {"note": "no attribute of CF"}
`

func TestCF(t *testing.T) {
	cases{
		{rule: "conventions", broken: `/ group {"Conventions": 3, "external_variables": "outer"}`, right: `/ group {"Conventions": "CF-1.12", "external_variables": "outer"}`},
		{rule: "conventions", broken: `/ group {"Conventions": "ACDD-1.3", "external_variables": "outer"}`},
		{rule: "conventions", broken: `/ group {"external_variables": "outer"}`},
		{rule: "conventions-below", broken: `/below group {"Conventions": "CF-1.8"}`},
		{rule: "dimensions", broken: `/cells float32 2,2 lat,lat {"units": "1"}`},
		{rule: "dimensions", broken: `/cells float32 3,2 - {"units": "1"}`, right: `/cells float32 - - {"units": "1"}`},
		{rule: "fill-value", broken: `/cells int8 3,2 lat,lon2 {"units": "1", "_FillValue": 200}`, right: `/cells int8 3,2 lat,lon2 {"units": "1", "_FillValue": 255, "_Unsigned": "true"}`},
		{rule: "fill-value", broken: `/cells uint8 3,2 lat,lon2 {"units": "1", "missing_value": [1, -1]}`, right: `/cells uint8 3,2 lat,lon2 {"units": "1", "missing_value": [1, 255]}`},
		{rule: "fill-value", broken: `/cells int64 3,2 lat,lon2 {"_FillValue": 9223372036854775808}`, right: `/cells int64 3,2 lat,lon2 {"_FillValue": 9223372036854775807}`},
		{rule: "fill-value", broken: `/cells int64 3,2 lat,lon2 {"_FillValue": -9223372036854775809}`, right: `/cells int64 3,2 lat,lon2 {"missing_value": [-9223372036854775808, -1e2]}`},
		{rule: "fill-value", broken: `/cells uint64 3,2 lat,lon2 {"_FillValue": 18446744073709551616}`, right: `/cells uint64 3,2 lat,lon2 {"_FillValue": 18446744073709551615}`},
		{rule: "fill-value", broken: `/cells uint64 3,2 lat,lon2 {"_FillValue": [18446744073709551614, -1]}`, right: `/cells uint64 3,2 lat,lon2 {"_FillValue": [ 18446744073709551614,1e3, 5.00 ]}`},
		{rule: "fill-value", broken: `/cells int64 3,2 lat,lon2 {"units": "1", "_FillValue": 0.5}`, right: `/cells float32 3,2 lat,lon2 {"units": "1", "_FillValue": 0.5}`},
		{rule: "valid-range", broken: `/cells int8 3,2 lat,lon2 {"units": "1", "valid_range": [1]}`, right: `/cells int8 3,2 lat,lon2 {"units": "1", "valid_min": 1}`},
		{rule: "valid-range", broken: `/cells int8 3,2 lat,lon2 {"units": "1", "valid_range": [1, 2], "valid_max": 2}`},
		{rule: "units", broken: `/cells int8 3,2 lat,lon2 {"units": 1}`, right: `/cells int8 3,2 lat,lon2 {"units": "furlong fortnight-1"}`},
		{rule: "units-given", broken: `/cells float32 3,2 lat,lon2 {"standard_name": "latitude"}`, right: `/cells float32 3,2 lat,lon2 {"standard_name": "land_ice_area_fraction"}`},
		{rule: "units-given", broken: `/cells float32 3,2 lat,lon2 {"standard_name": "time"}`, right: `/cells string 3,2 lat,lon2 {"standard_name": "time"}`},
		{rule: "standard-name", broken: `/cells float32 3,2 lat,lon2 {"standard_name": "Air temperature"}`, right: `/cells float32 3,2 lat,lon2 {"standard_name": "sea_water_ph_reported_on_total_scale standard_error"}`},
		{rule: "standard-name", broken: `/cells float32 3,2 lat,lon2 {"standard_name": "air_temperature mean"}`},
		{rule: "ancillary", broken: `/cells float32 3,2 lat,lon2 {"ancillary_variables": "quality gone"}`, right: `/cells float32 3,2 lat,lon2 {"ancillary_variables": "quality /below/t below/t"}`},
		{rule: "flags", broken: `/quality uint8 6 time {"flag_values": [0, 1, 2], "flag_meanings": "bad good"}`, right: `/quality uint8 6 time {"flag_values": 1, "flag_meanings": "bad"}`},
		{rule: "flags", broken: `/quality uint8 6 time {"flag_values": [0, 1]}`},
		{rule: "flags", broken: `/quality uint8 6 time {"flag_values": ["0b", "1b"], "flag_meanings": "bad good"}`},
		{rule: "flags", broken: `/quality uint8 6 time {"flag_masks": [0, 1], "flag_meanings": "bad good"}`},
		{rule: "flags", broken: `/quality uint8 6 time {"flag_values": [1, 1], "flag_meanings": "bad good"}`, right: `/quality uint8 6 time {"flag_values": [1, 1], "flag_masks": [1, 3], "flag_meanings": "bad good"}`},
		{rule: "axis", broken: `/lat float32 3 lat {"units": "degrees_north", "axis": "N"}`},
		{rule: "axis-once", broken: `/lat float32 3 lat {"units": "degrees_north", "axis": "X"}`},
		{rule: "latitude", broken: `/lat float32 3 lat {"units": "degrees_east", "standard_name": "latitude"}`},
		{rule: "latitude", broken: `/lon float32 4 lon {"units": "degreesN", "standard_name": "longitude"}`},
		{rule: "latitude-spelling", broken: `/lat float32 3 lat {"units": "degrees", "standard_name": "latitude"}`, right: `/lat float32 3 lat {"units": "degrees", "standard_name": "grid_latitude"}`},
		{rule: "positive", broken: `/height float32 - - {"units": "m", "positive": "north"}`},
		{rule: "formula-terms", broken: `/lev float32 2 lev {"units": "1", "formula_terms": "a: ak b: gone"}`, right: `/lev float32 2 lev {"units": "1", "formula_terms": "a: ak"}`},
		{rule: "formula-terms", broken: `/lev float32 2 lev {"units": "1", "formula_terms": "a ak"}`},
		{rule: "formula-terms", broken: `/lev float32 2 lev {"units": "1", "formula_terms": "a: b: ak"}`},
		{rule: "reference-time", broken: `/climate float64 6 climate {"units": "days since 2001-02-29", "calendar": "noleap"}`, right: `/climate float64 6 climate {"units": "days since 2001-02-30", "calendar": "360_day"}`},
		{rule: "reference-time", broken: `/climate float64 6 climate {"units": "days since launch", "calendar": "noleap"}`, right: `/climate float64 6 climate {"units": "seconds  since 19700101T000000Z", "calendar": "standard"}`},
		{rule: "time-unit", broken: `/climate float64 6 climate {"units": "months since 2001-01-01", "calendar": "noleap"}`, right: `/climate float64 6 climate {"units": "weeks since 2001-01-01 12:00:00.0 +2:00", "calendar": "julian"}`},
		{rule: "calendar", broken: `/climate float64 6 climate {"units": "days since 2001-01-01", "calendar": "lunar"}`, right: `/climate float64 6 climate {"units": "days since 2001-01-01", "calendar": "lunar", "month_lengths": [28, 29]}`},
		{rule: "calendar-of-times", broken: `/cells float32 3,2 lat,lon2 {"units": "K", "calendar": "standard"}`},
		{rule: "calendar-given", broken: `/climate float64 6 climate {"units": "days since 2001-01-01"}`, right: `/climate float64 6 x {"units": "days since 2001-01-01"}`},
		{rule: "coordinate-order", broken: `/disordered float64 6 disordered {"units": "m"}`, right: `/disordered float64 6 x {"units": "m"}`},
		{rule: "coordinate-missing", broken: `/climate float64 6 climate {"units": "m", "_FillValue": 0}`, right: `/climate float64 6 x {"units": "m", "_FillValue": 0}`},
		{rule: "coordinates", broken: `/cells float32 3,2 lat,lon2 {"coordinates": "gone"}`, right: `/below/t int32 6,3 time,lat {"coordinates": "time lat"}`},
		{rule: "coordinate-dimensions", broken: `/cells float32 3,2 lat,lon2 {"coordinates": "area"}`},
		{rule: "coordinate-name", broken: `/lon2 float32 3,2 lat,lon2 {"units": "1"}`},
		{rule: "grid-mapping", broken: `/cells float32 3,2 lat,lon2 {"grid_mapping": "gone"}`},
		{rule: "grid-mapping", broken: `/cells float32 3,2 lat,lon2 {"grid_mapping": "crs: lat gone"}`},
		{rule: "grid-mapping-name", broken: `/crs int32 - - {"crs_wkt": "GEOGCRS[]"}`},
		{rule: "bounds", broken: `/lat float32 3 lat {"units": "degrees_north", "bounds": "gone"}`},
		{rule: "bounds", broken: `/lat float32 3 lat {"units": "degrees_north", "bounds": ["lat"]}`},
		{rule: "bounds", broken: `/time_bnds string 6,2 time,nv`},
		{rule: "bounds-shape", broken: `/time_bnds float64 6,3 time,nv`},
		{rule: "bounds-shape", broken: `/time_bnds float64 5,2 time,nv`},
		{rule: "bounds-shape", broken: `/time_bnds float64 6,2 t,nv`, right: `/time_bnds float64 6,2 -`},
		{rule: "bounds-shape", broken: `/area float32 3,4 lat,lon {"bounds": "edges"}
			/edges float32 3,4,1 lat,lon,nv`, right: `/area float32 3,4 lat,lon {"bounds": "edges"}
			/edges float32 3,4,4 lat,lon,nv`},
		{rule: "bounds-shape", broken: `/valid float64 6,3 climate,lat {"bounds": "valid_bnds"}
			/valid_bnds float64 6,2 climate,nv`, right: `/valid float64 6,3 climate,lat {"bounds": "valid_bnds"}
			/valid_bnds float64 6,3,2 climate,lat,nv`},
		{rule: "bounds-shape", broken: `/north float64 5 cell {"bounds": "corners"}
			/corners float64 5,1 cell,nv`, right: `/north float64 5 cell {"bounds": "corners"}
			/corners float64 5,3 cell,nv`},
		{rule: "bounds-attributes", broken: `/time_bnds float64 6,2 time,nv {"units": "days since 1970-01-01"}`, right: `/time_bnds float64 6,2 time,nv {"long_name": "edges"}`},
		{rule: "cell-measures", broken: `/cells float32 3,2 lat,lon2 {"cell_measures": "area: gone"}`, right: `/cells float32 3,2 lat,lon2 {"cell_measures": "area: outer"}`},
		{rule: "cell-measures", broken: `/cells float32 3,2 lat,lon2 {"cell_measures": "size: area"}`},
		{rule: "cell-methods", broken: `/cells float32 3,2 lat,lon2 {"cell_methods": "mean"}`, right: `/cells float32 3,2 lat,lon2 {"cell_methods": "time: lat: mean over years (a (b) c) lon: anomaly_wrt norm"}`},
		{rule: "cell-methods", broken: `/cells float32 3,2 lat,lon2 {"cell_methods": "time: mean (comment"}`},
		{rule: "cell-methods", broken: `/cells float32 3,2 lat,lon2 {"cell_methods": "time: mean comment) lat: mean ("}`},
		{rule: "cell-methods", broken: `/cells float32 3,2 lat,lon2 {"cell_methods": "time:"}`},
		{rule: "climatology", broken: `/climate_bnds float64 6,3 climate,nv`},
		{rule: "geometry", broken: `/cells float32 3,2 lat,lon2 {"geometry": "gone"}`},
		{rule: "packing", broken: `/cells int16 3,2 lat,lon2 {"scale_factor": "0.1"}`},
		{rule: "packing", broken: `/cells float32 3,2 lat,lon2 {"add_offset": [1, 2]}`, right: `/cells float32 3,2 lat,lon2 {"add_offset": 1, "scale_factor": 0.5}`},
		{rule: "ragged", broken: `/cells int32 3 station {"sample_dimension": "obs"}`, right: `/cells int32 3 station {"sample_dimension": "lat"}`},
		{rule: "feature-type", broken: `/ group {"Conventions": "CF-1.8", "featureType": "line", "external_variables": "outer"}`, right: `/ group {"Conventions": "CF-1.8", "featureType": "trajectoryprofile", "external_variables": "outer"}`},
	}.run(t, "cf", weather, 3)
}
