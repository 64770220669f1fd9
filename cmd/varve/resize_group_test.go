// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// sharing makes a group with arrays that share a dimension, one of them with listed
// chunks, and an array without this dimension.
func sharing(t *testing.T) string {
	t.Helper()
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group+"/t2m", "--shape", "4,2", "--dtype", "int8", "--chunks", "[[2,2],2]", "--dimension-names", "time,x")
	must(t, "", "create", group+"/time", "--shape", "4", "--dtype", "int8", "--chunks", "3", "--dimension-names", "time")
	must(t, "", "create", group+"/x", "--shape", "2", "--dtype", "int8", "--dimension-names", "x")
	for name, n := range map[string]int{"t2m": 8, "time": 4} {
		must(t, strings.Repeat("v", n), "write", group+"/"+name, "-")
	}
	must(t, "", "consolidate", group)
	return group
}

// TestResizeGroup changes the length of a dimension in all arrays that have it, after a dry
// run with the same result.
func TestResizeGroup(t *testing.T) {
	for _, c := range []struct{ args, shapes, chunks string }{
		{"time=9", "[9 2] [9] [2]", "[[2,2,5],2]"},
		{"time=9 --grow fixed:3", "[9 2] [9] [2]", "[[2,2,[3,2]],2]"},
		{"time=3 --yes", "[3 2] [3] [2]", "[[2,2],2]"},
		{"time=2 --yes --shrink trim-edges", "[2 2] [2] [2]", "[[2],2]"},
		{"time=1 --yes --shrink trim-exact", "[1 2] [1] [2]", "[[1],2]"},
		{"time=4", "[4 2] [4] [2]", "[[2,2],2]"},
		{"time=5 x=3", "[5 3] [5] [3]", "[[2,2,1],2]"},
	} {
		group := sharing(t)
		args := append([]string{"resize", group}, strings.Fields(c.args)...)
		before := treeOf(t, group)
		plan := decode(t, must(t, "", append(args, "--dry-run", "--json")...))
		if treeOf(t, group) != before {
			t.Fatal("the dry run has changed something")
		}
		comparePlan(t, plan, decode(t, must(t, "", append(args, "--json")...)))
		var shapes []string
		for _, name := range []string{"t2m", "time", "x"} {
			shapes = append(shapes, fmt.Sprint(decode(t, must(t, "", "info", "--json", group+"/"+name))["shape"]))
		}
		if got := strings.Join(shapes, " "); got != c.shapes || expanded(t, chunkShapes(t, group+"/t2m")) != expanded(t, c.chunks) {
			t.Errorf("%s: %s, %s", c.args, got, chunkShapes(t, group+"/t2m"))
		}
		must(t, "", "check", group)
	}
}

// TestResizeGroupRefused checks that nothing changes if one array does not fit.
func TestResizeGroupRefused(t *testing.T) {
	group := sharing(t)
	before := treeOf(t, group)
	for args, want := range map[string]string{
		"time=3": "deletes 3 elements of 2 arrays", "lat=3": `has the dimension "lat"`, "time": "as time=100", "time=-1": "as time=100",
		"time=5 time=6": "twice", "time=5 --shape 5": "exclude each other", "time=5 --expect 4": "is for one array",
		"time=9 --grow preplanned:[2]": "3 elements before the extent",
	} {
		if _, errs, status := execute(t, "", append([]string{"resize", group}, strings.Fields(args)...)...); status == 0 || !strings.Contains(errs, want) || treeOf(t, group) != before {
			t.Errorf("%s: status %d, %s", args, status, errs)
		}
	}
	_, errs, status := execute(t, "", "resize", group+"/time", "--shape", "6")
	if status != 1 || !strings.Contains(errs, "(varve resize "+group+" time=6)") {
		t.Errorf("status %d, %s", status, errs)
	}
	must(t, "", "resize", group, "time=6")
	_, errs, status = execute(t, "", "resize", group, "x=1", "--yes", "--shrink", "trim-exact")
	if status != 0 {
		t.Errorf("status %d, %s", status, errs)
	}
	_, errs, status = execute(t, "", "resize", group+"/time", "time=4", "--alone", "--yes", "--shrink", "trim-exact")
	if status != 1 || strings.Contains(errs, "invalid chunk grid") || !strings.Contains(errs, "axis 0: trim-exact to the extent 4 on an axis whose last chunk") {
		t.Errorf("status %d, %s", status, errs)
	}
	must(t, "", "resize", group+"/x", "x=5", "--alone")
	if _, errs, status := execute(t, "", "resize", group+"/x", "y=5"); status != 1 || !strings.Contains(errs, `there is no dimension "y" (did you mean x?); its dimensions are x`) {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestResizeInherited checks the note about groups whose arrays no longer have the length
// of the coordinate above. Resizing one of their arrays is refused.
func TestResizeInherited(t *testing.T) {
	root := filepath.Join(t.TempDir(), "g.zarr")
	for _, name := range []string{"time", "a/v", "b/v"} {
		must(t, "", "create", root+"/"+name, "--shape", "3", "--dtype", "int8", "--dimension-names", "time")
	}
	_, errs, status := execute(t, "abc", "append", root+"/a/v", "-")
	if status != 1 || !strings.Contains(errs, "and 3 in /time, which this group inherits: change this one alone (--alone)") {
		t.Errorf("status %d, %s", status, errs)
	}
	for _, c := range []struct{ at, note string }{
		{root + "/a", "length 3 in /time and length 4 in v"},
		{root, root + `/b: dimension "time" has length 3 in v and length 4 in /time: xarray.open_datatree`},
	} {
		_, errs, status := execute(t, "", "resize", c.at, "time=4")
		if status != 0 || !strings.Contains(errs, c.note) || strings.Count(errs, "note: ") != 1 {
			t.Errorf("status %d, %s", status, errs)
		}
		if out, _, status := execute(t, "", "check", root); status != 1 || !strings.Contains(out, "/time") {
			t.Errorf("status %d, %s", status, out)
		}
	}
	must(t, "", "resize", root+"/b", "time=4")
	must(t, "", "check", root)
}
