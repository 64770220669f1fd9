// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/failure"
)

// TestDecode decodes packed numbers and times.
func TestDecode(t *testing.T) {
	packed := newNode(t, "--shape", "4", "--dtype", "int16",
		"--attributes", `{"scale_factor": 0.5, "add_offset": [10], "_FillValue": -1, "missing_value": [-2, -3]}`)
	must(t, "[0,1,-1,-3]", "write", packed, "--format", "json")
	if got := must(t, "", "cat", packed, "--decode"); got != "[10.0 10.5  nan  nan]\n" {
		t.Error(got)
	}
	if got := must(t, "", "export", packed, "--decode", "--format", "json"); got != "[10.0,10.5,\"NaN\",\"NaN\"]\n" {
		t.Error(got)
	}
	if got := must(t, "", "export", packed, "--decode", "--select", "1"); got != "\x00\x00\x00\x00\x00\x00\x25\x40" {
		t.Errorf("%q", got)
	}
	if got := must(t, "", "cat", packed); got != "[ 0  1 -1 -3]\n" {
		t.Error(got)
	}
	floats := newNode(t, "--shape", "2", "--dtype", "float32", "--attributes", `{"_FillValue": "AAAAAAAA8D8="}`) // 1.0, as xarray writes it
	must(t, "[1.0,2.0]", "write", floats, "--format", "json")
	if got := must(t, "", "cat", floats, "--decode"); got != "[nan 2.0]\n" {
		t.Error(got)
	}
	plain := newNode(t, "--shape", "2", "--dtype", "int8")
	if got := must(t, "", "export", plain, "--decode"); got != "\x00\x00" {
		t.Errorf("%q", got)
	}
	bad := newNode(t, "--shape", "2", "--dtype", "int8", "--attributes", `{"scale_factor": "x"}`)
	if _, errs, status := execute(t, "", "cat", bad, "--decode"); status != 1 || !strings.Contains(errs, "scale_factor") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestDecodeTimes decodes times of both formats and of several types.
func TestDecodeTimes(t *testing.T) {
	for _, format := range []string{"2", "3"} {
		for _, c := range []struct{ dtype, values, csv string }{
			{"int32", "[1,31]", "2000-01-02T00:00:00\n2000-02-01T00:00:00\n"},
			{"uint16", "[1,31]", "2000-01-02T00:00:00\n2000-02-01T00:00:00\n"},
			{"float64", `[1.5,"NaN"]`, "2000-01-02T12:00:00.000000\nNaT\n"},
		} {
			node := newNode(t, "--shape", "2", "--dtype", c.dtype, "--zarr-format", format, "--attributes", `{"units": "days since 2000-01-01"}`)
			must(t, c.values, "write", node, "--format", "json")
			if got := must(t, "", "export", node, "--decode", "--format", "csv"); got != c.csv {
				t.Errorf("%s: %s", c.dtype, got)
			}
			if got := must(t, "", "cat", node); !strings.HasPrefix(got, "[2000-01-02") {
				t.Errorf("%s: %s", c.dtype, got)
			}
			if got := must(t, "", "info", node); !strings.Contains(strings.Join(strings.Fields(got), " "), "times 2000-01-02") {
				t.Errorf("%s: %s", c.dtype, got)
			}
			facts := decode(t, must(t, "", "info", "--json", node))
			if times, _ := facts["times"].([]any); len(times) != 2 {
				t.Errorf("%s: %v", c.dtype, facts)
			}
		}
	}
}

// TestCalendars prints dates of every calendar, and decodes those that exist.
func TestCalendars(t *testing.T) {
	for _, c := range []struct{ units, calendar, cat, csv string }{
		{"days since 2000-02-28", "noleap", "[2000-02-28 2000-03-01 2000-03-02]", "2000-02-28\n2000-03-01\n2000-03-02\n"},
		{"days since 2001-02-28", "all_leap", "[2001-02-28 2001-02-29 2001-03-01]", "2001-02-28\n2001-02-29\n2001-03-01\n"},
		{"days since 2000-02-29", "360_day", "[2000-02-29 2000-02-30 2000-03-01]", "2000-02-29\n2000-02-30\n2000-03-01\n"},
		{"months since 2000-02-30", "360_day", "[2000-02-30 2000-03-30 2000-04-30]", "2000-02-30\n2000-03-30\n2000-04-30\n"},
		{"days since 1900-02-28", "julian", "[1900-02-28 1900-02-29 1900-03-01]", "1900-02-28\n1900-02-29\n1900-03-01\n"},
		{"days since 1582-10-04", "standard", "[1582-10-04 1582-10-15 1582-10-16]",
			"1582-10-04\n1582-10-15\n1582-10-16\n"},
		{"days since 1582-10-14", "proleptic_gregorian", "[1582-10-14 1582-10-15 1582-10-16]",
			"1582-10-14T00:00:00\n1582-10-15T00:00:00\n1582-10-16T00:00:00\n"},
		{"weeks since 2000-01-01", "", "[2000-01-01 2000-01-08 2000-01-15]", "2000-01-01T00:00:00\n2000-01-08T00:00:00\n2000-01-15T00:00:00\n"},
	} {
		node := newNode(t, "--shape", "3", "--dtype", "int32", "--attributes", fmt.Sprintf(`{"units": %q, "calendar": %q}`, c.units, c.calendar))
		must(t, "[0,1,2]", "write", node, "--format", "json")
		if got := must(t, "", "cat", node); got != c.cat+"\n" {
			t.Errorf("%s, %s: %s", c.calendar, c.units, got)
		}
		first, _, _ := strings.Cut(c.cat[1:], " ")
		if got := must(t, "", "info", node); !strings.Contains(got, "times       "+first) {
			t.Errorf("%s, %s: %s", c.calendar, c.units, got)
		}
		if got := must(t, "", "export", node, "--decode", "--format", "csv"); got != c.csv {
			t.Errorf("%s, %s: %s", c.calendar, c.units, got)
		}
		if got, want := must(t, "", "cat", node, "--decode"), must(t, "", "cat", node); strings.ReplaceAll(got, "T00:00:00", "") != want {
			t.Errorf("%s, %s: %s, want %s", c.calendar, c.units, got, want)
		}
	}
}

// TestDecodeDates decodes times of a calendar that datetime64 does not have, of arrays
// with several axes.
func TestDecodeDates(t *testing.T) {
	node := newNode(t, "--shape", "2,2", "--dtype", "float64", "--attributes", `{"units": "days since 2000-02-29", "calendar": "360_day", "_FillValue": -9}`)
	must(t, `[[0.0,1.0],[1.25,-9.0]]`, "write", node, "--format", "json")
	if got := must(t, "", "cat", node, "--decode"); got != "[[         2000-02-29          2000-02-30]\n [2000-02-30T06:00:00                 NaT]]\n" {
		t.Error(got)
	}
	if got := must(t, "", "export", node, "--decode", "--format", "json"); got != `[["2000-02-29","2000-02-30"],["2000-02-30T06:00:00","NaT"]]`+"\n" {
		t.Error(got)
	}
	if got := decode(t, must(t, "", "cat", node, "--decode", "--json")); got["data_type"] != "string" {
		t.Error(got)
	}
	for _, format := range []string{"raw", "npy"} {
		if out, errs, status := execute(t, "", "export", node, "--decode", "--format", format); status != 1 || out != "" || !strings.Contains(errs, "--format json") {
			t.Errorf("status %d, %q, %s", status, out, errs)
		}
	}
	far := newNode(t, "--shape", "1", "--dtype", "int32", "--attributes", `{"units": "days since 21000-01-01", "calendar": "noleap"}`)
	if got := must(t, "", "cat", far, "--decode"); got != "[21000-01-01]\n" {
		t.Error(got)
	}
}

// TestDecodeParts decodes times that count in parts of a second.
func TestDecodeParts(t *testing.T) {
	for unit, want := range map[string]string{
		"milliseconds": "2000-01-01T00:00:01.500000", "microseconds": "2000-01-01T00:00:00.001500", "nanoseconds": "2000-01-01T00:00:00.000001500",
	} {
		node := newNode(t, "--shape", "1", "--dtype", "int64", "--attributes", fmt.Sprintf(`{"units": "%s since 2000-01-01"}`, unit))
		must(t, "", "write", node, "--value", "1500")
		if got := must(t, "", "export", node, "--decode", "--format", "csv"); got != want+"\n" {
			t.Errorf("%s: %s", unit, got)
		}
	}
}

// TestDecodeDurations decodes lengths of time.
func TestDecodeDurations(t *testing.T) {
	for _, c := range []struct{ dtype, attributes, values, cat, csv string }{
		{"int16", `{"units": "days"}`, "[0,1,-3]", "[ 0s  1d -3d]\n", "0 D\n1 D\n-3 D\n"},
		{"int32", `{"units": "hours", "_FillValue": -1}`, "[0,36,-1]", "[   0s 1d12h   NaT]\n", "0 h\n36 h\nNaT\n"},
		{"float32", `{"units": "hours"}`, `[0.5,-1.25,"NaN"]`, "[   30min -1h15min      NaT]\n", "1800000000 us\n-4500000000 us\nNaT\n"},
		{"int16", `{"units": "seconds", "scale_factor": 0.5}`, "[1,2,200]", "[    0.5s       1s 1min40s]\n", "500000 us\n1000000 us\n100000000 us\n"},
		{"int64", `{"units": "nanoseconds"}`, "[1,1500000000,9223372036854775807]", "[ 0.000000001s 1.5s 106751d23h47min16.854775807s]", "1 ns\n1500000000 ns\n9223372036854775807 ns\n"},
		{"int8", `{"units": "s"}`, "[1,2,3]", "[1 2 3]\n", "1\n2\n3\n"},
	} {
		node := newNode(t, "--shape", "3", "--dtype", c.dtype, "--attributes", c.attributes)
		must(t, c.values, "write", node, "--format", "json")
		if got := must(t, "", "cat", node, "--decode"); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(c.cat), " ") {
			t.Errorf("%s %s: %q", c.dtype, c.attributes, got)
		}
		if got := must(t, "", "export", node, "--decode", "--format", "csv"); got != c.csv {
			t.Errorf("%s %s: %q", c.dtype, c.attributes, got)
		}
	}
}

