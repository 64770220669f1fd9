// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestCheckConventions checks what the command prints, and its status: what a convention
// demands changes it, what it recommends does not.
func TestCheckConventions(t *testing.T) {
	dir := t.TempDir() + "/a.zarr"
	must(t, "", "create", dir, "--group", "--attributes", `{"Conventions":"CF-1.8"}`)
	must(t, "", "create", dir+"/lat", "--shape", "3", "--dtype", "float64", "--dimension-names", "lat", "--attributes", `{"units":"degrees","standard_name":"latitude","axis":"N"}`)
	must(t, "[1, 2, 2]", "write", dir+"/lat", "-", "--format", "json")
	must(t, "", "check", dir, "--fast") // nothing was asked for
	for _, at := range []string{dir, dir + "/lat"} {
		out, stderr, status := execute(t, "", "check", at, "--conventions", "ome,cf")
		for _, want := range []string{`axis "N" is none of CF (cf/axis, CF 4)`, "repair: set axis to X", "(cf/coordinate-order, CF 5)", "note: a latitude has the units", "(cf/latitude-spelling, CF 4.1): set units"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %q is not in %s", at, want, out)
			}
		}
		if status != 1 || !strings.Contains(stderr, "conventions are broken: 2 findings") {
			t.Errorf("%s: status %d, %s", at, status, stderr)
		}
	}
	out, _, status := execute(t, "", "check", dir, "--fast", "--json", "--conventions", "all")
	var got struct {
		Findings, Advice []struct{ Kind, Path, Section, Message, Repair string }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if status != 1 || len(got.Findings) != 1 || len(got.Advice) != 1 || got.Findings[0].Kind != "cf/axis" || got.Findings[0].Path != dir+"/lat" || got.Advice[0].Section != "CF 4.1" {
		t.Errorf("status %d: %s", status, out)
	}
	must(t, "", "attrs", dir+"/lat", "unset", "axis")
	if out := must(t, "", "check", dir, "--fast", "--conventions", "cf"); !strings.Contains(out, "note: a latitude") {
		t.Errorf("a recommendation: %s", out)
	}
	for _, args := range [][]string{{"--conventions", "cf,acdd"}, {"--conventions", "cf", "--plan", dir + "/p"}, {"--conventions", "cf", "--against", "x"}} {
		if _, _, status := execute(t, "", append([]string{"check", dir}, args...)...); status != 2 {
			t.Errorf("%q: status %d", args, status)
		}
	}
}
