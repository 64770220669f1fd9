// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestAppendEmptyPlanes appends planes without elements to an array that is empty along
// another axis.
func TestAppendEmptyPlanes(t *testing.T) {
	for _, format := range []string{"3", "2"} {
		dir := t.TempDir()
		group, file, none := filepath.Join(dir, "g.zarr"), filepath.Join(dir, "two.npy"), filepath.Join(dir, "none.npy")
		for _, name := range []string{"a", "b"} {
			must(t, "", "create", group+"/"+name, "--shape", "3,0", "--dtype", "int16", "--chunks", "2", "--zarr-format", format)
		}
		for npy, shape := range map[string]string{file: "2,0", none: "0,0"} {
			must(t, "", "create", npy+".zarr", "--shape", shape, "--dtype", "int16")
			must(t, "", "export", npy+".zarr", "-o", npy)
		}
		a := group + "/a"
		for _, step := range []struct{ stdin, want, args string }{
			{"", "3 × 0 → 5 × 0", file},
			{"[[],[],[]]", "5 × 0 → 8 × 0", "--format json"},
			{"[]", "8 × 0 → 9 × 0", "--format json"}, // a plane
			{"", "9 × 0 → 9 × 0", none},
		} {
			if got := must(t, step.stdin, append([]string{"append", a}, strings.Fields(step.args)...)...); got != a+"  "+step.want+"\n" {
				t.Error(got)
			}
		}
		got := must(t, "", "append", group, "a="+file, "b="+file)
		if want := a + "  9 × 0 → 11 × 0\n" + group + "/b  3 × 0 → 5 × 0\n"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if _, errs, status := execute(t, "", "append", a); status != 1 || !strings.Contains(errs, ".npy or JSON") {
			t.Errorf("status %d, %s", status, errs)
		}
		if got := must(t, "", "resize", a, "--shape", "12,0"); got != a+"  11 × 0 → 12 × 0\n" {
			t.Error(got)
		}
	}
}
