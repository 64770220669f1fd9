package main

import (
	"strings"
	"testing"
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
			if got := must(t, "", "info", node); !strings.Contains(got, "times       2000-01-02") {
				t.Errorf("%s: %s", c.dtype, got)
			}
			facts := decode(t, must(t, "", "info", "--json", node))
			if times, _ := facts["times"].([]any); len(times) != 2 {
				t.Errorf("%s: %v", c.dtype, facts)
			}
		}
	}
}
