// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestSpellings writes values in the spellings of other programs.
func TestSpellings(t *testing.T) {
	for _, c := range []struct{ dtype, value, want string }{
		{"float64", ".5", "[0.5]"}, {"float64", "5.", "[5.0]"}, {"float64", "+5", "[5.0]"}, {"float64", "-.5e1", "[-5.0]"},
		{"int16", "+5", "[5]"}, {"int16", "-5", "[-5]"},
		{"m8[s]", "6h", "[21600]"}, {"m8[s]", "1 h", "[3600]"}, {"m8[s]", "1d12h", "[129600]"}, {"m8[2s]", "-1 min", "[-30]"},
		{"float64", ".", ""}, {"float64", "", ""}, {"float64", "1e", ""}, {"int16", "+", ""}, {"uint8", "+-5", ""},
		{"m8[s]", "1.5s", ""}, {"m8[s]", "-", ""}, {"m8[s]", "", ""}, {"m8[M]", "1d", ""},
	} {
		node := newNode(t, "--shape", "1", "--dtype", c.dtype)
		_, errs, status := execute(t, "", "write", node, "--value", c.value)
		if c.want == "" && status == 1 && strings.Contains(errs, "expected") {
			continue
		}
		if got := must(t, "", "export", node, "--format", "json"); status != 0 || strings.TrimSpace(got) != c.want {
			t.Errorf("%s %q: status %d, %s, want %s; %s", c.dtype, c.value, status, got, c.want, errs)
		}
	}
}

// TestNegativeAttribute sets attributes to negative numbers, which look like flags.
func TestNegativeAttribute(t *testing.T) {
	node := newNode(t, "--shape", "1", "--dtype", "int8")
	for _, args := range [][]string{
		{"attrs", node, "set", "offset", "-5"}, {"attrs", node, "set", "offset", "-5", "--json"}, {"--json", "attrs", "--single-writer", node, "set", "offset", "-5"},
		{"attrs", "--", node, "set", "offset", "-5"}, {"attrs", node, "set", "offset", "--", "-5"},
	} {
		must(t, "", args...)
		if got := must(t, "", "attrs", node, "get", "offset"); strings.TrimSpace(got) != "-5" {
			t.Errorf("%q: %s", args, got)
		}
		must(t, "", "attrs", node, "unset", "offset")
	}
}

// TestCompletionReadsTwice completes lines with flags that may be given only once.
func TestCompletionReadsTwice(t *testing.T) {
	if out, errs, status := execute(t, "", "__complete", "create", "x", "--shape", "3", "--chunks", ""); status != 0 || !strings.Contains(out, "calendar:month\n") {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
}

// TestNamesWithSpace checks that space around names of dimensions is ignored, as in other
// lists.
func TestNamesWithSpace(t *testing.T) {
	node := newNode(t, "--shape", "2,3,4", "--dtype", "int8", "--dimension-names", "time, depth (m),")
	if got := must(t, "", "info", node, "--json"); !strings.Contains(got, `"dimension_names": ["time", "depth (m)", null]`) {
		t.Error(got)
	}
}

// TestIndexBeyond checks that a coordinate value is proposed only if the coordinate has it.
func TestIndexBeyond(t *testing.T) {
	g := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", g+"/t", "--shape", "3", "--dtype", "int16", "--dimension-names", "time")
	must(t, "", "create", g+"/time", "--shape", "3", "--dtype", "int64", "--dimension-names", "time", "--attributes", `{"units":"days since 2020-01-01"}`)
	must(t, "[0,31,60]", "write", g+"/time", "--format", "json")
	for sel, told := range map[string]bool{"5000": false, "2020": true, "time=5000": true} {
		_, errs, status := execute(t, "", "cat", g+"/t", "--select", sel)
		if status != 1 || strings.Contains(errs, "the coordinate value is") != told {
			t.Errorf("%s: status %d, %s", sel, status, errs)
		}
	}
}

// TestOldChunksInPlace checks that --overwrite is advised only for files that may be
// chunks.
func TestOldChunksInPlace(t *testing.T) {
	dir := t.TempDir()
	overwrite(t, filepath.Join(dir, "a", "c", "0"), "x")
	create := []string{"create", filepath.Join(dir, "a"), "--shape", "3", "--dtype", "int8"}
	if _, errs, status := execute(t, "", create...); status != 1 || !strings.Contains(errs, "--overwrite removes them") {
		t.Errorf("status %d, %s", status, errs)
	}
	overwrite(t, filepath.Join(dir, "a", "notes.txt"), "x")
	if _, errs, status := execute(t, "", create...); status != 1 || strings.Contains(errs, "--overwrite") || !strings.Contains(errs, "notes.txt") {
		t.Errorf("status %d, %s", status, errs)
	}
}
