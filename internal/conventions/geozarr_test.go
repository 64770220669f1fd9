// SPDX-License-Identifier: Apache-2.0

package conventions

import (
	"strings"
	"testing"
)

// The conventions as groups register them.
const (
	proj        = `{"uuid": "f17cb550-5864-4468-aeb7-f3180cfb622f", "name": "proj"}`
	spatial     = `{"schema_url": "https://raw.githubusercontent.com/zarr-conventions/spatial/refs/tags/v0.1/schema.json"}`
	multiscales = `{"uuid": "d35379db-88df-4056-af3a-620245f8e347", "description": "levels"}`
)

func TestGeoZarr(t *testing.T) {
	group := `/ group {"zarr_conventions": [` + proj + `, ` + spatial + `, ` + multiscales + `], "proj:code": "EPSG:32633", "spatial:bbox": [0, 0, 16, 8], "spatial:dimensions": ["y", "x"], "multiscales": {"layout": [{"asset": "r10m/band", "spatial:shape": [8, 16], "spatial:transform": [1, 0, 0, 0, -1, 8]}, {"asset": "r20m", "derived_from": "r10m/band", "transform": {"scale": [2, 2], "translation": [0.5, 0.5]}}]}}`
	array := `/r10m/band uint8 3,8,16 time,y,x {"zarr_conventions": [` + spatial + `], "spatial:dimensions": ["y", "x"], "spatial:transform": [1, 0, 0, 0, -1, 8], "spatial:shape": [8, 16], "spatial:registration": "node"}`
	base := group + "\n/r10m group\n/r20m group\n" + array
	in := func(line string, replace ...string) string { return strings.NewReplacer(replace...).Replace(line) }
	cases{
		{rule: "registry", broken: `/r20m group {"zarr_conventions": {"uuid": "a"}}`, right: `/r20m group {"zarr_conventions": [{"uuid": "a"}, {"spec_url": "b"}]}`},
		{rule: "identity", broken: `/r20m group {"zarr_conventions": [{"name": "a"}]}`},
		{rule: "identity", broken: `/r20m group {"zarr_conventions": [{"uuid": 3}]}`},
		{rule: "members", broken: `/r20m group {"zarr_conventions": [{"uuid": "a", "version": "1"}]}`},
		{rule: "registered", broken: in(array, `["y", "x"]`, `["y", "x"], "proj:code": "EPSG:4326"`), right: `/r20m group {"spatial:bbox": 3, "proj:code": 3}`},
		{rule: "crs", broken: in(group, `"proj:code"`, `"proj:epsg"`), right: in(group, `"proj:code"`, `"proj:wkt2"`)},
		{rule: "code", broken: in(group, `EPSG:32633`, `32633`), right: in(group, `EPSG:32633`, `OGC:CRS84`)},
		{rule: "dimensions", broken: in(array, `["y", "x"]`, `["lat", "x"]`, `"spatial:shape"`, `"shape"`)},
		{rule: "dimensions", broken: in(array, `"spatial:dimensions"`, `"dimensions"`)},
		{rule: "dimensions", broken: in(group, `["y", "x"]`, `["x"]`), right: in(group, `"spatial:dimensions"`, `"dimensions"`)},
		{rule: "bbox", broken: in(group, `[0, 0, 16, 8]`, `[0, 8, 16, 0]`)},
		{rule: "bbox", broken: in(group, `[0, 0, 16, 8]`, `[0, 0, 0, 16, 8, 0]`)},
		{rule: "transform", broken: in(array, `[1, 0, 0, 0, -1, 8]`, `[1, 0, 0]`), right: in(array, `[1, 0, 0, 0, -1, 8]`, `"none", "spatial:transform_type": "rpc"`)},
		{rule: "transform", broken: in(group, `[1, 0, 0, 0, -1, 8]`, `"1 0 0"`)},
		{rule: "shape", broken: in(array, `[8, 16], "spatial:reg`, `[16, 8], "spatial:reg`)},
		{rule: "shape", broken: in(group, `[8, 16]`, `[0, 16]`)},
		{rule: "registration", broken: in(array, `"node"`, `"area"`), right: in(array, `"node"`, `"pixel"`)},
		{rule: "layout", broken: in(group, `"layout"`, `"levels"`)},
		{rule: "asset", broken: in(group, `"asset": "r20m"`, `"asset": "r40m"`)},
		{rule: "asset", broken: in(group, `"asset": "r20m"`, `"asset": "/r20m"`)},
		{rule: "asset", broken: in(group, `"derived_from": "r10m/band"`, `"derived_from": "../r10m"`)},
		{rule: "asset", broken: in(group, `"asset": "r20m"`, `"path": "r20m"`)},
		{rule: "relative", broken: in(group, `"transform": {"scale"`, `"change": {"scale"`), right: in(group, `, "derived_from": "r10m/band", "transform": {"scale": [2, 2], "translation": [0.5, 0.5]}`, ``)},
		{rule: "relative", broken: in(group, `"scale": [2, 2]`, `"scale": 2`)},
	}.run(t, "geozarr", base, 3)
}
