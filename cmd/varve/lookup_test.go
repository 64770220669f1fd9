// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/internal/racing"
)

// newCube returns an array with coordinates of many kinds. Its elements are numbered.
func newCube(t *testing.T, dimension, dtype, attributes, values string, more ...string) string {
	t.Helper()
	group := filepath.Join(t.TempDir(), "g.zarr")
	n := strings.Count(values, ",") + 1
	must(t, "", "create", group, "--group")
	createNoted(t, group+"/"+dimension, append([]string{"--shape", fmt.Sprint(n), "--dtype", dtype, "--dimension-names", dimension, "--attributes", attributes}, more...)...)
	must(t, values, "write", group+"/"+dimension, "--format", "json")
	must(t, "", "create", group+"/deep/data", "--shape", fmt.Sprint(n), "--dtype", "int16", "--dimension-names", dimension)
	must(t, numbers(0, n), "write", group+"/deep/data", "--format", "json")
	return group + "/deep/data"
}

const (
	daily  = `{"units": "days since 2024-12-23", "calendar": "standard"}`
	hourly = `{"units": "hours since 2024-12-31T20:00"}`
	none   = `{}`
)

// TestSelectByValues selects by coordinate values of every kind. The array is below the
// group of its coordinate.
func TestSelectByValues(t *testing.T) {
	racing.Skip(t)
	for _, c := range []struct{ dimension, dtype, attributes, values, sel, want string }{
		{"time", "int32", daily, "[0,1,2,3,4,5]", "time=2024-12-24..2024-12-26", "[1,2,3]"},
		{"time", "int32", daily, "[0,1,2,3,4,5]", "time=..2024-12-24", "[0,1]"},
		{"time", "int32", daily, "[0,1,2,3,4,5]", "time=2024-12-27..", "[4,5]"},
		{"time", "int32", daily, "[0,1,2,3,4,5]", "time=2024..2025", "[0,1,2,3,4,5]"},
		{"time", "int32", daily, "[0,1,2,3,4,5]", "time=2024-12-25", "2"},
		{"time", "int32", daily, "[0,1,2,3,4,5]", "time=2", "2"},
		{"time", "int32", daily, "[0,1,2,3,4,5]", "time=1:3", "[1,2]"},
		{"time", "int32", daily, "[0,1,2,3,4,5]", "time=2024-12-25T13:00", "3"},
		{"time", "int32", daily, "[5,4,3,2,1,0]", "time=2024-12-24..2024-12-26", "[2,3,4]"},
		{"time", "int32", daily, "[5,4,3,2,1,0]", "time=2024-12-26..2024-12-24", "[2,3,4]"},
		{"time", "int64", hourly, "[0,1,2,3,4,5,6]", "time=2024..2024", "[0,1,2,3]"},
		{"time", "float64", hourly, "[0.0,1.0,2.0,3.0,4.0,5.0,6.0]", "time=2024-12-31..2024-12-31T22", "[0,1,2]"},
		{"time", "float64", hourly, "[0.0,0.5,1.0,1.5,2.0]", "time=2024-12-31T21..2024-12-31T21", "[2,3]"},
		{"time", "float64", hourly, "[0.0,0.5,1.0,1.5,2.0]", "time=2024-12-31T20:30:00..2024-12-31T21:00", "[1,2]"},
		{"time", "int64", hourly, "[0,1,2,3,4,5,6]", "time=2025-01..", "[4,5,6]"},
		{"time", "int64", hourly, "[0,1,2,3,4,5,6]", "time=2024-12-31T22:00Z", "2"},
		{"time", "int64", `{"units": "milliseconds since 1970-01-01"}`, "[0,250,500,750]", "time=1970-01-01T00:00:00.2..1970-01-01T00:00:00.5", "[1,2]"},
		{"time", "int32", `{"units": "days since 2023-02-28", "calendar": "noleap"}`, "[0,1,2]", "time=2023-03..2023-03", "[1,2]"},
		{"time", "int32", `{"units": "days since 2024-02-29", "calendar": "360_day"}`, "[0,1,2]", "time=2024-02-30", "1"},
		{"time", "int32", `{"units": "days since 2024-02-29", "calendar": "360_day"}`, "[0,1,2]", "time=..2024-02", "[0,1]"},
		// A month or a year is all of its elements, as in xarray; a day is one element:
		// the first within it, not the one nearest to its beginning.
		{"time", "int32", `{"units": "days since 2024-11-16"}`, "[0,30,61]", "time=2024-12", "[1]"},
		{"time", "int32", daily, "[0,8,9,39,40]", "time=2025-01", "[2,3]"},
		{"time", "int32", daily, "[40,39,9,8,0]", "time=2025-1", "[1,2]"},
		{"time", "int32", daily, "[0,8,9,39,40]", `time="2024"`, "[0,1]"},
		{"time", "int32", daily, "[0,8,9,39,40]", `{"orthogonal": {"time": "2025-01"}}`, "[2,3]"},
		{"time", "int32", daily, "[0,8,9,39,40]", `{"basic": "time=2025-01"}`, "[2,3]"},
		{"time", "float64", `{"units": "hours since 2024-01-31T18:00"}`, "[0.0,5.75,6.0,701.75,702.0]", "time=2024-02", "[2,3]"},
		{"time", "int32", `{"units": "days since 2024-02-29", "calendar": "360_day"}`, "[0,1,2]", "time=2024-02", "[0,1]"},
		{"time", "int32", `{"units": "days since 2024-02-27", "calendar": "noleap"}`, "[0,1,2]", "time=2024-02", "[0,1]"},
		{"time", "int32", `{"units": "days since 2023-02-28", "calendar": "all_leap"}`, "[0,1,2]", "time=2023-02", "[0,1]"},
		{"time", "int32", `{"units": "days since 1900-02-28", "calendar": "julian"}`, "[0,1,2]", "time=1900-02", "[0,1]"},
		{"time", "int32", `{"units": "days since 1582-10-01"}`, "[0,3,4,20,21]", "time=1582-10", "[0,1,2,3]"},
		{"time", "M8[D]", none, `["2024-11-30","2024-12-01","2024-12-31","2025-01-01"]`, "time=2024-12", "[1,2]"},
		{"time", "M8[ns]", none, `["2024-12-31T23:59:59.999999999","2025-01-01"]`, `time="2024"`, "[0]"},
		{"time", "int32", hourly, "[-12,12,36]", "time=2025-01-01", "1"},
		{"time", "M8[D]", none, `["2024-12-24","2024-12-25","2024-12-26"]`, "time=2024-12-25..", "[1,2]"},
		{"time", "M8[ns]", none, `["2024-12-24","2024-12-25T06:00","2024-12-26"]`, "time=2024-12-25", "1"},
		{"lat", "float32", none, "[20.1,10.1,0.0,-10.1]", "lat=-10.1..10.1", "[1,2,3]"},
		{"lat", "float32", none, "[20.1,10.1,0.0,-10.1]", "lat=10.1..-10.1", "[1,2,3]"},
		{"lat", "float32", none, "[20.1,10.1,0.0,-10.1]", "lat=9.0", "1"},
		{"lat", "float64", none, "[-10.0,0.0,10.0]", "lat=0..", "[1,2]"},
		{"lat", "float64", none, "[-10.0,0.0,10.0]", "lat=5.0", "2"},
		{"lat", "float64", none, "[10.0,0.0,-10.0]", "lat=5.0", "0"},
		{"lat", "float64", none, "[-10.0,0.0,10.0]", "lat=10", ""},
		{"lat", "float64", none, "[5.0]", "lat=5.0", "0"},
		{"lat", "float64", `{"_FillValue": "NaN"}`, "[-10.0,0.0,10.0]", "lat=-5..5", "[1]"},
		{"x", "int16", none, "[0,5,10,15]", "x=4.5..10", "[1,2]"},
		{"x", "int16", none, "[0,5,5,15]", "x=5..5", "[1,2]"},
		{"x", "uint8", none, "[0,5,10,15]", "x=5.1", "1"},
		{"x", "int16", `{"scale_factor": 0.1}`, "[1,2,3,4]", "x=0.2..0.3", "[1,2]"},
		{"x", "int8", `{"_Unsigned": "true"}`, "[0,-56,-1]", "x=200..255", "[1,2]"},
		{"x", "int8", `{"_Unsigned": "true", "scale_factor": 0.5}`, "[0,-56,-1]", "x=100.0", "1"},
		{"x", "int8", `{"dtype": "bool"}`, "[0,1]", "x=1..1", "[1]"},
		{"time", "int8", `{"units": "days since 2000-01-01", "_Unsigned": "true"}`, "[0,-56,-1]", "time=2000-07-19", "1"},
		{"time", "int8", `{"units": "days since 2000-01-01", "scale_factor": 0.5}`, "[0,2,4]", "time=2000-01-02..", "[1,2]"},
		{"time", "float64", `{"units": "days since 0001-01-01"}`, "[0.0,1.0,59.0,500.0]", "time=0001-03-01..0001-03-01", "[2]"},
		{"step", "int32", `{"units": "hours"}`, "[0,6,12]", "step=6.0", "1"},
		{"step", "int32", `{"units": "hours"}`, "[0,6,12]", "step=6h", "1"},
		{"step", "int32", `{"units": "hours"}`, "[0,6,12]", "step=6 hours", "1"},
		{"step", "int32", `{"units": "hours"}`, "[0,6,12]", "step=0..6", "[0,1]"},
		{"step", "int32", `{"units": "hours"}`, "[0,6,12]", "step=0h..6h", "[0,1]"},
		{"step", "int32", `{"units": "hours"}`, "[0,6,12]", "step=360 min..", "[1,2]"},
		{"step", "int32", `{"units": "hours"}`, "[0,6,36]", "step=1d12h", "2"},
		{"step", "int32", `{"units": "hours", "_FillValue": 0}`, "[-6,0,6]", "step=-6h..0h", "[0,1]"},
		{"step", "float32", `{"units": "hours"}`, "[0.0,0.1,0.2]", "step=6min..6min", "[1]"},
		{"step", "int16", `{"units": "days", "scale_factor": 0.25}`, "[0,1,2]", "step=6h..0.5", "[1,2]"},
		{"step", "int64", `{"units": "nanoseconds"}`, "[0,1500000000]", "step=1.5s", "1"},
		{"step", "int32", `{"units": "hours"}`, "[0,6,336]", "step=360m", "1"},
		{"step", "int32", `{"units": "hours"}`, "[0,6,336]", "step=6h..2w", "[1,2]"},
		{"lead", "m8[h]", none, "[0,6,12,24,48]", "lead=6h..24h", "[1,2,3]"},
		{"lead", "m8[h]", none, "[48,24,12,6,0]", "lead=6h..1d", "[1,2,3]"},
		{"lead", "m8[h]", none, "[0,6,12,24,48]", "lead=1d", "3"},
		{"lead", "m8[h]", none, "[0,6,12,24,48]", "lead=1d12h..", "[4]"},
		{"lead", "m8[h]", none, "[0,6,12,24,48]", "lead=6.0", "1"},
		{"lead", "m8[h]", none, "[0,6,12,24,48]", "lead=6..12", "[1,2]"},
		{"lead", "m8[h]", none, "[0,6,12,24,48]", "lead=..360 min", "[0,1]"},
		{"lead", "m8[6h]", none, "[0,1,2,4,8]", "lead=12h", "2"},
		{"lead", "m8[6h]", none, "[0,1,2,4,8]", "lead=12h..48", "[2,3,4]"},
		{"lead", "m8[D]", none, "[0,7,14]", "lead=1w..2w", "[1,2]"},
		{"lead", "m8[ns]", none, "[-60000000000,0,30000000001,900000000000]", "lead=30s..15m", "[2,3]"},
		{"lead", "m8[ns]", none, "[-60000000000,0,30000000001,900000000000]", "lead=-1m..0s", "[0,1]"},
		{"lead", "m8[ns]", none, "[0,9223372036854775806,9223372036854775807]", "lead=9223372036854775807..9223372036854775807", "[2]"},
		{"lead", "m8[s]", none, `[0,60,"NaT"]`, "lead=1min", "1"},
		{"station", "string", none, `["Oslo","Bergen","a;b","7"]`, "station=Bergen", "1"},
		{"station", "string", none, `["Oslo","Bergen","a;b","7"]`, `station="7"`, "3"},
		{"station", "string", none, `["Oslo","","a \"b\" c"]`, `station=""`, "1"},
		{"station", "string", none, `["Oslo","","a \"b\" c"]`, `station="a ""b"" c"`, "2"},
		{"station", "U6", none, `["Oslo","Bergen"]`, `station=Bergen`, "1"},
		{"station", "S6", none, `["T3Nsbw==","QmVyZ2Vu"]`, `station=Oslo`, "0"},
		{"x", "int16", none, "[3,1,2]", "x=2.0", "2"},
	} {
		node := newCube(t, c.dimension, c.dtype, c.attributes, c.values)
		out, errs, status := execute(t, "", "export", node, "--format", "json", "--select", c.sel)
		if out != strings.TrimPrefix(c.want+"\n", "\n") || (status == 0) != (c.want != "") {
			t.Errorf("%s %s %s: %s: status %d, %q, %s", c.dtype, c.attributes, c.values, c.sel, status, out, errs)
		}
	}
}

