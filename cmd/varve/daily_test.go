// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestDailyNodes joins and appends sources that have one time each, as a value without an
// axis, and count it from their own day. Messages say how, and what they say works.
func TestDailyNodes(t *testing.T) {
	t.Chdir(t.TempDir())
	for day, name := range []string{"d1", "d2", "d3"} {
		must(t, "", "create", name+".zarr", "--group")
		must(t, "", "create", name+".zarr/time", "--shape", "", "--dtype", "int64", "--attributes", fmt.Sprintf(`{"units": "days since 2026-03-0%d"}`, day+1))
		createNoted(t, name+".zarr/t", "--shape", "2,3", "--dtype", "int16", "--chunks", "2,3", "--dimension-names", "y,x")
		must(t, "", "write", name+".zarr/t", "--value", fmt.Sprint(day+1))
	}
	refuses(t, `no array has the dimension "time"; there are ["x" "y"]; d1.zarr has one value of time and no such axis: make a manifest of it with --stack time`,
		"virtualize", "d1.zarr", "d2.zarr", "--concat", "time", "-o", "no.vz")
	refuses(t, "if each file counts from another time, make a manifest of each with --stack time, and join these with --concat time",
		"virtualize", "d1.zarr", "d2.zarr", "--stack", "time", "-o", "no.vz")
	for _, name := range []string{"d1", "d2", "d3"} {
		must(t, "", "virtualize", name+".zarr", "--stack", "time", "-o", name+".vz")
	}
	must(t, "", "virtualize", "d1.vz", "d2.vz", "--concat", "time", "-o", "all.vz")
	refuses(t, "d3.zarr has one value of time and no such axis", "virtualize", "d3.zarr", "--append", "-o", "all.vz")
	must(t, "", "virtualize", "d3.vz", "--append", "-o", "all.vz")
	must(t, "", "copy", "d1.vz", "g.zarr")
	must(t, "", "append", "g.zarr", "d2.zarr", "d3.zarr")
	for _, node := range []string{"all.vz", "g.zarr"} {
		times := must(t, "", "export", node+"/time", "--decode", "--format", "csv")
		if got := strings.ReplaceAll(times, "T00:00:00", ""); !strings.HasSuffix(got, "2026-03-01\n2026-03-02\n2026-03-03\n") {
			t.Errorf("%s: %s", node, times)
		}
		if got := must(t, "", "export", node+"/t", "--select", ":,0,0", "--format", "json"); got != "[1,2,3]\n" {
			t.Errorf("%s: %s", node, got)
		}
	}
}
