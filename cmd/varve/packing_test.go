// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"varve.dev/zarr/internal/racing"
)

// TestDecodeUnsigned decodes numbers with the attribute _Unsigned as xarray 2026.9 does,
// in both formats.
func TestDecodeUnsigned(t *testing.T) {
	racing.Skip(t)
	for _, format := range []string{"2", "3"} {
		for _, c := range []struct{ dtype, values, attributes, typ, want string }{
			{"int8", "[0,-56,-1]", `{"_Unsigned": "true"}`, "uint8", "[0,200,255]"},
			{"int8", "[0,-56,-1]", `{"_Unsigned": "true", "_FillValue": -1}`, "float32", `[0.0,200.0,"NaN"]`},
			{"int8", "[0,-56,-1]", `{"_Unsigned": "true", "_FillValue": 255}`, "float32", `[0.0,200.0,"NaN"]`},
			{"int8", "[0,-56,-1]", `{"_Unsigned": "true", "_FillValue": -1, "scale_factor": 0.5}`, "float64", `[0.0,100.0,"NaN"]`},
			{"int8", "[0,-56,-1]", `{"_Unsigned": "true", "missing_value": 255}`, "float32", `[0.0,200.0,"NaN"]`},
			{"int8", "[0,-56,-1]", `{"_Unsigned": "true", "missing_value": -1}`, "float32", "[0.0,200.0,255.0]"},
			{"int8", "[0,-56,-1]", `{"_Unsigned": "true", "missing_value": 200, "_FillValue": -1}`, "float32", `[0.0,"NaN","NaN"]`},
			{"int8", "[0,-56,-1]", `{"_Unsigned": "false"}`, "int8", "[0,-56,-1]"},
			{"int8", "[0,-56,-1]", `{"_Unsigned": "TRUE"}`, "int8", "[0,-56,-1]"},
			{"int8", "[0,-56,-1]", `{"_Unsigned": true}`, "int8", "[0,-56,-1]"},
			{"int16", "[0,-56,-1]", `{"_Unsigned": "true"}`, "uint16", "[0,65480,65535]"},
			{"int32", "[0,-56,-1]", `{"_Unsigned": "true"}`, "uint32", "[0,4294967240,4294967295]"},
			{"int64", "[0,-56,-1]", `{"_Unsigned": "true"}`, "uint64", "[0,18446744073709551560,18446744073709551615]"},
			{"uint8", "[0,200,255]", `{"_Unsigned": "false"}`, "int8", "[0,-56,-1]"},
			{"uint8", "[0,200,255]", `{"_Unsigned": "true"}`, "uint8", "[0,200,255]"},
			{"uint8", "[0,200,255]", `{"_Unsigned": "false", "_FillValue": -1}`, "float32", `[0.0,-56.0,"NaN"]`},
			{"uint8", "[0,200,255]", `{"_Unsigned": "false", "_FillValue": 200, "scale_factor": 0.5}`, "float64", `[0.0,"NaN",-0.5]`},
			{"uint8", "[0,200,255]", `{"_Unsigned": "false", "missing_value": -1}`, "float32", `[0.0,-56.0,"NaN"]`},
			{"uint8", "[0,200,255]", `{"_Unsigned": "false", "missing_value": 255}`, "float32", "[0.0,-56.0,-1.0]"},
			{"float32", "[0.0,1.0,2.0]", `{"_Unsigned": "true"}`, "float32", "[0.0,1.0,2.0]"},
			{"int8", "[0,-56,-1]", `{"_Unsigned": "true", "units": "days since 2000-01-01"}`, "numpy.datetime64[s]",
				`["2000-01-01T00:00:00","2000-07-19T00:00:00","2000-09-12T00:00:00"]`},
			{"int8", "[0,-56,-1]", `{"_Unsigned": "true", "units": "hours"}`, "numpy.timedelta64[h]", `["0 h","200 h","255 h"]`},
			{"int8", "[0,1,2]", `{"dtype": "bool"}`, "bool", "[false,true,true]"},
			{"uint8", "[0,1,2]", `{"dtype": "bool"}`, "bool", "[false,true,true]"},
			{"float32", "[0.0,1.0,0.5]", `{"dtype": "bool"}`, "bool", "[false,true,true]"},
			{"int8", "[0,1,2]", `{"dtype": "bool", "_FillValue": 2, "units": "days"}`, "bool", "[false,true,true]"},
			{"int8", "[0,1,2]", `{"dtype": "int8"}`, "int8", "[0,1,2]"},
			{"int32", "[0,1,2]", `{"units": "days since 2000-01-01", "scale_factor": 0.5}`, "numpy.datetime64[us]",
				`["2000-01-01T00:00:00.000000","2000-01-01T12:00:00.000000","2000-01-02T00:00:00.000000"]`},
			{"int32", "[0,1,2]", `{"units": "days since 2000-01-01", "add_offset": 10}`, "numpy.datetime64[us]",
				`["2000-01-11T00:00:00.000000","2000-01-12T00:00:00.000000","2000-01-13T00:00:00.000000"]`},
		} {
			more := []string{"--shape", "3", "--dtype", c.dtype, "--zarr-format", format, "--attributes", c.attributes}
			node := newNode(t, more...)
			if format == "2" {
				noFill(t, node)
			}
			must(t, c.values, "write", node, "--format", "json")
			got, errs, status := execute(t, "", "export", node, "--decode", "--format", "json")
			if status != 0 || got != c.want+"\n" {
				t.Errorf("format %s, %s %s: %s", format, c.dtype, c.attributes, got)
			}
			// Where _Unsigned turns the numbers, some missing value is none of them.
			unmet := strings.Contains(c.attributes, "missing_value") && !strings.Contains(c.want, "NaN")
			if unmet != strings.Contains(errs, "so this missing value has no effect") || !unmet && errs != "" {
				t.Errorf("format %s, %s %s: %q", format, c.dtype, c.attributes, errs)
			}
			if got := decode(t, must(t, "", "cat", node, "--decode", "--json"))["data_type"]; got != c.typ {
				t.Errorf("format %s, %s %s: %v", format, c.dtype, c.attributes, got)
			}
		}
	}
	node := newNode(t, "--shape", "3", "--dtype", "int8", "--dimension-names", "x", "--zarr-format", "2", "--fill", "-1", "--attributes", `{"_Unsigned": "true"}`)
	must(t, "[0,-56,-1]", "write", node, "--format", "json")
	small := newNode(t, "--shape", "2", "--dtype", "int16", "--attributes", `{"scale_factor": 0.0001}`)
	must(t, "[34, 3]", "write", small, "--format", "json")
	if got := must(t, "", "cat", small, "--decode"); got != "[0.0034 0.0003]\n" {
		t.Errorf("for people: %s", got)
	}
	if got := must(t, "", "cat", small, "--decode", "--json"); !strings.Contains(got, "0.0034000000000000002") {
		t.Errorf("for programs: %s", got)
	}
	if got := must(t, "", "cat", node, "--decode"); got != "[  0.0 200.0   nan]\n" {
		t.Error(got)
	}
	scaled := newNode(t, "--shape", "2", "--dtype", "int8", "--dimension-names", "time", "--attributes", `{"units": "days since 2000-01-01", "scale_factor": 0.5}`)
	must(t, "[2,3]", "write", scaled, "--format", "json")
	if got := must(t, "", "cat", scaled); got != "[         2000-01-02 2000-01-02T12:00:00]\n" {
		t.Error(got)
	}
}