// TestSelectByValuesRefused checks the errors for selections that would silently mean
// something else.
func TestSelectByValuesRefused(t *testing.T) {
	racing.Skip(t)
	for _, c := range []struct{ dimension, dtype, attributes, values, sel, want string }{
		{"time", "int32", `{"units": "months since 2000-01-31"}`, "[0,1,2000]", "time=..1969", "its times are left as numbers"},
		{"time", "int32", `{"units": "days since -5000000-01-01"}`, "[0,1,2000]", "time=1969..", "its times are left as numbers"},
		{"time", "int32", `{"units": "days since 2000-01-01", "calendar": "lunar"}`, "[0,1,2000]", "time=1969-01..", "its times are left as numbers"},
		{"time", "int32", daily, "[0,1,2]", "time=2030..2031", "go from 2024-12-23T00:00:00 to 2024-12-25T00:00:00"},
		{"time", "int32", daily, "[0,1,2]", "time=1900-01-01", "too far"},
		{"time", "int32", daily, "[0,1,2]", "time=2024-02-30..", "2024-02-30"},
		{"time", "int32", daily, "[0,1,2]", "time=noon", "noon"},
		{"time", "int32", daily, "[0,1,2]", "time=0..2024-12-24", "0 is an index and 2024-12-24 a coordinate value"},
		{"time", "int32", daily, "[0,1,2]", "time=2024-12-23..2", "2 is an index and 2024-12-23 a coordinate value"},
		{"time", "int32", daily, "[0,1,2]", "time=2024-12-23:2", "2 is an index and 2024-12-23 a coordinate value"},
		{"time", "M8[D]", none, `["2024-12-23","2024-12-24"]`, "time=0..2024-12-24", "0 is an index"},
		{"lat", "float32", none, "[-10.0,0.0,10.0]", "lat=0:10.0", "0 is an index and 10.0 a coordinate value"},
		{"lat", "float32", none, "[-10.0,0.0,10.0]", "lat=1:2..10", "1:2 are indices"},
		{"time", "int32", daily, "[0,1,2]", "time=2024-11", "no element is in 2024-11; the nearest, 0, is 2024-12-23T00:00:00"},
		{"time", "int32", daily, "[0,2,1]", "time=2024-12", "neither rise nor fall"},
		{"time", "int32", daily, "[0,1,2]", "time=20241224", "the coordinate value is time=2024-12-24"},
		{"time", "int32", daily, "[0,1,2]", "time=202412", "the coordinate value is time=2024-12)"},
		{"time", "M8[s]", none, `["2024-12-24"]`, "20241224", "the coordinate value is time=2024-12-24"},
		{"time", "int32", daily, "[0,1,2]", "time=20241224..20241226", "did you mean 2024-12-24?"},
		{"time", "int32", daily, "[0,1,2]", "time=20241224T06", "did you mean 2024-12-24T06?"},
		{"time", "int32", daily, "[0,1,2]", "time=2024-12-24T0630", "did you mean 2024-12-24T06:30?"},
		{"time", "int32", daily, "[0,1,2]", "time=2024/12/24", "did you mean 2024-12-24?"},
		{"time", "int32", daily, "[0,1,2]", "time=24.12.2024", "write dates as 2024-12-25 and months as 2024-12"},
		{"time", "int32", daily, "[0,1,2]", "time=Dec 2024", "write dates as 2024-12-25 and months as 2024-12"},
		{"time", "int32", daily, "[0,1,2]", "time=2024-12-25..2024-12-24", "ends before"},
		{"time", "int32", daily, "[0,2,1]", "time=2024..2025", "neither rise nor fall"},
		{"time", "float64", daily, `[0.0,"NaN",2.0]`, "time=2024..2025", "element 1 is missing"},
		{"lon", "float32", none, "[0.0,90.0,180.0,270.0]", "lon=350..10", "in two parts"},
		{"lat", "float32", none, "[0.0,1.0]", "lat=north", "is not a number"},
		{"lat", "float32", none, "[0.0,1.0]", "lat=NaN", "is not a number"},
		{"lat", "float32", none, "[0.0,1.0]", "lat=5.0", "too far"},
		{"lat", "float32", none, "[0.0]", "lat=5.0", "too far"},
		{"lat", "float32", none, `["NaN"]`, "lat=5.0", "are missing"},
		{"x", "int64", none, "[1,9007199254740994]", "x=1..2", "too large"},
		{"x", "bool", none, "[true,false]", "x=true", "bool"},
		{"x", "m8[M]", none, "[1,2]", "x=1.5", "have no fixed duration"},
		{"lead", "m8[D]", none, "[1,200000]", "lead=1d", "too long"},
		{"lead", "m8[s]", none, "[1,2]", "lead=3w", "2s, too far from 21d"},
		{"lead", "m8[s]", none, "[1,2]", "lead=1e300", "too long"},
		{"lead", "m8[s]", none, "[1,2]", "lead=NaN", "is neither a number nor a duration such as 6h"},
		{"lead", "m8[s]", none, "[1,2]", "lead=1mo", "nor a duration"},
		{"lead", "m8[s]", none, `[1,"NaT"]`, "lead=1s..2s", "element 1 is missing"},
		{"lead", "m8[s]", none, "[3600,7200]", "lead=3600", "the coordinate value is lead=3600.0 or lead=3600..3600"},
		{"station", "string", none, `["Oslo","Bergen"]`, "station=Osla", "did you mean Oslo?"},
		{"station", "string", none, `["Oslo","Bergen","Oslo"]`, "station=Oslo", "several elements"},
		{"station", "string", none, `["Oslo","Bergen"]`, "station=Oslo..Bergen", "ranges of text"},
		{"x", "int16", none, "[1,2]", "y=1.5", `no dimension is named`},
		{"step", "int32", `{"units": "hours"}`, "[0,6,12]", "step=3d", "12 hours, too far from 72 hours"},
		{"step", "int32", `{"units": "hours"}`, "[0,6,12]", "step=6 K", "nor a duration such as 6h"},
		{"step", "int32", `{"units": "hours"}`, "[0,6,12]", "step=1mo", "nor a duration"},
		{"step", "int32", `{"units": "hours"}`, "[0,6,12]", "step=.h", "nor a duration"},
		{"step", "int32", `{"units": "hours"}`, "[0,6,12]", "step=h", "nor a duration"},
		{"x", "int16", `{"scale_factor": "x"}`, "[1,2]", "x=1.5", "attribute scale_factor is not a number"},
		// What is meant by texts that mean something else.
		{"time", "int32", daily, "[0,1,2]", "time=2024-12-24:2025-01-01", "two dots: 2024-12-24..2025-01-01"},
		{"time", "int32", daily, "[0,1,2]", "time=2024-12-24T06:00:2025", "two dots: 2024-12-24T06:00..2025"},
		{"time", "int32", daily, "[0,1,2]", "time=2024-12-24:", "two dots: 2024-12-24.."},
		{"lat", "float32", none, "[0.0,1.0]", "lat=0.5:1", "two dots: 0.5..1"},
		{"time", "int32", daily, "[0,1,2]", "time=2025", "the coordinate value is time=2025..2025"},
		{"lev", "int32", none, "[250,500]", "lev=500", "the coordinate value is lev=500.0 or lev=500..500"},
		{"lat", "float32", none, "[-30.0,0.0]", "lat=-30", "the coordinate value is lat=-30.0"},
		{"station", "string", none, `["Oslo","7"]`, "station=7", "the coordinate value is station="},
		{"time", "M8[D]", none, `["2024-12-24","2025-12-25"]`, "time=2025", "time=2025..2025"},
		{"lev", "int32", none, "[250,500]", "500", "the coordinate value is lev=500.0"},
		{"lev", "int32", none, "[250,500]", `{"orthogonal": {"lev": 500}}`, "the coordinate value is lev=500.0"},
		{"time", "int32", daily, "[0,1,2]", "tme=3", "did you mean time?"},
		{"time", "int32", daily, "[0,1,2]", `{"orthogonal": {"tme": [0]}}`, "did you mean time?"},
		{"time", "int32", daily, "[0,1,2]", "[0, 1:3]", "without brackets"},
		{"time", "int32", daily, "[0,1,2]", `{"points": [[0], [1]]}`, "(0, 10), (5, 20) and (7, 30) are [[0, 5, 7], [10, 20, 30]]"},
	} {
		node := newCube(t, c.dimension, c.dtype, c.attributes, c.values)
		for _, command := range [][]string{{"export", node, "--format", "json"}, {"cat", node, "--json"}, {"write", node, "--value", "1"}} {
			out, errs, status := execute(t, "", append(command, "--select", c.sel)...)
			if status == 0 || out != "" || !strings.Contains(errs, c.want) || status == 1 && !strings.Contains(errs, node) {
				t.Errorf("%s %s: %s: status %d, %q, %s", command[0], c.values, c.sel, status, out, errs)
			}
		}
	}
}

