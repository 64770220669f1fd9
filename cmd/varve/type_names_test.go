// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/output"
)

// TestTypeNames creates arrays with the names that NumPy and Python have for data types.
func TestTypeNames(t *testing.T) {
	for name, want := range map[string]string{
		"float": "float64", "double": "float64", "int": "int64", "single": "float32", "half": "float16", "Float32": "float32", "np.int16": "int16",
		"uint": "uint64", "complex": "complex128", "bool_": "bool", "str": "string", "i8": "int64", "f4": "float32", ">i4": "int32", "INT8": "int8",
		"numpy.float32": "float32", "=i4": "int32", "?": "bool", "str_": "string", " float32": "float32", "'f4'": "float32",
	} {
		node := newNode(t, "--shape", "2", "--dtype", name)
		if got := decode(t, must(t, "", "info", "--json", node))["data_type"]; got != want {
			t.Errorf("%s: %v", name, got)
		}
		if out := must(t, "", "plan", "--shape", "2", "--dtype", name); out == "" {
			t.Error(name)
		}
	}
}

// TestTypesWithParameters creates arrays with NumPy's names of types that have a length
// or a unit.
func TestTypesWithParameters(t *testing.T) {
	for name, want := range map[string]string{
		"datetime64[ns]": "<M8[ns]", "timedelta64[s]": "<m8[s]", "timedelta64[15m]": "<m8[15m]", "np.datetime64[D]": "<M8[D]", "<M8[us]": "<M8[us]",
		"<U12": "<U12", "U12": "<U12", "S8": "|S8", "|S8": "|S8", "a8": "|S8", "V4": "|V4",
	} {
		got, err := input.ParseType(name)
		if numpy, _ := got.NumPy(); err != nil || numpy != want {
			t.Errorf("%s: %s, want %s, %v", name, numpy, want, err)
		}
	}
}

// TestTypeMeant checks the proposals for names that are not types.
func TestTypeMeant(t *testing.T) {
	for name, want := range map[string]string{
		"flaot32": "did you mean float32?", "f32": "did you mean float32?", "datetime64": "M8[ns]", "object": "string or bytes", "long": "int64 or int32",
		"category": "string", "timedelta64": "m8[s] or m8[ns]", "O": "string or bytes", "S": "S8", "U": "U12", "string[python]": "did you mean string?",
		"datetime64[fortnight]": "datetime64[fortnight]",
		"uint23":                "uint", "strng": "did you mean string?",
	} {
		_, errs, status := execute(t, "", "create", t.TempDir()+"/a.zarr", "--shape", "2", "--dtype", name)
		if status == 0 || !strings.Contains(errs, want) || !strings.Contains(errs, name) {
			t.Errorf("%s: status %d, %s", name, status, errs)
		}
	}
}

// TestChunksWithCommas checks that --chunks takes lengths in the syntax of --shape.
func TestChunksWithCommas(t *testing.T) {
	for _, c := range []struct{ chunks, want string }{
		{"100,50", `"chunk_shape":[100,50]`}, {"100, 50", `"chunk_shape":[100,50]`}, {"-1,50", `"chunk_shape":[400,50]`},
		{"[100,200,100],50", `[[100,200,100],50]`}, {"calendar:month,50", `50]`}, {"bounded:100,50", `"chunk_shape":[100,50]`},
	} {
		args := []string{"--shape", "400,200", "--dtype", "int8", "--chunks", c.chunks}
		if strings.HasPrefix(c.chunks, "calendar") {
			args = append(args, "--start", "2024-01-01", "--step", "1d")
		}
		if got := chunkGrid(t, newNode(t, args...)); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.chunks, got)
		}
	}
	if got := must(t, "", "info", newNode(t, "--shape", "400,200", "--dtype", "int8", "--shards", "200,100", "--chunks", "100,50")); !strings.Contains(got, "100") {
		t.Error(got)
	}
	for _, text := range []string{"100,", ",", "100,x", "auto,5", "8MiB,5"} {
		if _, errs, status := execute(t, "", "create", "a.zarr", "--shape", "4,4", "--dtype", "int8", "--chunks", text); status != 2 || !strings.Contains(errs, "--chunks") {
			t.Errorf("%s: status %d, %s", text, status, errs)
		}
	}
}

// chunkGrid returns the chunk grid of an array as it is stored, without white space.
func chunkGrid(t *testing.T, node string) string {
	t.Helper()
	return string(output.Text(decode(t, must(t, "", "info", "--json", node))["chunk_grid"]))
}

