// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"varve.dev/zarr/internal/racing"
)

// TestSenseKept appends and writes the numbers of other arrays. It must fail if their
// attributes give them another meaning.
func TestSenseKept(t *testing.T) {
	racing.Skip(t)
	const days = `"units": "days since 2000-01-01"`
	for _, c := range []struct{ dtype, from, to, refused, note string }{
		{"int16", `{}`, `{}`, "", ""},
		{"int16", `{}`, `{"scale_factor": 0.1, "units": "K"}`, "", "stored unchanged as packed ones"},
		{"int16", `{"long_name": "t"}`, `{"_Unsigned": "true"}`, "", "stored unchanged as packed ones"},
		{"int16", `{}`, `{"units": "K", "_FillValue": -1}`, "", ""},
		{"int16", `{"scale_factor": 0.1, "add_offset": 0}`, `{"scale_factor": [0.10]}`, "", ""},
		{"int16", `{"scale_factor": 0.2}`, `{"scale_factor": 0.1}`, "scale_factor is 0.2 there and 0.1 here", ""},
		{"int16", `{"scale_factor": 0.2}`, `{}`, "scale_factor is 0.2 there and none here", ""},
		{"int16", `{"units": "K"}`, `{"units": "K", "add_offset": 5}`, "add_offset is none there and 5 here", ""},
		{"int16", `{"scale_factor": "x"}`, `{"scale_factor": "x"}`, "", ""},
		{"int16", `{"scale_factor": "x"}`, `{"scale_factor": 1.0}`, `scale_factor is "x" there and 1.0 here`, ""},
		{"int8", `{"_Unsigned": "true"}`, `{}`, `_Unsigned is "true" there and none here`, ""},
		{"int8", `{"_Unsigned": "false"}`, `{}`, "", ""},
		{"int16", `{"_FillValue": -1}`, `{"missing_value": [-1, -2]}`, "", ""},
		{"int16", `{"_FillValue": -1}`, `{"_FillValue": -2}`, "-1 is a missing value there and a number here", ""},
		{"int16", `{"missing_value": [-1, -2]}`, `{"_FillValue": -2}`, "-1 is a missing value there", ""},
		{"int16", `{"units": "K"}`, `{"units": "K", "_FillValue": -2}`, "", ""},
		{"float32", `{"_FillValue": "AAAAAAAA+H8="}`, `{}`, "", ""},
		{"float32", `{"missing_value": -9999}`, `{"_FillValue": "AAAAAICHw8A="}`, "", ""},
		{"int16", `{"units": "K"}`, `{"units": "degC"}`, `units is "K" there and "degC" here`, ""},
		{"int16", `{"units": "K"}`, `{"units": "kelvin "}`, "", ""},
		{"int16", `{"units": "degree_north"}`, `{"units": "degrees_N"}`, "", ""},
		{"int16", `{"units": "degree_north"}`, `{"units": "degrees_east"}`, `units is "degree_north" there`, ""},
		{"int16", `{"units": "h"}`, `{"units": "hours"}`, "", ""},
		{"int16", `{"units": "h"}`, `{"units": "days"}`, `units is "h" there`, ""},
		{"int16", `{"units": "m"}`, `{"units": "min"}`, `units is "m" there`, ""},
		{"int16", `{"units": "K"}`, `{}`, "", `its units are "K", and the array that receives its numbers has none`},
		{"int16", `{` + days + `}`, `{"units": "day since 2000-1-1T00:00"}`, "", ""},
		{"int16", `{` + days + `, "calendar": "standard"}`, `{` + days + `, "calendar": "proleptic_gregorian"}`, "", ""},
		{"int16", `{` + days + `}`, `{"units": "hours since 2000-01-01"}`, "", ""}, // times are converted
		{"int16", `{` + days + `}`, `{"units": "days since 2000-01-02"}`, "", ""},
		{"int16", `{` + days + `}`, `{` + days + `, "calendar": "noleap"}`, `calendar is none there and "noleap" here`, ""},
		{"int64", `{` + days + `}`, `{"long_name": "t"}`, "", `its units are "days since 2000-01-01"`},
		{"string", `{"units": "K"}`, `{"units": "degC"}`, "", ""},
	} {
		commands := []string{"append"}
		if strings.Contains(c.from, "0.2") {
			commands = append(commands, "write", "write --dry-run", "append --dry-run", "several", "together")
		}
		for _, command := range commands {
			group := filepath.Join(t.TempDir(), "g.zarr")
			must(t, "", "create", group, "--group")
			from, to := group+"/from", group+"/to"
			createNoted(t, from, "--shape", "2", "--dtype", c.dtype, "--attributes", c.from)
			createNoted(t, to, "--shape", "2", "--dtype", c.dtype, "--attributes", c.to)
			name, dry, _ := strings.Cut(command, " ")
			args := []string{name, to, from}
			switch command {
			case "several":
				args = []string{"append", to, from, from}
			case "together":
				args = []string{"append", group, "to=" + from}
			}
			if dry != "" {
				args = append(args, dry)
			}
			before := treeOf(t, group)
			_, errs, status := execute(t, "", args...)
			if (status == 0) != (c.refused == "") || c.refused != "" && (treeOf(t, group) != before || !strings.Contains(errs, "varve export "+from)) {
				t.Errorf("%s %s into %s: status %d, %s", command, c.from, c.to, status, errs)
			}
			if !strings.Contains(errs, c.refused) || !strings.Contains(errs, c.note) || (errs != "") != (c.refused+c.note != "") {
				t.Errorf("%s %s into %s: %q", command, c.from, c.to, errs)
			}
		}
	}
}

