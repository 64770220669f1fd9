// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/output"
)

// TestUnnamed checks the note about arrays without dimension names, which prevent xarray
// from opening their group.
func TestUnnamed(t *testing.T) {
	without := "no dimension names, and other arrays of its group have some"
	for _, format := range []string{"2", "3"} {
		g := filepath.Join(t.TempDir(), "g.zarr")
		must(t, "", "create", g+"/t", "--shape", "4,6", "--dtype", "int8", "--dimension-names", "y,x", "--zarr-format", format)
		must(t, "", "create", g+"/plain/a", "--shape", "4", "--dtype", "int8")
		for _, c := range []struct{ args, note string }{
			{"create g/scalar --shape= --dtype int8", ""}, // has all names there are
			{"create g/mask --shape 4,6 --dtype int8", without},
			{"copy g/mask g/copied", without},
			{"copy g/mask g/copied2 --dry-run", without},
			{"convert g/mask g/converted --to " + format, without},
			{"create g/plain/b --shape 4 --dtype int8", ""}, // nothing there is for xarray
			{"copy g/t g/named", ""},
		} {
			wantNote(t, g, c.args, c.note)
		}
		if info := must(t, "", "info", g+"/mask"); !strings.Contains(info, "xarray (no dimension names)") {
			t.Errorf("format %s: info: %s", format, info)
		}
		got := must(t, "", "check", g)
		if n := strings.Count(got, "note: "+without); n != 3 || strings.Contains(got, "plain/a  note") {
			t.Errorf("format %s: %d notes: %s", format, n, got)
		}
		if a := decode(t, must(t, "", "check", "--json", g)); !strings.Contains(string(output.Text(a)), `"notes":["`+without) {
			t.Errorf("format %s: check: %v", format, a)
		}
	}
}

// TestNamesAttribute checks the notes after changes of the attribute _ARRAY_DIMENSIONS,
// which names dimensions in format 2 only.
func TestNamesAttribute(t *testing.T) {
	g := filepath.Join(t.TempDir(), "g.zarr")
	for _, name := range []string{"/t", "/u"} {
		must(t, "", "create", g+name, "--shape", "4,6", "--dtype", "int8", "--dimension-names", "y,x", "--zarr-format", "2")
	}
	for _, c := range []struct{ args, note string }{
		{`attrs g/t set _ARRAY_DIMENSIONS ["x","y"]`, `dimension "x" has length 4 in t and length 6 in u of its group: xarray does not open such a group`},
		{`attrs g/t set _ARRAY_DIMENSIONS ["x"]`, "attribute _ARRAY_DIMENSIONS has 1 name for 2 axes: xarray does not open such a group"},
		{`attrs g/t set _ARRAY_DIMENSIONS "x"`, "attribute _ARRAY_DIMENSIONS is not a list of names: xarray does not open such a group"},
	} {
		wantNote(t, g, c.args, c.note)
	}
	for command, want := range map[string]string{
		"info":  "xarray (attribute _ARRAY_DIMENSIONS is not a list of names)",
		"check": "note: attribute _ARRAY_DIMENSIONS is not a list of names: xarray does not open such a group",
	} {
		if got := must(t, "", command, g+"/t"); !strings.Contains(got, want) {
			t.Errorf("%s: %s", command, got)
		}
	}
	wantNote(t, g, "attrs g/t unset _ARRAY_DIMENSIONS", "no dimension names: xarray does not open a group with such an array")
	wantNote(t, g, `attrs g/t set _ARRAY_DIMENSIONS ["y","x"]`, "")
	wantNote(t, g, `attrs g/t set title "x"`, "")
}

// TestMissingIgnored checks the note if xarray takes the fill value of format 2 instead
// of the attribute _FillValue.
func TestMissingIgnored(t *testing.T) {
	for fill, note := range map[string]string{"NaN": "xarray takes the fill value NaN of format 2 as the missing value", "null": "", "7": ""} {
		g := filepath.Join(t.TempDir(), "g.zarr")
		must(t, "", "create", g+"/t", "--shape", "4", "--dtype", "float32", "--dimension-names", "x", "--zarr-format", "2", "--fill", fill)
		wantNote(t, g, "attrs g/t set _FillValue 7.0", note)
	}
	// In an image the fill value is never missing.
	g := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", g, "--group", "--zarr-format", "2", "--attributes", `{"multiscales": [{"datasets": [{"path": "t"}]}]}`)
	must(t, "", "create", g+"/t", "--shape", "4", "--dtype", "float32", "--dimension-names", "x", "--zarr-format", "2", "--fill", "NaN")
	wantNote(t, g, "attrs g/t set _FillValue 7.0", "")
}

// wantNote runs a command on the group g and expects a note, or none.
func wantNote(t *testing.T, group, args, want string) {
	t.Helper()
	words := strings.Fields(args)
	for i, w := range words {
		if rest, is := strings.CutPrefix(w, "g/"); is {
			words[i] = group + "/" + rest
		}
	}
	_, stderr, status := execute(t, "", words...)
	if status != 0 || !strings.Contains(stderr, want) || want == "" && strings.Contains(stderr, "note") {
		t.Errorf("%s: status %d, %s, want %q", args, status, stderr, want)
	}
}
