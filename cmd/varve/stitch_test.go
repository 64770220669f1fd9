// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestStitchCommand stitches segments of two arrays, sorted by their times.
func TestStitchCommand(t *testing.T) {
	dir := t.TempDir()
	all := dir + "/all.zarr"
	segment := func(name string, from, n int) string {
		node := dir + "/" + name
		for _, array := range []string{"time", "value"} {
			must(t, "", "create", node+"/"+array, "--shape", fmt.Sprint(n), "--dtype", "int32", "--chunks", fmt.Sprintf("[[%d]]", n), "--dimension-names", "time")
			must(t, numbers(from, n), "write", node+"/"+array, "--format", "json")
		}
		return node
	}
	segment("all.zarr", 0, 3)
	late, early := segment("late.zarr", 10, 2), segment("early.zarr", 3, 5)
	plan := decode(t, must(t, "", "stitch", all, late, early, "--sort", "time", "--dry-run", "--json"))
	if plan["operation"] != "stitch" || plan["dry_run"] != true {
		t.Error(plan)
	}
	out := must(t, "", "stitch", all, late, early, "--sort", "time")
	if want := all + "/value  7 planes from 2 segments, 2 chunks: now 10\n"; !strings.Contains(out, want) {
		t.Errorf("%s, want %s", out, want)
	}
	for _, name := range []string{"/time", "/value"} {
		if out := must(t, "", "export", all+name, "--format", "json"); strings.Join(strings.Fields(out), "") != "[0,1,2,3,4,5,6,7,10,11]" {
			t.Error(out)
		}
		sizes := decode(t, must(t, "", "info", all+name, "--json"))["write_chunk_sizes"]
		if got := fmt.Sprint(sizes); got != "[[[3 1] [5 1] [2 1]]]" {
			t.Error(got)
		}
	}
	// A single array of a group needs --alone.
	if _, errs, status := execute(t, "", "stitch", all+"/value", late+"/value"); status != 1 || !strings.Contains(errs, "time") {
		t.Errorf("status %d, %s", status, errs)
	}
	r := decode(t, must(t, "", "stitch", all+"/value", late+"/value", "--alone", "--json"))
	arrays, _ := r["arrays"].([]any)
	if len(arrays) != 1 || !slices.Equal(arrays[0].(map[string]any)["shape"].([]any), []any{12.0}) {
		t.Error(r)
	}
	for _, args := range [][]string{{all, late + "/value"}, {all + "/time", late}, {all, late, "--axis", "x"}, {all, late, "--sort", "none"}} {
		if _, errs, status := execute(t, "", append([]string{"stitch"}, args...)...); status != 1 {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
	}
}
