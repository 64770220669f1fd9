// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestEqualGroups compares groups, and checks the number of compared arrays and the first
// difference.
func TestEqualGroups(t *testing.T) {
	a, b := t.TempDir()+"/a.zarr", t.TempDir()+"/b.zarr"
	must(t, "", "create", a, "--group")
	for _, name := range []string{"/x", "/g/y"} {
		must(t, "", "create", a+name, "--shape", "4", "--dtype", "int8", "--chunks", "2")
		must(t, "", "write", a+name, "--value", "1")
	}
	must(t, "", "copy", a, b)
	if _, errs := onScreen(t, "equal", a, b); !strings.Contains(errs, "are equal: 2 arrays compared") {
		t.Errorf("on a terminal: %s", errs)
	}
	if out := must(t, "", "equal", a, b); out != "" {
		t.Errorf("programs are told %s", out)
	}
	must(t, "", "write", b+"/g/y", "--select", "3", "--value", "5")
	must(t, "", "create", b+"/z", "--shape", "1", "--dtype", "int8")
	_, errs, status := execute(t, "", "equal", a, b)
	if want := "1 of 2 arrays differ; the first is g/y: element [3] differs: 1 and 5; 1 array only in B (z)"; status != 1 || !strings.Contains(errs, want) {
		t.Errorf("status %d, %s, want %s", status, errs, want)
	}
	out, _, status := execute(t, "", "equal", a, b, "--json")
	got := decode(t, out)
	if differ, _ := got["arrays_different"].([]any); status != 1 || got["equal"] != false || got["arrays_compared"] != 2.0 || len(differ) != 1 {
		t.Errorf("status %d, %s", status, out)
	}
	if _, errs, status := execute(t, "", "equal", a, b+"/x"); status != 1 || !strings.Contains(errs, "it is a group, not an array") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestEqualTimes checks that times and durations that differ are printed as by cat.
func TestEqualTimes(t *testing.T) {
	for dtype, c := range map[string][2]string{
		"M8[s]": {`["2024-01-01","NaT"]`, "2024-01-01T00:00:00 and 1970-01-01T00:00:05"}, "m8[h]": {"[7,8]", "7 h and 5 h"},
	} {
		a, b := t.TempDir()+"/a.zarr", t.TempDir()+"/b.zarr"
		for _, group := range []string{a, b} {
			must(t, "", "create", group+"/t", "--shape", "2", "--dtype", dtype)
			must(t, c[0], "write", group+"/t", "--format", "json")
		}
		must(t, "[5]", "write", b+"/t", "--select", "0:1", "--format", "json")
		for _, member := range []string{"", "/t"} {
			_, errs, status := execute(t, "", "equal", a+member, b+member)
			if status != 1 || !strings.Contains(errs, "element [0] differs: "+c[1]) {
				t.Errorf("%s%s: status %d, %s", dtype, member, status, errs)
			}
		}
	}
}