// noFill removes the fill value of an array of format 2, which would mark missing values.
func noFill(t *testing.T, node string) {
	t.Helper()
	name := filepath.Join(node, ".zarray")
	doc, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	without := regexp.MustCompile(`"fill_value": *[0-9.]+`).ReplaceAll(doc, []byte(`"fill_value": null`))
	if string(without) == string(doc) {
		t.Fatalf("%s", doc)
	}
	if err := os.WriteFile(name, without, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestDecodeOldDates checks that all dates are decoded as text if one of them does not
// exist in datetime64, or has another number there.
func TestDecodeOldDates(t *testing.T) {
	for _, c := range []struct{ dtype, units, calendar, values, want string }{
		{"float64", "days since 0001-01-01", "standard", "[0.0,1.0,59.0,500.0]", "0001-01-01 0001-01-02 0001-03-01 0002-05-16"},
		{"float64", "days since 0001-01-01", "standard", "[0.0,730000.0]", "0001-01-01 1999-09-02"},
		{"float64", "days since 0001-01-01", "standard", `["NaN",1.0]`, "NaT 0001-01-02"},
		{"int32", "days since 1582-10-01", "standard", "[0,3,4]", "1582-10-01 1582-10-04 1582-10-15"},
		{"int32", "hours since 1582-10-04", "standard", "[0,24]", "1582-10-04T00:00:00 1582-10-15T00:00:00"},
		{"int32", "days since -0500-01-01", "proleptic_gregorian", "[0,1]", "-0500-01-01 -0500-01-02"},
		{"float64", "days since 2000-01-01", "proleptic_gregorian", "[0.0,4e6]", "2000-01-01 12951-08-18"},
		{"float64", "days since 2000-01-01", "noleap", "[0.0,4e6]", "2000-01-01 12958-11-27"},
		{"int64", "nanoseconds since 1600-01-01", "standard", "[0,1]", "1600-01-01T00:00:00 1600-01-01T00:00:00.000000001"},
		{"float64", "days since 2000-01-01", "standard", "[0.0,1e300]", "2000-01-01 1e+300"},
	} {
		n := fmt.Sprint(strings.Count(c.values, ",") + 1)
		node := newNode(t, "--shape", n, "--dtype", c.dtype, "--attributes", fmt.Sprintf(`{"units": %q, "calendar": %q}`, c.units, c.calendar))
		must(t, c.values, "write", node, "--format", "json")
		words := func(text string) string { return strings.Join(strings.Fields(strings.Trim(text, "[]\n")), " ") }
		if got := words(must(t, "", "cat", node, "--decode")); got != c.want {
			t.Errorf("%s, %s: %s", c.units, c.calendar, got)
		}
		if plain := strings.ReplaceAll(words(must(t, "", "cat", node)), "nan", "NaT"); plain != c.want {
			t.Errorf("%s, %s: cat without --decode: %s", c.units, c.calendar, plain)
		}
		texts := strings.Fields(c.want)
		if got := must(t, "", "export", node, "--decode", "--format", "csv"); got != strings.Join(texts, "\n")+"\n" {
			t.Errorf("%s, %s: %s", c.units, c.calendar, got)
		}
		list := `["` + strings.Join(texts, `","`) + `"]`
		if got := must(t, "", "cat", node, "--decode", "--json"); !strings.Contains(got, `"data_type": "string", "values": `+list) {
			t.Errorf("%s, %s: %s", c.units, c.calendar, got)
		}
		ends := texts[0] + " … " + texts[len(texts)-1]
		if got := must(t, "", "info", node); texts[0] != "NaT" && !strings.Contains(got, ends) {
			t.Errorf("%s, %s: %s", c.units, c.calendar, got)
		}
	}
}

// TestDecodeSelected checks that only the selected elements, or of many only the printed
// ones, decide whether times are text.
func TestDecodeSelected(t *testing.T) {
	node := newNode(t, "--shape", "2000", "--dtype", "int32", "--attributes", `{"units": "days since 1582-10-04"}`)
	must(t, numbers(0, 2000), "write", node, "--format", "json")
	if got := must(t, "", "export", node, "--decode", "--select", "1:3", "--format", "csv"); got != "1582-10-15T00:00:00\n1582-10-16T00:00:00\n" {
		t.Error(got)
	}
	if got := must(t, "", "export", node, "--decode", "--select", "0:2", "--format", "csv"); got != "1582-10-04\n1582-10-15\n" {
		t.Error(got)
	}
	if got := must(t, "", "cat", node, "--decode"); !strings.HasPrefix(got, "[1582-10-04 1582-10-15 1582-10-16 … 1588-0") {
		t.Error(got)
	}
	if got := must(t, "", "cat", node, "--decode", "--select", "1:"); !strings.HasPrefix(got, "[1582-10-15T00:00:00 ") {
		t.Error(got)
	}
	_, errs, status := execute(t, "", "export", node, "--decode", "--format", "npy")
	if status != 1 || !strings.Contains(errs, "--format json") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestDecodeTells checks the reason why times stay numbers.
func TestDecodeTells(t *testing.T) {
	for _, c := range []struct{ units, calendar, want string }{
		{"months since 2000-01-01", "standard", "no fixed length"},
		{"days since 2000-01-01", "none", "no dates"},
		{"days since 2000-01-01", "tai", "leap seconds"},
		{"days since 2000-01-01", "utc", "leap seconds"},
		{"days since 2000-01-01", "maya", "unknown"},
		{"days since 2000-01-01", "noleap", ""},
		{"m since the beginning", "", "unit of time"},
		{"K", "", ""},
	} {
		node := newNode(t, "--shape", "3", "--dtype", "int32", "--attributes", fmt.Sprintf(`{"units": %q, "calendar": %q}`, c.units, c.calendar))
		must(t, "[0,1,2]", "write", node, "--format", "json")
		for _, command := range [][]string{{"cat", node, "--decode"}, {"export", node, "--decode", "--format", "csv"}} {
			out, errs, status := execute(t, "", command...)
			if numbers := strings.Join(strings.Fields(out), " "); status != 0 || c.want != "" && strings.Trim(numbers, "[]") != "0 1 2" {
				t.Errorf("%s, %s: status %d, %s", c.units, c.calendar, status, out)
			}
			if (errs != "") != (c.want != "") || !strings.Contains(errs, c.want) || c.want != "" && !strings.Contains(errs, "--decode leaves its times as numbers") {
				t.Errorf("%s, %s: %q", c.units, c.calendar, errs)
			}
			if _, errs, _ := execute(t, "", command[:2]...); errs != "" {
				t.Errorf("%s, %s, without --decode: %q", c.units, c.calendar, errs)
			}
		}
	}
}