// TestSelectIndexHint checks that there is no hint about values if an index is hardly a
// year, or if there is no coordinate.
func TestSelectIndexHint(t *testing.T) {
	node := newCube(t, "time", "int32", daily, "[0,1,2]")
	for _, c := range []struct{ node, sel string }{{node, "time=3"}, {newNode(t, "--shape", "3", "--dtype", "int8", "--dimension-names", "time"), "time=2025"}} {
		_, errs, status := execute(t, "", "cat", c.node, "--select", c.sel)
		if status != 1 || !strings.HasSuffix(errs, " of an axis with extent 3\n") {
			t.Errorf("%s: status %d, %q", c.sel, status, errs)
		}
	}
}

// TestSelectWithoutCoordinate checks that the message names what is missing.
func TestSelectWithoutCoordinate(t *testing.T) {
	group := newArchive(t)
	if _, errs, status := execute(t, "", "create", group+"/shorter", "--shape", "3", "--dtype", "int8", "--dimension-names", "time"); status != 0 {
		t.Fatal(errs) // a note says that it is shorter
	}
	must(t, "", "create", group+"/lon", "--shape", "2", "--dtype", "int8", "--dimension-names", "x")
	must(t, "", "create", group+"/sub", "--group")
	must(t, "", "create", group+"/sub/a", "--shape", "1", "--dtype", "int8", "--dimension-names", "deep")
	bare := newNode(t, "--shape", "3", "--dtype", "int8", "--dimension-names", "time")
	for _, c := range []struct{ node, sel, want string }{
		{group + "/t2m", "lon=1.5", `it is not the coordinate of "lon"`},
		{group + "/shorter", "time=1.5", "4 elements"},
		{group + "/sub/a", "deep=1.5", "it is a group"},
		{bare, "time=1.5", "time=0:10"},
		{newNode(t, "--shape", "3", "--dtype", "int8"), "time=1.5", "the axes have no names"},
		{newNode(t, "--shape", "3", "--dtype", "int8", "--dimension-names", "time"), "1.5", "--select"},
	} {
		_, errs, status := execute(t, "", "cat", c.node, "--select", c.sel)
		if status == 0 || !strings.Contains(errs, c.want) {
			t.Errorf("%s %s: status %d, %s", c.node, c.sel, status, errs)
		}
	}
}