// TestSenseOfFormat2 checks that the fill value of format 2 counts as missing, except the
// zero of a coordinate.
func TestSenseOfFormat2(t *testing.T) {
	for _, c := range []struct{ name, fill, refused string }{
		{"t", "0", "0 is a missing value there and a number here"},
		{"x", "0", ""}, {"x", "-1", "-1 is a missing value there"},
	} {
		from, to := filepath.Join(t.TempDir(), "from.zarr", c.name), filepath.Join(t.TempDir(), "to.zarr", c.name)
		createNoted(t, from, "--shape", "2", "--dtype", "int16", "--zarr-format", "2", "--fill", c.fill, "--dimension-names", "x", "--attributes", `{"units": "K"}`)
		createNoted(t, to, "--shape", "2", "--dtype", "int16", "--dimension-names", "x", "--attributes", `{"units": "K"}`)
		_, errs, status := execute(t, "", "write", to, from)
		if (status == 0) != (c.refused == "") || !strings.Contains(errs, c.refused) {
			t.Errorf("%s %s: status %d, %s", c.name, c.fill, status, errs)
		}
	}
}

// TestMissingKept appends between arrays whose attributes differ only in missing values.
// A number that would become missing is refused if it occurs.
func TestMissingKept(t *testing.T) {
	const lost, found = "is a missing value there and a number here", "is a number there and a missing value here"
	none, nan := `{"units": "K"}`, `{"_FillValue": "AAAAAAAA+H8="}`
	minus1, inf := `{"_FillValue": "AAAAAAAA8L8="}`, `{"_FillValue": "AAAAAAAA8H8="}`
	for _, c := range []struct{ format, dtype, from, to, data, refused string }{
		{"2", "int32", "-2", "-1", "[4, 5]", "-2 " + lost},
		{"2", "int32", "-1", "-1", "[4, -1]", ""},
		{"2", "int32", "null", "-1", "[4, -1]", "-1 " + found},
		{"2", "int32", "null", "-1", "[4, 5]", ""},
		{"2", "int32", "null", "0", "[4, 0]", "0 " + found},
		{"2", "int32", "0", "null", "[4, 0]", "0 " + lost},
		{"2", "int32", "0", "-1", "[4, 0]", "0 " + lost},
		{"2", "int32", "0", "-1", "[4, 5]", ""}, // nobody chose the zero
		{"2", "int32", "0", "-1", "[4, -1]", "-1 " + found},
		{"2", "float32", "0", "null", "[4, -0.0]", "-0.0 " + lost},
		{"2", "float64", "NaN", "-1", `[-1, 5]`, "-1.0 " + found},
		{"2", "float64", "NaN", "-1", `["NaN", 5]`, ""},
		{"2", "float64", "NaN", "NaN", `["NaN", 5]`, ""},
		{"3", "float32", nan, minus1, `["NaN", 5, -1]`, "-1.0 " + found},
		{"3", "float32", nan, minus1, `["NaN", 5, 1]`, ""},
		{"3", "float32", none, minus1, `[5, -1]`, "-1.0 " + found},
		{"3", "float32", none, nan, `["NaN", 5]`, ""},
		{"3", "float32", none, inf, `["Infinity", 5]`, "inf " + found},
		{"3", "float32", minus1, inf, `[1, 5]`, "-1.0 " + lost},
		{"3", "float32", `{}`, minus1, `[5, -1]`, ""}, // bare numbers
	} {
		commands := []string{"append"}
		if c.format == "3" && c.refused != "" {
			commands = append(commands, "write", "several")
		}
		for _, command := range commands {
			group := filepath.Join(t.TempDir(), "g.zarr")
			must(t, "", "create", group, "--group", "--zarr-format", c.format)
			size := strconv.Itoa(strings.Count(c.data, ",") + 1)
			for name, missing := range map[string]string{"from": c.from, "to": c.to} {
				flag := map[string]string{"2": "--fill", "3": "--attributes"}[c.format]
				createNoted(t, group+"/"+name, "--shape", size, "--dtype", c.dtype, "--dimension-names", "x", "--zarr-format", c.format, flag, missing)
			}
			must(t, c.data, "write", group+"/from", "--format", "json")
			args := []string{command, group + "/to", group + "/from"}
			switch command {
			case "several":
				args = []string{"append", group + "/to", group + "/from", group + "/from", "--alone"}
			case "append":
				args = append(args, "--alone")
			}
			before := treeOf(t, group)
			_, errs, status := execute(t, "", args...)
			if (status == 0) != (c.refused == "") || c.refused != "" && treeOf(t, group) != before || !strings.Contains(errs, c.refused) {
				t.Errorf("%s %s into %s: status %d, %s", command, c.from, c.to, status, errs)
			}
		}
	}
}

