// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// appends is a program that appends to a group with xarray and consolidates it.
const appends = `
import sys, numpy, xarray
more = xarray.Dataset({"t": (("time", "x"), numpy.ones((2, 3), "f4")), "u": (("time",), numpy.ones(2, "u1"))}, coords={"time": [4, 5]})
more.to_zarr(sys.argv[1], append_dim="time", consolidated=True)
`

// TestConsolidatedByBoth lets xarray append to a group that Varve wrote. The
// consolidated metadata that it writes has members that Varve omits, and is not stale.
func TestConsolidatedByBoth(t *testing.T) {
	t.Parallel()
	scriptMissing(t) // xarray is installed
	program := filepath.Join(t.TempDir(), "varve")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = filepath.Join("..", "cmd", "varve")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	group := filepath.Join(t.TempDir(), "g.zarr")
	run := func(program string, args ...string) string {
		out, err := exec.Command(program, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	for _, line := range []string{
		"create GROUP --group --attributes {\"a\":1.0}",
		"create GROUP/t --shape 4,3 --dtype float32 --fill NaN --chunks 2,3 --dimension-names time,x --compressor zstd",
		"create GROUP/u --shape 4 --dtype uint8 --chunks 2 --dimension-names time",
		"create GROUP/time --shape 4 --dtype int64 --chunks 2 --dimension-names time",
		"create GROUP/s --shape 4,4 --dtype uint8 --fill 7 --shards 4,4 --chunks 2,2 --dimension-names y,z",
		"create GROUP/w --shape 4 --dtype string --chunks 2 --dimension-names y",
		"create GROUP/sub --group",
		"consolidate GROUP",
	} {
		run(program, strings.Fields(strings.ReplaceAll(line, "GROUP", group))...)
	}
	run(interpreter(t), "-W", "ignore", "-c", appends, group)
	if out := run(program, "info", group+"/t"); !strings.Contains(out, "6") {
		t.Errorf("xarray appended nothing: %s", out)
	}
	for _, command := range []string{"check", "info", "consolidate"} {
		args := []string{command, group}
		if command == "consolidate" {
			args = append(args, "--dry-run")
		}
		if out := run(program, args...); strings.Contains(out, "older") || strings.Contains(out, "changed,") {
			t.Errorf("%s: %s", command, out)
		}
	}
}