// TestTextTimesRefused checks the error if decoded times are text and the format has no
// text.
func TestTextTimesRefused(t *testing.T) {
	for attributes, want := range map[string]string{
		`{"units": "days since 2000-01-01", "calendar": "360_day"}`: "datetime64 does not have the days of the calendar 360_day",
		`{"units": "days since 0001-01-01"}`:                        "datetime64 does not have one of their days",
	} {
		node := newNode(t, "--shape", "2", "--dtype", "int32", "--attributes", attributes)
		for _, format := range []string{"npy", "raw"} {
			_, errs, status := execute(t, "", "export", node, "--decode", "--format", format)
			if status != 1 || !strings.Contains(errs, want) || !strings.Contains(errs, "use --format json or csv") {
				t.Errorf("%s: %s: status %d, %s", attributes, format, status, errs)
			}
		}
	}
}

// TestUndecodedTimes checks the reason for times that stay numbers, in info and after a
// selection by them.
func TestUndecodedTimes(t *testing.T) {
	for units, want := range map[string]string{
		"months since 2000-01-01": "no fixed length", "days since 2000-02-31": "2000-02-31", "days since nowhere": "nowhere",
	} {
		node := newCube(t, "time", "int32", `{"units": "`+units+`"}`, "[0,1,2]")
		for _, sel := range []string{"time=2000-02", "time=2000-02..2000-03"} {
			_, errs, status := execute(t, "", "cat", node, "--select", sel)
			if status != 1 || !strings.Contains(errs, "its times are left as numbers: ") || !strings.Contains(errs, want) || failure.WithoutPackages(errs) != errs {
				t.Errorf("%s: %s: status %d, %s", units, sel, status, errs)
			}
		}
		if out := must(t, "", "cat", node, "--select", "time=1.0"); !strings.Contains(out, "1") {
			t.Errorf("%s: %s", units, out)
		}
		group, _, _ := strings.Cut(node, ".zarr")
		out := must(t, "", "info", group+".zarr/time")
		if !strings.Contains(out, "its times are left as numbers: ") || !strings.Contains(out, want) || failure.WithoutPackages(out) != out {
			t.Errorf("%s: %s", units, out)
		}
	}
}