// TestFillsBetweenFormats appends arrays without attributes to those of the other format,
// in which the fill value is a missing value or is not.
func TestFillsBetweenFormats(t *testing.T) {
	const lost, found = "0 is a missing value there and a number here", "0 is a number there and a missing value here"
	for _, c := range []struct{ from, to, names, data, refused string }{
		{"2", "3", "x", "[4, 0]", lost},
		{"2", "3", "x", "[4, 5]", ""},
		{"3", "2", "x", "[4, 0]", found},
		{"3", "2", "x", "[4, 5]", ""},
		{"2", "3", "", "[4, 0]", ""}, // xarray reads neither of them
		{"3", "2", "", "[4, 0]", ""},
	} {
		for _, command := range []string{"append", "write", "together"} {
			dir := t.TempDir()
			for name, format := range map[string]string{"from": c.from, "to": c.to} {
				args := []string{"--shape", "2", "--dtype", "int32", "--fill", "0", "--zarr-format", format}
				if c.names != "" {
					args = append(args, "--dimension-names", c.names)
				}
				must(t, "", "create", dir+"/"+name+".zarr", "--group", "--zarr-format", format)
				createNoted(t, dir+"/"+name+".zarr/v", args...)
			}
			must(t, c.data, "write", dir+"/from.zarr/v", "--format", "json")
			args := []string{command, dir + "/to.zarr/v", dir + "/from.zarr/v"}
			if command == "together" {
				args = []string{"append", dir + "/to.zarr", dir + "/from.zarr", "--axis", "x"}
				if c.names == "" {
					continue
				}
			}
			_, errs, status := execute(t, "", args...)
			if (status == 0) != (c.refused == "") || !strings.Contains(errs, c.refused) {
				t.Errorf("%s, format %s to %s, %s: status %d, %s", command, c.from, c.to, c.data, status, errs)
			}
		}
	}
}