// TestTypeRefused checks that messages propose NumPy's names for types whose names in
// metadata count bytes or have no unit.
func TestTypeRefused(t *testing.T) {
	npy := filepath.Join(t.TempDir(), "x.npy")
	source := newNode(t, "--shape", "2", "--dtype", "int16")
	must(t, "", "export", source, "-o", npy)
	for dtype, want := range map[string]string{
		"U20": `the array <U20; convert them first, in NumPy with x.astype("<U20")`, "S8": `the array |S8; convert them first, in NumPy with x.astype("|S8")`,
		"M8[s]": `the array <M8[s]; convert them first, in NumPy with x.astype("<M8[s]")`, "int32": `the array int32; convert them first, in NumPy with x.astype("int32")`,
		"string": "the array string; convert them first, in NumPy with x.astype(str)", "bfloat16": "the array bfloat16",
	} {
		node := newNode(t, "--shape", "2", "--dtype", dtype)
		for _, file := range []string{npy, source} {
			_, errs, status := execute(t, "", "write", node, file)
			hint, _, _ := strings.Cut(want, ";")
			if status != 1 || file == npy && !strings.HasSuffix(errs, want+"\n") || !strings.Contains(errs, "int16, "+hint) {
				t.Errorf("%s: status %d, %s", dtype, status, errs)
			}
		}
	}
}

// TestTypeRefusedWhereEncoded checks the advice how to convert values, if the array's
// numbers are encoded in another way.
func TestTypeRefusedWhereEncoded(t *testing.T) {
	for _, c := range []struct{ from, dtype, attributes, want string }{
		{"float64", "int16", `{"scale_factor": 0.1, "add_offset": 5}`, `(subtract add_offset 5, divide by scale_factor 0.1, and round; int16 holds -3271.8 to 3281.7), in NumPy with np.round((x - 5) / 0.1).astype("int16")`},
		{"float64", "int16", `{"_FillValue": -1}`, `(replace NaN by the missing value), in NumPy with np.where(np.isnan(x), -1, x).astype("int16")`},
		{"float64", "float32", `{"_FillValue": -1}`, "convert them first"},
		{"int32", "int16", `{"_FillValue": -1}`, "convert them first"},
		{"M8[s]", "int64", `{"units": "days since 2000-01-01"}`, "(count in days since 2000-01-01)"},
		{"m8[s]", "float64", `{"units": "hours"}`, "(count in hours)"},
		{"int32", "int64", `{"units": "days since 2000-01-01"}`, "convert them first"},
		{"float64", "int16", `{"units": "K"}`, `convert them first, in NumPy with x.astype("int16"), if all are whole numbers: (x % 1 == 0).all()`},
	} {
		npy := filepath.Join(t.TempDir(), "x.npy")
		must(t, "", "export", newNode(t, "--shape", "2", "--dtype", c.from), "-o", npy)
		node := newNode(t, "--shape", "2", "--dtype", c.dtype, "--attributes", c.attributes)
		for _, args := range [][]string{{"write", node, npy}, {"append", node, npy}, {"append", node, npy, npy}} {
			_, errs, status := execute(t, "", args...)
			if status != 1 || !strings.Contains(errs, c.want) || strings.Contains(errs, "encode") != strings.HasPrefix(c.want, "(") {
				t.Errorf("%s of %s into %s %s: status %d, %s", args[0], c.from, c.dtype, c.attributes, status, errs)
			}
		}
	}
}

// TestTypeRefusedBetweenPackings checks the advice for arrays of different types whose
// numbers are packed differently: it must keep the values, not the stored numbers.
func TestTypeRefusedBetweenPackings(t *testing.T) {
	const packed = `{"scale_factor": 0.01, "add_offset": 280, "_FillValue": -999}`
	for _, c := range []struct{ from, typ, to, attributes, export, want string }{
		{"int16", packed, "float32", `{}`, " --decode", `x.astype("float32")`},
		{"float32", `{}`, "int16", packed, " --decode", `np.where(np.isnan(x), -999, np.round((x - 280) / 0.01)).astype("int16")`},
		{"int16", packed, "int32", packed, "", `x.astype("int32")`},
		{"int16", `{"_FillValue": -1}`, "float32", `{}`, " --decode", `x.astype("float32")`},
		{"int8", `{"_Unsigned": "true"}`, "int16", `{}`, " --decode", `x.astype("int16")`},
		{"int16", `{}`, "int8", `{"_Unsigned": "true", "scale_factor": 2}`, " --decode", `np.round((x - 0) / 2).astype("uint8").view("int8")`},
		{"int16", `{"_FillValue": -1}`, "int32", `{"scale_factor": 2}`, " --decode", "the array has no missing value, so NaN cannot be stored"},
		{"float32", `{"units": "degC"}`, "float64", `{"units": "K"}`, " --decode", `change their units: units is "degC" there and "K" here`},
		{"int16", `{"units": "K"}`, "float64", `{"units": "K"}`, "", `x.astype("float64")`},
		{"float64", `{"units": "K"}`, "int16", `{"units": "K"}`, "", "if all are whole numbers"},
	} {
		from := newNode(t, "--shape", "2", "--dtype", c.from, "--attributes", c.typ)
		node := newNode(t, "--shape", "2", "--dtype", c.to, "--attributes", c.attributes)
		for _, command := range []string{"write", "append", "insert"} {
			args := []string{command, node, from}
			if command == "insert" {
				args = append(args, "--at", "0")
			}
			_, errs, status := execute(t, "", args...)
			if status != 1 || !strings.Contains(errs, from+c.export+" -o FILE.npy)") || !strings.Contains(errs, c.want) {
				t.Errorf("%s of %s %s into %s %s: status %d, %s", command, c.from, c.typ, c.to, c.attributes, status, errs)
			}
		}
	}
}