// TestSelectByValuesElsewhere selects in JSON, along several axes, the coordinate itself,
// and what is written.
func TestSelectByValuesElsewhere(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	for _, format := range []string{"3", "2"} {
		must(t, "", "create", group, "--group", "--zarr-format", format, "--overwrite", "--yes")
		for name, values := range map[string]string{"lat": "[10.0,0.0,-10.0]", "lon": "[0.0,90.0,180.0]"} {
			must(t, "", "create", group+"/"+name, "--shape", "3", "--dtype", "float32", "--dimension-names", name)
			must(t, values, "write", group+"/"+name, "--format", "json")
		}
		node := group + "/data"
		must(t, "", "create", node, "--shape", "3,3", "--dtype", "int8", "--dimension-names", "lat,lon", "--chunks", "2")
		must(t, "", "write", node, "--select", "lat=0..10,lon=80.0", "--value", "7")
		for sel, want := range map[string]string{
			"": "[[0,7,0],[0,7,0],[0,0,0]]", "lon=90.0": "[7,7,0]", "0,lon=90..180": "[7,0]", "lat=0:2, lon=90.0": "[7,7]",
			`{"orthogonal": {"lat": [0,2], "lon": "90.."}}`: "[[7,0],[0,0]]", `{"basic": "lat=0..10,lon=1"}`: "[7,7]",
			`{"orthogonal": {"lon": "170.5"}}`: "[0,0,0]",
		} {
			if got := must(t, "", "export", node, "--format", "json", "--select", sel); got != want+"\n" {
				t.Errorf("format %s, %s: %s", format, sel, got)
			}
		}
		if got := must(t, "", "cat", group+"/lat", "--select", "lat=-10..0"); got != "[  0.0 -10.0]\n" {
			t.Error(got)
		}
	}
}
