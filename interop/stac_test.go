// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/stac"
)

// validateItems makes groups by xarray in a folder, or validates the items there with the
// schemas of STAC and its extensions.
const validateItems = `
import json, os, sys
import numpy as np
action, folder = sys.argv[1:3]
if action == "write":
    import pandas as pd, xarray as xr
    def put(name, arrays, coords, **attrs):
        xr.Dataset(arrays, coords=coords, attrs=attrs).to_zarr(os.path.join(folder, name + ".zarr"), consolidated=False)
    lat = ("lat", np.linspace(60, 40, 21, dtype="f4"), {"units": "degrees_north"})
    lon = lambda first: ("lon", first + np.arange(40, dtype="f8"), {"units": "degrees_east", "long_name": "longitude"})
    field = lambda shape, dims: (dims, np.zeros(shape, "f4"), {"units": "K", "long_name": "temperature"})
    hours = pd.date_range("2024-02-28", periods=5, freq="6h")
    put("plain", {"t": field((5, 21, 40), ("time", "lat", "lon"))}, {"time": hours, "lat": lat, "lon": lon(0.0)}, title="plain", license="CC-BY-4.0")
    put("pacific", {"t": field((21, 40), ("lat", "lon"))}, {"time": hours[0], "lat": lat, "lon": lon(160.5)},
        time_coverage_start="2024-01-01", time_coverage_end="2024-01-01T12:00:00Z")
    months = pd.to_datetime(["2024-01-01", "2024-02-01", "2024-03-01"])
    put("months", {"t": field((3, 2), ("time", "level")), "n": (("level",), np.array([1, 2], "i2"), {"_FillValue": np.int16(-1)}), "word": ("level", ["a", "b"])},
        {"time": months, "level": ("level", [1000.0, 850.0], {"units": "hPa", "positive": "down"})})
    x, y = ("x", 500000.0 + 10 * np.arange(30)), ("y", 4000000.0 - 10 * np.arange(20))
    put("utm", {"b2": field((20, 30), ("y", "x")), "crs": ((), 0, {"crs_wkt": 'PROJCRS["WGS 84 / UTM zone 33N",ID["EPSG",32633]]'})},
        {"x": x, "y": y, "lon": (("y", "x"), np.full((20, 30), 15.0), {"units": "degrees_east"}), "lat": (("y", "x"), np.full((20, 30), 36.0), {"units": "degrees_north"})})
    put("model", {"t": (("time",), np.zeros(3))}, {"time": ("time", [0, 30, 60], {"units": "days since 2000-01-01", "calendar": "360_day"})})
else:
    from jsonschema import Draft7Validator
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT7
    base = "https://schemas.stacspec.org/v1.1.0/item-spec/json-schema/"
    schemas = {}
    for name in os.listdir("testdata/stac"):
        if name.endswith(".json"):
            with open(os.path.join("testdata/stac", name)) as f:
                schemas[name] = json.load(f)
    known = {
        "Feature.json": "https://geojson.org/schema/Feature.json", "Geometry.json": "https://geojson.org/schema/Geometry.json",
        "datacube.json": "https://stac-extensions.github.io/datacube/v2.3.0/schema.json",
        "projection.json": "https://stac-extensions.github.io/projection/v2.0.0/schema.json",
    }
    addresses = {known.get(name, base + name): schema for name, schema in schemas.items()}
    addresses["https://proj.org/schemas/v0.7/projjson.schema.json"] = False # items have none
    registry = Registry().with_resources((a, Resource(contents=s, specification=DRAFT7)) for a, s in addresses.items())
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".json"):
            continue
        with open(os.path.join(folder, name)) as f:
            item = json.load(f)
        for address in [base + "item.json", *item["stac_extensions"]]:
            for error in Draft7Validator(addresses[address], registry=registry).iter_errors(item):
                print(name, address, error.message[:300], list(error.absolute_path), [e.message[:200] for e in error.context][:6])
`

// TestItems describes groups that xarray has written as items of STAC, which are valid by
// the schemas of STAC and of its extensions.
func TestItems(t *testing.T) {
	python, dir := interpreter(t), t.TempDir()
	if out, err := exec.Command(python, "-W", "ignore", "-c", validateItems, "write", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.zarr"))
	check(t, err)
	if len(names) != 5 {
		t.Fatalf("%d groups", len(names))
	}
	for _, name := range names {
		g, err := zarr.OpenGroup(t.Context(), name, nil)
		check(t, err)
		at, err := stac.ParseTime("2024-05-31")
		check(t, err)
		item, err := stac.Of(t.Context(), g, stac.Options{ID: filepath.Base(name), Href: name, Time: at})
		check(t, err)
		text, err := json.Marshal(item)
		check(t, err)
		check(t, os.WriteFile(name+".json", text, 0o600))
	}
	out, err := exec.Command(python, "-W", "ignore", "-c", validateItems, "validate", dir).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
