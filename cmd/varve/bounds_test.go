// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// boundedGroup creates a group with a time coordinate whose bounds are another array, and
// returns its location. It gets the attributes of both.
func boundedGroup(t *testing.T, coordinate, bounds string) string {
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group, "--group")
	must(t, "", "create", group+"/time", "--shape", "2", "--dtype", "int64", "--dimension-names", "time", "--attributes", coordinate)
	must(t, "", "create", group+"/edges", "--shape", "2,2", "--dtype", "int64", "--dimension-names", "time,nv", "--attributes", bounds)
	must(t, "[[0, 1], [1, 2]]", "write", group+"/edges", "-", "--format", "json")
	return group
}

// TestDecodeBounds decodes bounds like their coordinate, as xarray 2026.9 does. Units and
// calendar of the bounds have precedence, independently.
func TestDecodeBounds(t *testing.T) {
	const (
		days  = `"units": "days since 2000-02-28"`
		edges = `"bounds": "edges"`
		dates = `[["2000-02-28","2000-02-29"],["2000-02-29","2000-03-01"]]`
		plain = `[[0,1],[1,2]]`
	)
	for _, c := range []struct{ coordinate, bounds, want string }{
		{`{` + days + `, ` + edges + `}`, `{}`, `[["2000-02-28T00:00:00","2000-02-29T00:00:00"],["2000-02-29T00:00:00","2000-03-01T00:00:00"]]`},
		{`{` + days + `, ` + edges + `, "calendar": "all_leap"}`, `{}`, dates},
		{`{` + days + `, ` + edges + `, "calendar": "noleap"}`, `{` + days + `}`, `[["2000-02-28","2000-03-01"],["2000-03-01","2000-03-02"]]`},
		{`{` + days + `, ` + edges + `, "calendar": "noleap"}`, `{` + days + `, "calendar": "julian"}`, dates},
		{`{` + days + `, ` + edges + `}`, `{"units": "hours since 2000-01-01"}`, `[["2000-01-01T00:00:00","2000-01-01T01:00:00"],["2000-01-01T01:00:00","2000-01-01T02:00:00"]]`},
		{`{` + days + `}`, `{}`, plain},
		{`{` + days + `, "bounds": "other"}`, `{}`, plain},
		{`{` + days + `, "climatology": "edges"}`, `{}`, plain}, // xarray leaves these
		{`{"units": "days", ` + edges + `}`, `{}`, plain},
		{`{` + days + `, ` + edges + `}`, `{"units": "K"}`, plain},
	} {
		group := boundedGroup(t, c.coordinate, c.bounds)
		got, errs, status := execute(t, "", "export", group+"/edges", "--decode", "--format", "json")
		if status != 0 || errs != "" || strings.TrimSpace(got) != c.want {
			t.Errorf("%s, bounds %s: status %d, %s%s", c.coordinate, c.bounds, status, got, errs)
		}
	}
}

// TestDecodeBoundsOfOther decodes bounds that lack the dimension of their coordinate, and
// bounds in a group with consolidated metadata.
func TestDecodeBoundsOfOther(t *testing.T) {
	group := boundedGroup(t, `{}`, `{}`)
	must(t, "", "create", group+"/valid", "--shape", "2", "--dtype", "int64", "--dimension-names", "time",
		"--attributes", `{"units": "days since 2000-01-01", "calendar": "360_day", "bounds": "edges"}`)
	const want = `[["2000-01-01","2000-01-02"],["2000-01-02","2000-01-03"]]`
	for range 2 {
		if got := must(t, "", "export", group+"/edges", "--decode", "--format", "json"); strings.TrimSpace(got) != want {
			t.Errorf("%s", got)
		}
		must(t, "", "consolidate", group)
	}
	// The bounds of an int64 coordinate have NaT, too.
	must(t, "", "write", group+"/edges", "--value", "-9223372036854775808", "--select", "0,0")
	if got := must(t, "", "cat", group+"/edges", "--decode"); !strings.Contains(got, "NaT") {
		t.Errorf("%s", got)
	}
}

// TestBoundsKeepSense converts bounds whose coordinates count from another time, refuses
// those of another calendar, and takes those with equal units or from a file.
func TestBoundsKeepSense(t *testing.T) {
	const since2000 = `{"units": "days since 2000-01-01", "bounds": "edges"}`
	for _, c := range []struct{ coordinate, bounds, refused string }{
		{since2000, `{}`, ""},
		{since2000, `{"units": "day since 2000-1-1"}`, ""},
		{`{"units": "days since 2001-01-01", "bounds": "edges"}`, `{}`, ""},
		{`{"units": "days since 2000-01-01", "calendar": "noleap", "bounds": "edges"}`, `{}`, `calendar is "noleap" there and none here`},
		{`{"units": "days since 2001-01-01"}`, `{}`, ""}, // bare numbers
	} {
		from, to := boundedGroup(t, c.coordinate, c.bounds), boundedGroup(t, since2000, `{}`)
		_, errs, status := execute(t, "", "append", to+"/edges", from+"/edges", "--alone")
		if (status == 0) != (c.refused == "") || !strings.Contains(errs, c.refused) {
			t.Errorf("%s, %s: status %d, %s", c.coordinate, c.bounds, status, errs)
		}
		if c.refused == "" && strings.Contains(c.coordinate, "edges") { // they mean what they meant
			was, is := must(t, "", "cat", from+"/edges", "--decode", "--select", "-1"), must(t, "", "cat", to+"/edges", "--decode", "--select", "-1")
			if is != was || !strings.Contains(is, "T00:00:00") {
				t.Errorf("%s, %s: %s, want %s", c.coordinate, c.bounds, is, was)
			}
		}
	}
}
