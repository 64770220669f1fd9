// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestDecodeNaT decodes the most negative int64 in an array of times as xarray 2026.9
// does: as NaT.
func TestDecodeNaT(t *testing.T) {
	const values = "[0,-9223372036854775808,5]"
	for _, c := range []struct{ dtype, attributes, values, csv, cat, times string }{
		{"int64", `{"units": "days since 2000-01-01"}`, values,
			"2000-01-01T00:00:00\nNaT\n2000-01-06T00:00:00\n", "[2000-01-01        NaT 2000-01-06]\n", "2000-01-01 … 2000-01-06"},
		{"int64", `{"units": "days since 2000-01-01", "calendar": "360_day"}`, values,
			"2000-01-01\nNaT\n2000-01-06\n", "[2000-01-01        NaT 2000-01-06]\n", "2000-01-01 … 2000-01-06"},
		{"int64", `{"units": "days since 2000-01-01"}`, "[0,5,-9223372036854775808]",
			"2000-01-01T00:00:00\n2000-01-06T00:00:00\nNaT\n", "[2000-01-01 2000-01-06        NaT]\n", "2000-01-01 … NaT"},
		{"int64", `{"units": "days"}`, values, "0 D\nNaT\n5 D\n", "[                   0 -9223372036854775808                    5]\n", ""},
		{"float64", `{"units": "days since 2000-01-01", "calendar": "360_day"}`, `[0.0,5.0,"NaN"]`,
			"2000-01-01\n2000-01-06\nNaT\n", "[2000-01-01 2000-01-06        NaT]\n", "2000-01-01 … NaT"},
		{"int32", `{"units": "days since 2000-01-01", "_FillValue": -1}`, "[0,5,-1]",
			"2000-01-01T00:00:00\n2000-01-06T00:00:00\nNaT\n", "[2000-01-01 2000-01-06        NaT]\n", "2000-01-01 … NaT"},
	} {
		node := newNode(t, "--shape", "3", "--dtype", c.dtype, "--attributes", c.attributes)
		must(t, c.values, "write", node, "--format", "json")
		if got := must(t, "", "export", node, "--decode", "--format", "csv"); got != c.csv {
			t.Errorf("%s: csv %q", c.attributes, got)
		}
		if got := must(t, "", "export", node, "--decode", "--format", "json"); !strings.Contains(got, `"NaT"`) {
			t.Errorf("%s: json %q", c.attributes, got)
		}
		if _, errs, status := execute(t, "", "export", node, "--decode", "--format", "npy"); (status == 0) != !strings.Contains(c.attributes, "360_day") {
			t.Errorf("%s: npy: status %d, %s", c.attributes, status, errs)
		}
		if got := must(t, "", "cat", node); got != c.cat {
			t.Errorf("%s: cat %q", c.attributes, got)
		}
		if got := must(t, "", "info", node); !strings.Contains(got, c.times) {
			t.Errorf("%s: %s", c.attributes, got)
		}
	}
}

