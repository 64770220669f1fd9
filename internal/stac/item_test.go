// SPDX-License-Identifier: Apache-2.0

package stac_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/stac"
	"varve.dev/zarr/store/memstore"
)

// group is a group in memory.
type group struct {
	t *testing.T
	*zarr.Group
}

func newGroup(t *testing.T, attributes string) group {
	t.Helper()
	g, err := zarr.At(memstore.New(), "").CreateGroup(t.Context(), json.RawMessage(attributes), nil)
	if err != nil {
		t.Fatal(err)
	}
	return group{t, g}
}

// add adds an array of float64 or int64 with attributes, whose dimensions are in names.
func (g group) add(name, names, attributes string, shape []int64, data []float64, whole bool) {
	g.t.Helper()
	spec := zarr.Spec{Shape: shape, Type: dtype.Float64, Attributes: json.RawMessage(attributes)}
	if names != "" {
		spec.DimensionNames = strings.Fields(names)
	}
	if whole {
		spec.Type = dtype.Int64
	}
	for _, n := range shape {
		spec.Chunks = append(spec.Chunks, grid.Every(max(1, n)))
	}
	a, err := g.Location().At(name).CreateArray(g.t.Context(), spec, nil)
	switch {
	case err != nil || data == nil:
	case whole:
		elems := make([]int64, len(data))
		for i, v := range data {
			elems[i] = int64(v)
		}
		err = zarr.Write(g.t.Context(), a, nil, elems)
	default:
		err = zarr.Write(g.t.Context(), a, nil, data)
	}
	if err != nil {
		g.t.Fatalf("%s: %v", name, err)
	}
}

func (g group) item(opt stac.Options) (map[string]any, error) {
	g.t.Helper()
	item, err := stac.Of(g.t.Context(), g.Group, opt)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(item)
	if err != nil {
		g.t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		g.t.Fatal(err)
	}
	return all, nil
}

// at returns what a path of names leads to, as JSON.
func at(v any, path string) string {
	for name := range strings.SplitSeq(path, "/") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	text, _ := json.Marshal(v)
	return string(text)
}

func numbers(first, step float64, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = first + float64(i)*step
	}
	return list
}