// TestGridMappingOfFormats appends arrays with a grid mapping between formats. What says
// how a program stores the grid mapping is no other place.
func TestGridMappingOfFormats(t *testing.T) {
	crs := `"grid_mapping_name": "latitude_longitude"`
	for _, c := range []struct{ from, to, source, target, refused string }{
		{"2", "3", `{` + crs + `, "_ARRAY_DIMENSIONS": []}`, `{` + crs + `}`, ""},
		{"3", "2", `{` + crs + `}`, `{` + crs + `, "_ARRAY_DIMENSIONS": []}`, ""},
		{"3", "3", `{` + crs + `, "_nczarr_attrs": {"a": 1}, "varve:x": 1, "history": "a"}`, `{` + crs + `, "_Netcdf4Dimid": 3}`, ""},
		{"2", "3", `{` + crs + `, "_ARRAY_DIMENSIONS": [], "semi_major_axis": 1}`, `{` + crs + `}`, "semi_major_axis"},
	} {
		dir := t.TempDir()
		for name, format := range map[string]string{"from": c.from, "to": c.to} {
			says := map[string]string{"from": c.source, "to": c.target}[name]
			group := dir + "/" + name + ".zarr"
			must(t, "", "create", group, "--group", "--zarr-format", format)
			createNoted(t, group+"/crs", "--shape", "", "--dtype", "int32", "--zarr-format", format, "--attributes", says)
			createNoted(t, group+"/v", "--shape", "2", "--dtype", "int32", "--zarr-format", format, "--dimension-names", "x",
				"--fill", "7", "--attributes", `{"grid_mapping": "crs"}`)
			must(t, "[4, 5]", "write", group+"/v", "--format", "json")
		}
		if format := c.from; format != c.to { // the fill value of format 2 counts as missing
			must(t, "", "attrs", dir+"/from.zarr/v", "set", "_FillValue", "7")
			must(t, "", "attrs", dir+"/to.zarr/v", "set", "_FillValue", "7")
		}
		_, errs, status := execute(t, "", "append", dir+"/to.zarr/v", dir+"/from.zarr/v", "--alone")
		if (status == 0) != (c.refused == "") || !strings.Contains(errs, c.refused) {
			t.Errorf("%s onto %s: status %d, %s", c.source, c.target, status, errs)
		}
	}
}

// TestFillsOfOtherTypes appends texts and booleans between formats: also there xarray
// takes the fill value of format 2 for missing.
func TestFillsOfOtherTypes(t *testing.T) {
	for _, c := range []struct{ from, to, dtype, fill, data, refused string }{
		{"2", "3", "string", `""`, `["a", ""]`, "is a missing value there and a value here"},
		{"2", "3", "string", `""`, `["a", "b"]`, ""},
		{"3", "2", "string", `""`, `["a", ""]`, "is a value there and a missing value here"},
		{"3", "2", "string", `""`, `["a", "b"]`, ""},
		{"2", "2", "string", `""`, `["a", ""]`, ""},
		{"2", "3", "bool", "false", "[true, false]", "false is a missing value there"},
		{"2", "3", "bool", "false", "[true, true]", ""},
	} {
		dir := t.TempDir()
		for name, format := range map[string]string{"from": c.from, "to": c.to} {
			createNoted(t, dir+"/"+name+".zarr/v", "--shape", "2", "--dtype", c.dtype, "--fill", c.fill, "--zarr-format", format, "--dimension-names", "x")
		}
		must(t, c.data, "write", dir+"/from.zarr/v", "--format", "json")
		_, errs, status := execute(t, "", "append", dir+"/to.zarr/v", dir+"/from.zarr/v", "--alone")
		if (status == 0) != (c.refused == "") || !strings.Contains(errs, c.refused) {
			t.Errorf("%s, format %s to %s, %s: status %d, %s", c.dtype, c.from, c.to, c.data, status, errs)
		}
	}
}