// TestMissingCoordinate selects by coordinates with a missing value, and checks them.
func TestMissingCoordinate(t *testing.T) {
	for _, c := range []struct{ dtype, format, attributes, values, sel, want, check string }{
		{"int32", "3", `{"units": "days since 2000-01-01", "_FillValue": -1}`, "[-3,-1,5]", "x=2000-01-01", "0", "element 1 is missing"},
		{"int32", "3", `{"units": "days since 2000-01-01", "missing_value": [-1, -2]}`, "[-3,-2,5]", "x=2000-01-01", "0", "element 1 is missing"},
		{"float64", "3", `{"units": "days since 2000-01-01", "missing_value": 1e20}`, "[0.0,1.0,1e20]", "x=2000-01-02T12:00", "1", "element 2 is missing"},
		{"int64", "3", `{"units": "days since 2000-01-01"}`, "[0,1,-9223372036854775808]", "x=2000-01-02", "1", "element 2 is missing"},
		{"int16", "3", `{"scale_factor": 0.5, "_FillValue": -999}`, "[-2000,-999,3000]", "x=-450.0", "0", "element 1 is missing"},
		{"int16", "3", `{"missing_value": -999}`, "[1,-999,3]", "x=..3", "", "element 1 is missing"},
		{"float32", "2", `{"missing_value": -999.0}`, "[-2000.0,-999.0,3000.0]", "x=-900.0", "0", "element 1 is missing"},
		{"int32", "3", `{"units": "days since 2000-01-01", "_FillValue": 0}`, "[-1,0,1]", "x=2000-01-01", "1", ""},
		{"int16", "2", `{}`, "[-1,0,1]", "x=0.0", "1", ""},
	} {
		group := filepath.Join(t.TempDir(), "g.zarr")
		must(t, "", "create", group, "--group", "--zarr-format", c.format)
		for name, dtype := range map[string]string{"x": c.dtype, "data": "int8"} {
			attributes := "{}"
			if name == "x" {
				attributes = c.attributes
			}
			more := []string{"--shape", "3", "--dtype", dtype, "--dimension-names", "x", "--zarr-format", c.format, "--attributes", attributes, "--fill", "0"}
			createNoted(t, group+"/"+name, more...)
		}
		must(t, c.values, "write", group+"/x", "--format", "json")
		must(t, "[0,1,2]", "write", group+"/data", "--format", "json")
		out, errs, status := execute(t, "", "export", group+"/data", "--select", c.sel, "--format", "json")
		if strings.TrimSpace(out) != c.want || (status == 0) != (c.want != "") {
			t.Errorf("%s %s: status %d, %q, %s", c.attributes, c.sel, status, out, errs)
		}
		out, _, status = execute(t, "", "check", group)
		if !strings.Contains(out, c.check) || status == 1 != (c.check != "" && strings.Contains(c.attributes, "since")) {
			t.Errorf("%s: status %d, %s", c.attributes, status, out)
		}
	}
}

// TestCheckUnpacked checks that values of a packed coordinate are printed as a selection
// takes them.
func TestCheckUnpacked(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group+"/lat", "--shape", "3", "--dtype", "int16", "--dimension-names", "lat", "--attributes", `{"scale_factor": 0.5, "add_offset": 10}`)
	must(t, "[2,4,3]", "write", group+"/lat", "--format", "json")
	if out := must(t, "", "check", group); !strings.Contains(out, "element 2 is 11.5, but element 1 before it is 12") {
		t.Error(out)
	}
}

// TestDecodeUnmet decodes numbers that cannot equal the missing value, as xarray 2026.9
// does, with a note.
func TestDecodeUnmet(t *testing.T) {
	for _, c := range []struct{ dtype, format, attributes, values, want, unmet string }{
		{"uint8", "2", `{"_FillValue": -1}`, "[0,255,5]", "[0.0,255.0,5.0]", "type uint8 can be _FillValue -1"},
		{"uint8", "3", `{"_FillValue": -1}`, "[0,255,5]", "[0.0,255.0,5.0]", "type uint8 can be _FillValue -1"},
		{"uint8", "2", `{"_FillValue": -1, "_Unsigned": "true"}`, "[0,255,5]", "[0.0,255.0,5.0]", "type uint8 can be _FillValue -1"},
		{"uint8", "2", `{"_FillValue": -1, "_Unsigned": "false"}`, "[0,255,5]", `[0.0,"NaN",5.0]`, ""},
		{"int16", "2", `{"_FillValue": "-9999"}`, "[0,-9999,5]", "[0.0,-9999.0,5.0]", `int16 can be _FillValue "-9999"`},
		{"float32", "2", `{"_FillValue": "-9999"}`, "[0.0,-9999.0,5.0]", "[0.0,-9999.0,5.0]", `float32 can be _FillValue "-9999"`},
		{"int16", "3", `{"missing_value": [99999, 5]}`, "[0,-9999,5]", `[0.0,-9999.0,"NaN"]`, "int16 can be missing_value 99999"},
		{"int16", "3", `{"missing_value": 1.5, "_FillValue": null}`, "[0,1,5]", "[0.0,1.0,5.0]", "int16 can be missing_value 1.5"},
		{"int16", "3", `{"missing_value": []}`, "[0,1,5]", "[0,1,5]", ""},
	} {
		node := newNode(t, "--shape", "3", "--dtype", c.dtype, "--zarr-format", c.format, "--attributes", c.attributes)
		if c.format == "2" {
			noFill(t, node)
		}
		must(t, c.values, "write", node, "--format", "json")
		for _, command := range [][]string{{"export", "--format", "json"}, {"cat"}} {
			out, errs, status := execute(t, "", append(command, node, "--decode")...)
			if status != 0 || command[0] == "export" && out != c.want+"\n" {
				t.Errorf("%s %s: status %d, %s", c.dtype, c.attributes, status, out)
			}
			if (errs != "") != (c.unmet != "") || !strings.Contains(errs, c.unmet) {
				t.Errorf("%s %s: %q", c.dtype, c.attributes, errs)
			}
		}
	}
}

