// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// tables is a program that creates a group, and compares exported tables with those of
// xarray. Its arguments are the folder of the group and of the tables, and "write" or
// "read".
const tables = `
import sys, warnings, numpy, pandas, xarray
warnings.simplefilter("ignore")
folder, verb = sys.argv[1:]
times = pandas.to_datetime(["2020-01-01", "2020-01-02T06:00", "2020-01-03"], format="ISO8601")
values = numpy.array([[1, 2.5], [numpy.nan, 0.1], [numpy.inf, -1e-30]])
d = xarray.Dataset(
    {"t": (("time", "lat"), values), "cube": (("z", "time", "lat"), numpy.arange(12).reshape(2, 3, 2)),
     "name": (("time",), numpy.array(['a,"b', "größer\nx", "7"], dtype=object)), "ok": (("time",), [True, False, True])},
    coords={"time": times, "lat": [10.5, -3.0], "z": [5, 7]})
if verb == "write":
    d.to_zarr(folder + "/g.zarr", zarr_format=3)
    sys.exit()
d = xarray.open_zarr(folder + "/g.zarr").load()
def same(name, want, keys, **how):
    got = pandas.read_csv(folder + "/" + name + ".csv", index_col=keys, float_precision="round_trip", **how)
    want.columns = want.columns.astype(str)
    pandas.testing.assert_frame_equal(got, want, check_dtype=False, check_index_type=False, check_column_type=False, check_names=False)
    assert list(got.index.names) == list(want.index.names), got.index.names
same("t", d.t.to_pandas(), ["time"], parse_dates=["time"])
same("cube", d.cube.to_series().unstack(), ["z", "time"], parse_dates=["time"])
same("name", d.name.to_pandas().to_frame("name"), ["time"], parse_dates=["time"], dtype={"name": str})
same("ok", d.ok.to_pandas().to_frame("ok"), ["time"], parse_dates=["time"])
`

// TestTables exports arrays as CSV with a header. pandas reads the same tables as xarray
// makes.
func TestTables(t *testing.T) {
	t.Parallel()
	scriptMissing(t) // xarray is installed
	dir := t.TempDir()
	run := func(program string, args ...string) {
		t.Helper()
		if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", args[0], err, out)
		}
	}
	program := filepath.Join(dir, "varve")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = filepath.Join("..", "cmd", "varve")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run(interpreter(t), "-c", tables, dir, "write")
	for _, name := range []string{"t", "cube", "name", "ok"} {
		run(program, "export", filepath.Join(dir, "g.zarr", name), "--header", "-o", filepath.Join(dir, name+".csv"))
	}
	run(interpreter(t), "-c", tables, dir, "read")
}