// TestOf describes groups, and compares the members of their items that are named.
func TestOf(t *testing.T) {
	const east, north = `{"units": "degrees_east"}`, `{"standard_name": "latitude"}`
	for name, c := range map[string]struct {
		attributes string
		fill       func(g group)
		want       []string // "path = JSON"
	}{
		"the whole Earth": {`{"title": "all", "summary": "of it", "license": "CC0-1.0"}`, func(g group) {
			g.add("lat", "lat", north, []int64{181}, numbers(90, -1, 181), false)
			g.add("lon", "lon", east, []int64{360}, numbers(0, 1, 360), false)
			g.add("time", "time", `{"units": "hours since 2024-02-28", "calendar": "standard"}`, []int64{3}, []float64{0, 36, 72}, true)
			g.add("t", "time lat lon", `{"long_name": "heat", "units": "K", "_FillValue": -9223372036854775807, "coordinates": "station"}`, []int64{3, 181, 360}, nil, true)
			g.add("station", "lat", `{}`, []int64{181}, nil, false)
		}, []string{
			`bbox = [-180,-90,180,90]`, `geometry/type = "Polygon"`, `properties/title = "all"`, `properties/description = "of it"`, `properties/license = "CC0-1.0"`,
			`properties/datetime = null`, `properties/start_datetime = "2024-02-28T00:00:00Z"`, `properties/end_datetime = "2024-03-02T00:00:00Z"`,
			`properties/cube:dimensions/lat = {"axis":"y","extent":[-90,90],"step":-1,"type":"spatial"}`,
			`properties/cube:dimensions/lon = {"axis":"x","extent":[0,359],"step":1,"type":"spatial","unit":"degrees_east"}`,
			`properties/cube:dimensions/time = {"extent":["2024-02-28T00:00:00Z","2024-03-02T00:00:00Z"],"step":"P1DT12H","type":"temporal"}`,
			`properties/cube:variables/t/dimensions = ["time","lat","lon"]`, `properties/cube:variables/t/type = "data"`, `properties/cube:variables/t/unit = "K"`,
			`properties/cube:variables/t/description = "heat"`, `properties/cube:variables/t/data_type = "int64"`,
			`properties/cube:variables/station/type = "auxiliary"`, `properties/cube:variables/lat = null`, `properties/proj:code = null`,
			`assets/data = {"href":"there","roles":["data"],"type":"application/vnd.zarr; version=3"}`, `id = "it"`,
		}},
		"across the 180th meridian": {`{}`, func(g group) {
			g.add("lat", "lat", north, []int64{2}, []float64{40, 50}, false)
			g.add("lon", "lon", east, []int64{4}, []float64{170.5, 175.5, 180.5, 185.5}, false)
			g.add("time", "", `{"units": "days since 2000-01-01"}`, nil, []float64{59}, true)
		}, []string{
			`bbox = [168,35,-172,55]`, `geometry/type = "MultiPolygon"`, `properties/datetime = "2000-02-29T00:00:00Z"`, `properties/start_datetime = null`,
			`geometry/coordinates = [[[[168,35],[180,35],[180,55],[168,55],[168,35]]],[[[-180,35],[-172,35],[-172,55],[-180,55],[-180,35]]]]`,
		}},
		"a projection": {`{"geospatial_lon_min": 14, "geospatial_lon_max": 16, "geospatial_lat_min": 36, "geospatial_lat_max": 37,
			"time_coverage_start": "2024-05-01", "time_coverage_end": "2024-05-31T12:30:00Z"}`, func(g group) {
			g.add("x", "x", `{"standard_name": "projection_x_coordinate"}`, []int64{3}, []float64{500005, 500015, 500025}, false)
			g.add("y", "y", `{"axis": "Y"}`, []int64{2}, []float64{4000, 3990}, false)
			g.add("crs", "", `{"spatial_ref": "PROJCS[\"UTM\",GEOGCS[\"WGS 84\",AUTHORITY[\"EPSG\",\"4326\"]],AUTHORITY[\"EPSG\",\"32633\"]]"}`, nil, nil, true)
		}, []string{
			`bbox = [14,36,16,37]`, `properties/start_datetime = "2024-05-01T00:00:00Z"`, `properties/end_datetime = "2024-05-31T12:30:00Z"`,
			`properties/proj:code = "EPSG:32633"`, `properties/proj:wkt2 = null`, `properties/proj:shape = [2,3]`, `properties/proj:bbox = [500000,3985,500030,4005]`,
			`properties/proj:transform = [10,0,500000,0,-10,4005]`,
			`stac_extensions = ["https://stac-extensions.github.io/datacube/v2.3.0/schema.json","https://stac-extensions.github.io/projection/v2.0.0/schema.json"]`,
		}},
		"steps that are not even": {`{"proj:code": "EPSG:3035"}`, func(g group) {
			g.add("z", "z", `{"positive": "down", "units": "hPa"}`, []int64{3}, []float64{1000, 850, 500}, false)
			g.add("month", "month", `{"units": "days since 2001-01-01"}`, []int64{3}, []float64{0, 31, 59}, true)
			g.add("v", "", `{}`, []int64{3, 3}, nil, false)
		}, []string{
			`geometry = null`, `bbox = null`, `properties/proj:code = "EPSG:3035"`, `properties/proj:shape = null`,
			`properties/cube:dimensions/z = {"axis":"z","extent":[500,1000],"step":null,"type":"spatial","unit":"hPa","values":[1000,850,500]}`,
			`properties/cube:dimensions/month/values = ["2001-01-01T00:00:00Z","2001-02-01T00:00:00Z","2001-03-01T00:00:00Z"]`, `properties/cube:dimensions/month/step = null`,
			`properties/cube:dimensions/v_dim_1 = {"extent":[0,2],"type":"index"}`, `properties/cube:variables/v/dimensions = ["v_dim_0","v_dim_1"]`,
		}},
		"a calendar that ISO 8601 lacks": {`{}`, func(g group) {
			g.add("time", "time", `{"units": "days since 2000-01-01", "calendar": "360_day"}`, []int64{3}, []float64{0, 30, 60}, true)
		}, []string{
			`properties/cube:dimensions/time = {"extent":[0,60],"step":30,"type":"temporal","unit":"days since 2000-01-01"}`, `properties/datetime = "2020-01-01T00:00:00Z"`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGroup(t, c.attributes)
			c.fill(g)
			item, err := g.item(stac.Options{ID: "it", Href: "there", Time: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)})
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range c.want {
				path, want, _ := strings.Cut(line, " = ")
				if got := at(item, path); got != want {
					t.Errorf("%s = %s, want %s", path, got, want)
				}
			}
		})
	}
}

// TestRefused describes groups that no item can describe.
func TestRefused(t *testing.T) {
	g := newGroup(t, `{}`)
	if _, err := g.item(stac.Options{}); !errors.Is(err, zarr.ErrInvalidArgument) || errors.Is(err, stac.ErrNoTime) {
		t.Errorf("an empty group: %v, want %v", err, zarr.ErrInvalidArgument)
	}
	g.add("v", "x", `{}`, []int64{3}, nil, false)
	if _, err := g.item(stac.Options{}); !errors.Is(err, stac.ErrNoTime) {
		t.Errorf("no time: %v, want %v", err, stac.ErrNoTime)
	}
	for _, text := range []string{"", "2024", "2024-13-01", "yesterday"} {
		if at, err := stac.ParseTime(text); err == nil {
			t.Errorf("%q is %v", text, at)
		}
	}
	times := make([]string, 0, 3)
	for _, text := range []string{"2024-05-31", "2024-05-31T12:00:00+02:00", "2024-05-31 12:00:00.5"} {
		at, err := stac.ParseTime(text)
		if err != nil {
			t.Error(err)
		}
		times = append(times, fmt.Sprint(at.UTC().Format(time.RFC3339Nano)))
	}
	if want := []string{"2024-05-31T00:00:00Z", "2024-05-31T10:00:00Z", "2024-05-31T12:00:00.5Z"}; !slices.Equal(times, want) {
		t.Errorf("times are %q, want %q", times, want)
	}
}
