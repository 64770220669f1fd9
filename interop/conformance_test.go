// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestConformance checks that the command prints arrays as
// github.com/Bisaloo/zarr-conformance-tests expects: with status 0, and here also every
// element as zarr-python reads it. ZARR_CONFORMANCE_DATA names another folder of arrays.
func TestConformance(t *testing.T) {
	run, dir := scriptOf(t, "everything.py"), os.Getenv("ZARR_CONFORMANCE_DATA")
	if dir == "" {
		dir = t.TempDir()
		run("conformance", dir)
	}
	program := filepath.Join(t.TempDir(), "varve")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = filepath.Join("..", "cmd", "varve")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := map[string][]string{}
	for line := range strings.Lines(run("lines", dir)) {
		name, elem, _ := strings.Cut(strings.TrimSpace(line), " ")
		want[name] = append(want[name], elem)
	}
	if len(want) < 6 {
		t.Errorf("%d arrays, the protocol has 6", len(want))
	}
	for name, elements := range want {
		out, err := exec.Command(program, "conformance", "--array_path="+filepath.Join(dir, name)).Output()
		check(t, err)
		got := strings.Split(strings.TrimSpace(string(out)), "\n")
		if !slices.EqualFunc(got, elements, sameJSON) {
			t.Errorf("%s: %d lines\n%.200q\nwant %d\n%.200q", name, len(got), got, len(elements), elements)
		}
	}
}

// sameJSON reports whether two texts encode the same value.
func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && x == y
}
