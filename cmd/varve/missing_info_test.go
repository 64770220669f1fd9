// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestMissingValueShown checks that info prints the missing values of attributes, and
// that JSON is not changed.
func TestMissingValueShown(t *testing.T) {
	for _, c := range []struct{ dtype, attributes, want string }{
		{"float32", `{"_FillValue": "AAAAAAAA+H8="}`, "NaN"}, // as xarray writes it
		{"float32", `{"_FillValue": "AAAAAAAA8D8="}`, "1.0"},
		{"float64", `{"_FillValue": "NaN"}`, "NaN"},
		{"float64", `{"_FillValue": -9999}`, "-9999.0"},
		{"int16", `{"_FillValue": -1, "missing_value": [-2, -1, -3]}`, "-1, -2, -3"},
		{"int16", `{"_FillValue": "?", "missing_value": 7}`, "7"},
		{"string", `{"missing_value": "none"}`, "none"},
		{"complex64", `{"_FillValue": ["AAAAAAAA8D8=", "AAAAAAAA+H8="]}`, `[1.0,"NaN"]`},
		{"int16", `{"units": "K"}`, ""},
	} {
		node := newNode(t, "--shape", "2", "--dtype", c.dtype, "--attributes", c.attributes)
		_, after, found := strings.Cut(must(t, "", "info", node), "missing value")
		got, _, _ := strings.Cut(after, "\n")
		if strings.TrimSpace(got) != c.want || found != (c.want != "") {
			t.Errorf("%s %s: %q, want %q", c.dtype, c.attributes, got, c.want)
		}
		if strings.Contains(must(t, "", "info", "--json", node), "missing value") {
			t.Errorf("%s: it is in JSON", c.attributes)
		}
	}
}

// TestMissingFillShown checks that info prints the fill value of format 2 if xarray takes
// it for missing, and not the attribute that xarray then ignores.
func TestMissingFillShown(t *testing.T) {
	for _, c := range []struct{ dtype, fill, attributes, want string }{
		{"int16", "-99", `{}`, "-99"},
		{"float32", "NaN", `{"missing_value": -1}`, "NaN, -1.0"},
		{"int16", "-99", `{"_FillValue": -1, "missing_value": [-99, -2]}`, "-99, -2"},
		{"int16", "null", `{"_FillValue": -1}`, "-1"},
		{"int16", "null", `{}`, ""},
		{"bool", "false", `{}`, "false"},
		{"M8[s]", "0", `{}`, ""},
	} {
		node := newNode(t, "--shape", "2", "--dtype", c.dtype, "--zarr-format", "2", "--dimension-names", "x", "--fill", c.fill, "--attributes", c.attributes)
		_, after, _ := strings.Cut(must(t, "", "info", node), "missing value")
		got, _, _ := strings.Cut(after, "\n")
		if strings.TrimSpace(got) != c.want {
			t.Errorf("%s %s %s: %q, want %q", c.dtype, c.fill, c.attributes, got, c.want)
		}
	}
	// xarray does not open an array whose dimensions have no names.
	if out := must(t, "", "info", newNode(t, "--shape", "2", "--dtype", "int16", "--zarr-format", "2", "--fill", "-99")); strings.Contains(out, "missing value") {
		t.Error(out)
	}
}