// TestDecodeFloats checks that decoded floats have the types of xarray 2026.9.
func TestDecodeFloats(t *testing.T) {
	for dtype, masked := range map[string]string{
		"float16": "float16", "float32": "float32", "float64": "float64", "int8": "float32", "uint8": "float32", "int16": "float32",
		"uint16": "float32", "int32": "float64", "uint32": "float64", "int64": "float64",
	} {
		for attributes, want := range map[string]string{
			`{"missing_value": 1}`: masked, `{"missing_value": 1, "scale_factor": 0.1}`: "float64", `{"add_offset": 0.5}`: "float64",
		} {
			node := newNode(t, "--shape", "3", "--dtype", dtype, "--attributes", attributes)
			must(t, "[0,1,7]", "write", node, "--format", "json")
			if got := decode(t, must(t, "", "cat", node, "--decode", "--json"))["data_type"]; got != want {
				t.Errorf("%s %s: %v", dtype, attributes, got)
			}
		}
	}
	node := newNode(t, "--shape", "3", "--dtype", "float32", "--attributes", `{"missing_value": 1}`)
	must(t, "[0.1,1,-7.3]", "write", node, "--format", "json")
	if got := must(t, "", "export", node, "--decode", "--format", "csv"); got != "0.1\nnan\n-7.3\n" {
		t.Error(got)
	}
	if got := must(t, "", "export", node, "--decode", "--format", "npy"); !strings.Contains(got, "'<f4'") || !strings.HasSuffix(got, "\xcd\xcc\xcc\x3d\x00\x00\xc0\x7f\x9a\x99\xe9\xc0") {
		t.Errorf("%q", got)
	}
}

// TestUnwrittenMissing accepts coordinates whose end, or all of it, is not written yet,
// if the fill value is the missing value.
func TestUnwrittenMissing(t *testing.T) {
	for values, want := range map[string]string{
		"[-1,-1,-1,-1]": "", "[3,4,-1,-1]": "",
		"[3,-1,5,-1]": "1 element from 1 on is the fill value", "[-1,4,5,6]": "1 element from 0 on is the fill value",
	} {
		node := filepath.Join(t.TempDir(), "g.zarr", "t")
		must(t, "", "create", node, "--shape", "4", "--dtype", "int32", "--fill", "-1", "--dimension-names", "t",
			"--attributes", `{"units": "days since 2000-01-01", "_FillValue": -1}`)
		must(t, values, "write", node, "--format", "json")
		out, _, status := execute(t, "", "check", node)
		if (status == 1) != (want != "") || !strings.Contains(out, want) {
			t.Errorf("%s: status %d, %s", values, status, out)
		}
	}
}
