// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scan makes a group with one image of 2 × 40 × 30 in chunks of 1 × 8 × 8.
func scan(t *testing.T, more ...string) (group string) {
	t.Helper()
	group = filepath.Join(t.TempDir(), "scan.zarr")
	args := []string{"create", group + "/image", "--shape", "2,40,30", "--dtype", "int16", "--chunks", "1,8,8", "--dimension-names", "t,y,x"}
	must(t, "", append(args, more...)...)
	must(t, "", "write", group+"/image", "--value", "5")
	return group
}

// TestPyramid makes levels, grows the array, and makes them again.
func TestPyramid(t *testing.T) {
	group := scan(t)
	dry := decode(t, must(t, "", "pyramid", group+"/image", "--dry-run", "--json"))
	if _, err := os.Stat(filepath.Join(group, "image_levels")); err == nil || dry["dry_run"] != true || dry["rebuild"] != true {
		t.Errorf("a dry run: %v, %v", dry, err)
	}
	done := decode(t, must(t, "", "pyramid", group+"/image", "--json"))
	for _, name := range []string{"levels", "bytes_decoded", "bytes_encoded", "stages", "method", "factors"} {
		if got, want := text(t, done[name]), text(t, dry[name]); got != want {
			t.Errorf("%s is %s, planned was %s", name, got, want)
		}
	}
	if got := must(t, "", "export", group+"/image_levels/3/image", "--format", "csv"); strings.Count(got, "5") < 2*5*4 {
		t.Errorf("the last level has %s", got)
	}
	if out := must(t, "", "pyramid", group); !strings.Contains(out, "up to date") || strings.Contains(out, "chunks,") {
		t.Errorf("again: %s", out)
	}
	must(t, "", "resize", group+"/image", "--shape", "3,40,30")
	must(t, "", "write", group+"/image", "--select", "2", "--value", "6")
	grown := decode(t, must(t, "", "pyramid", group+"/image", "--json"))
	if grown["rebuild"] != false || grown["chunks_new"].(float64) >= done["chunks_new"].(float64) {
		t.Errorf("after growth: %v", grown)
	}
	if out := must(t, "", "check", group, "--json"); !strings.Contains(out, `"found": []`) {
		t.Errorf("check finds %s", out)
	}
}

// text returns a value as JSON.
func text(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestPyramidFlags gives factors and methods in every form, and wrong ones.
func TestPyramidFlags(t *testing.T) {
	group := scan(t)
	node := group + "/image"
	for factors, want := range map[string]string{
		"t=2": "[2,1,1]", "y=4,-1=3": "[1,4,3]", "[2,2,1]": "[2,2,1]", "0=2, x=2": "[2,1,2]",
	} {
		out := decode(t, must(t, "", "pyramid", node, "--factors", factors, "--levels", "1", "--dry-run", "--json"))
		if got := text(t, out["factors"]); got != want {
			t.Errorf("%q: %s, want %s", factors, got, want)
		}
	}
	for _, tt := range []struct {
		status int
		words  string
		args   []string
	}{
		{2, "is not AXIS=N", []string{"--factors", "y"}},
		{2, "is no JSON list", []string{"--factors", "[2,x]"}},
		{1, "no dimension has that name", []string{"--factors", "z=2"}},
		{1, "there is no axis 7", []string{"--factors", "7=2"}},
		{1, "2 factors for 3 axes", []string{"--factors", "[2,2]"}},
		{2, "there are mean, nearest, mode, min and max", []string{"--method", "median"}},
		{2, "--memory", []string{"--memory", "much"}},
		{1, "Memory is 1", []string{"--memory", "1B"}},
	} {
		_, errs, status := execute(t, "", append([]string{"pyramid", node}, tt.args...)...)
		if status != tt.status || !strings.Contains(errs, tt.words) {
			t.Errorf("%q: status %d, %s", tt.args, status, errs)
		}
	}
	if _, errs, status := execute(t, "", "pyramid", filepath.Dir(group)+"/none.zarr"); status != 1 || !strings.Contains(errs, "none.zarr") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestPyramidGrowsOn appends to an array with levels: beside it or not, other arrays of
// the group must agree with it only if they are no levels.
func TestPyramidGrowsOn(t *testing.T) {
	group := scan(t)
	must(t, "", "create", group+"/t", "--shape", "2", "--dtype", "int32", "--dimension-names", "t")
	must(t, "", "pyramid", group+"/image")
	if _, errs, status := execute(t, "", "resize", group+"/image", "--shape", "3,40,30"); status != 1 || !strings.Contains(errs, "t") {
		t.Errorf("the coordinate is forgotten: status %d, %s", status, errs)
	}
	image := filepath.Join(t.TempDir(), "image.zarr")
	must(t, "", "create", image+"/0", "--shape", "2,40,30", "--dtype", "int16", "--chunks", "1,8,8", "--dimension-names", "t,y,x")
	must(t, "", "pyramid", image)
	must(t, "", "resize", image+"/0", "--shape", "3,40,30")
	must(t, "", "pyramid", image)
}
