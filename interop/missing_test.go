// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store"
)

// TestMissing converts groups with all kinds of missing values to the other format, in
// another place and in place, and back. xarray reads the same from all of them.
func TestMissing(t *testing.T) {
	run, dir := scriptMissing(t), t.TempDir()
	run("write", dir)
	place := func(name string) *zarr.Location {
		at, err := zarr.Locate(t.Context(), filepath.Join(dir, name), store.Create)
		check(t, err)
		return at
	}
	of := map[string]string{} // the source of each group
	for name, to := range map[string]int{"2": 3, "3": 2, "3as2": 2} {
		of[name] = name
		for i, format := range []int{to, to, 5 - to} {
			next := fmt.Sprint(name, "-", i)
			var err error
			switch {
			case i == 0:
				_, err = convert.ConvertTo(t.Context(), place(name), place(next), format, nil)
			case name == "3":
				continue // format 2 does not have its chunk keys
			default: // in place, and back again
				check(t, os.CopyFS(filepath.Join(dir, next), os.DirFS(filepath.Join(dir, name))))
				_, err = convert.Convert(t.Context(), place(next), to, nil)
				if err == nil && format != to {
					_, err = convert.Convert(t.Context(), place(next), format, nil)
				}
			}
			check(t, err)
			of[next] = name
		}
	}
	names := slices.Sorted(maps.Keys(of))
	args := []string{"read"}
	for _, name := range names {
		args = append(args, filepath.Join(dir, name))
	}
	read := map[string]map[string]any{}
	for i, line := range strings.Split(strings.TrimSpace(run(args...)), "\n") {
		var v map[string]any
		decode(t, json.RawMessage(line), &v)
		read[names[i]] = v
	}
	for _, name := range names {
		want := read[of[name]]
		if len(want) < 25 {
			t.Errorf("%s has only %d variables", of[name], len(want))
		}
		for variable, v := range want {
			if got := read[name][variable]; !reflect.DeepEqual(got, v) {
				t.Errorf("%s: xarray reads %s as\n%v, in %s as\n%v", name, variable, got, of[name], v)
			}
		}
	}
}

// scriptMissing returns a function that runs missing.py and returns its output. Without
// xarray the test is skipped, or fails if $CI is "true".
func scriptMissing(t *testing.T) func(args ...string) string {
	python := interpreter(t)
	if out, err := exec.Command(python, "-c", "import xarray").CombinedOutput(); err != nil {
		missing := "no xarray; run interop/setup: " + strings.TrimSpace(string(out))
		if os.Getenv("CI") == "true" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	return func(args ...string) string {
		t.Helper()
		var errs strings.Builder
		c := exec.Command(python, append([]string{"missing.py"}, args...)...)
		c.Stderr = &errs
		out, err := c.Output()
		if err != nil {
			t.Fatalf("missing.py %q: %v\n%s", args, err, errs.String())
		}
		return string(out)
	}
}

// TestCreatedV2 creates a group of format 2 with default arrays. xarray opens it,
// including an array of rank 0, and reads no zero as missing data.
func TestCreatedV2(t *testing.T) {
	run, dir := scriptMissing(t), filepath.Join(t.TempDir(), "g.zarr")
	ctx := t.Context()
	for name, spec := range map[string]zarr.Spec{
		"numbers": {Shape: []int64{4}, Type: dtype.Int16, DimensionNames: []string{"x"}, Chunks: grid.Chunks(2)},
		"truths":  {Shape: []int64{4}, Type: dtype.Bool, DimensionNames: []string{"x"}},
		"scalar":  {Type: dtype.Int32},
	} {
		spec.Format = 2
		a, err := zarr.CreateArray(ctx, filepath.Join(dir, name), spec, nil)
		check(t, err)
		if name == "numbers" {
			check(t, zarr.Write(ctx, a, nil, []int16{0, 0, 0, 7}))
			if _, err := a.ChunkInfo(ctx, []int64{0}); err != nil {
				t.Error("a chunk of zeros that was written is missing:", err)
			}
		}
	}
	want := `{"numbers": {"shape": [4], "values": [0, 0, 0, 7]}, "scalar": {"shape": [], "values": [0]}, ` +
		`"truths": {"shape": [4], "values": [false, false, false, false]}}` + "\n"
	if got := run("read", dir); got != want {
		t.Errorf("xarray reads\n%s, want\n%s", got, want)
	}
}

// TestGrowthAttribute opens a group whose arrays have their growth policy as an
// attribute, as `varve create --grow` stores it. xarray and zarr-python read it as an
// ordinary attribute.
func TestGrowthAttribute(t *testing.T) {
	run, dir := scriptMissing(t), filepath.Join(t.TempDir(), "g.zarr")
	t.Setenv("ZARR_ARRAY__RECTILINEAR_CHUNKS", "true")
	ctx, days := t.Context(), make([]int32, 60)
	for i := range days {
		days[i] = int32(i)
	}
	for name, spec := range map[string]zarr.Spec{
		"time": {Attributes: map[string]any{"units": "hours since 2026-01-01", "calendar": "standard"}},
		"t2m": {Chunks: []grid.Cut{grid.Edges(31, 28, 1)}, Attributes: map[string]any{
			"varve:growth": map[string]any{"policy": "calendar:month", "time": "time"},
		}},
	} {
		spec.Shape, spec.Type, spec.DimensionNames = []int64{60}, dtype.Int32, []string{"time"}
		a, err := zarr.CreateArray(ctx, filepath.Join(dir, name), spec, nil)
		check(t, err)
		check(t, zarr.Write(ctx, a, nil, days))
	}
	var read map[string]struct{ Values []any }
	decode(t, json.RawMessage(run("read", dir)), &read)
	for i, v := range read["t2m"].Values {
		if fmt.Sprint(v) != fmt.Sprint(days[i]) {
			t.Fatalf("xarray reads %v at %d", v, i)
		}
	}
	if len(read["t2m"].Values) != 60 || len(read["time"].Values) != 60 {
		t.Errorf("xarray reads %d values and %d times", len(read["t2m"].Values), len(read["time"].Values))
	}
}
