// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	checking "varve.dev/zarr/check"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/internal/conventions"
	"varve.dev/zarr/store"
)

// askConventions returns a function that runs conventions.py, with the validators of
// interop/judges/setup if they are there, and whether they are.
func askConventions(t *testing.T) (ask func(answer any, args ...string), whole bool) {
	t.Helper()
	python := filepath.Join(cache(), "judges/bin/python")
	if _, err := os.Stat(python); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no validators of conventions; run interop/judges/setup")
		}
		python = interpreter(t)
	} else {
		whole = true
	}
	return func(answer any, args ...string) {
		t.Helper()
		c := exec.Command(python, append([]string{"conventions.py"}, args...)...)
		var said strings.Builder
		c.Stderr = &said
		out, err := c.Output()
		if err == nil {
			// Validators may print before the answer, which is the last line.
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			err = json.Unmarshal([]byte(lines[len(lines)-1]), answer)
		}
		if err != nil {
			t.Fatalf("conventions.py %q: %v\n%s", args, err, said.String())
		}
	}, whole
}

// brokenIn returns the rules that a hierarchy breaks, and what is said about them.
func brokenIn(t *testing.T, at string) (kinds []string, said string) {
	t.Helper()
	n, err := zarr.Open(t.Context(), at, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	report, err := checking.Run(t.Context(), n, &checking.Options{Conventions: conventions.Names()})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		kinds = append(kinds, string(f.Kind))
	}
	slices.Sort(kinds)
	return slices.Compact(kinds), report.String()
}

// TestConventions has xarray, GDAL, ome-zarr-py, ngff-zarr, anndata and zarr-cm write
// some 90 hierarchies, a part of which is then broken on purpose. A check says of each
// what is broken, and nothing about the others. The validators of the projects agree on
// which are valid. Images are then converted to the other format: the validators agree
// again, and ome-zarr-py reads them.
func TestConventions(t *testing.T) {
	ask, whole := askConventions(t)
	dir := t.TempDir()
	written, other := filepath.Join(dir, "written"), filepath.Join(dir, "other")
	for _, d := range []string{written, other} {
		if err := os.Mkdir(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	var all map[string]struct {
		Convention string
		Broken     []string
	}
	ask(&all, "write", written)
	if least := map[bool]int{true: 85, false: 40}[whole]; len(all) < least {
		t.Errorf("%d hierarchies, want %d", len(all), least)
	}
	for name, h := range all {
		if got, said := brokenIn(t, filepath.Join(written, name)); !slices.Equal(got, h.Broken) {
			t.Errorf("%s breaks %q, want %q\n%s", name, got, h.Broken, said)
		}
	}
	judge := func(dir string, broken func(name string) bool) (n int) {
		var judged map[string]string
		ask(&judged, "judge", dir)
		for name, why := range judged {
			if (why != "") != broken(name) {
				t.Errorf("%s: the validators say %.2000q, and varve that it is broken: %v", name, why, broken(name))
			}
		}
		return len(judged)
	}
	n := judge(written, func(name string) bool { return len(all[name].Broken) > 0 })
	t.Logf("%d hierarchies, of which validators judge %d", len(all), n)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		h := all[name]
		if h.Convention != "ome" || len(h.Broken) > 0 {
			continue
		}
		to := map[bool]int{true: 2, false: 3}[strings.HasSuffix(name, "_v3")]
		src, err := zarr.Locate(t.Context(), filepath.Join(written, name), store.ReadOnly)
		if err != nil {
			t.Fatal(err)
		}
		dst, err := zarr.Locate(t.Context(), filepath.Join(other, name), store.Create)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := convert.ConvertTo(t.Context(), src, dst, to, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, said := brokenIn(t, filepath.Join(other, name)); got != nil {
			t.Errorf("%s in format %d breaks %q\n%s", name, to, got, said)
		}
	}
	judge(other, func(string) bool { return false })
}
