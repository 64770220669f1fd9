// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"varve.dev/zarr/internal/racing"
)

// missingStores unpacks the stores of testdata/missing.zip, which zarr-python 3.4.2 wrote
// (interop/missing.py), and returns what xarray 2026.9 reads of each.
func missingStores(t *testing.T) (dir string, read map[string]map[string]any) {
	t.Helper()
	archive, err := zip.OpenReader(filepath.Join("testdata", "missing.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	dir, read = t.TempDir(), map[string]map[string]any{}
	if err := os.CopyFS(dir, archive); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"2", "3", "3as2"} {
		raw, err := fs.ReadFile(archive, name+".json")
		if err != nil {
			t.Fatal(err)
		}
		read[name] = decode(t, string(raw))
	}
	return dir, read
}

// checkDecoded compares cat --decode with what xarray reads, for the variables that
// --decode is for.
func checkDecoded(t *testing.T, group string, want map[string]any) {
	t.Helper()
	compared := 0
	for name, v := range want {
		array := filepath.Join(group, name)
		kind := fmt.Sprint(decode(t, must(t, "", "info", "--json", array))["data_type"])
		if !strings.HasPrefix(kind, "int") && !strings.HasPrefix(kind, "uint") && !strings.HasPrefix(kind, "float") {
			continue
		}
		var got struct{ Values any }
		if err := json.Unmarshal([]byte(must(t, "", "cat", "--decode", "--json", array)), &got); err != nil {
			t.Fatal(err)
		}
		values := flatly(nil, got.Values)
		if xarray := v.(map[string]any)["values"].([]any); !reflect.DeepEqual(values, xarray) {
			t.Errorf("%s: decoded %v, xarray has %v", array, values, xarray)
		}
		compared++
	}
	if compared < 24 {
		t.Errorf("%s: %d variables were compared", group, compared)
	}
}

// flatly appends nested lists of values, with null for those that are missing.
func flatly(list []any, v any) []any {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			list = flatly(list, e)
		}
		return list
	case string:
		if v == "NaN" || v == "NaT" {
			return append(list, nil)
		}
		return append(list, strings.TrimSuffix(v, ".000000")) // times in floats have microseconds
	}
	return append(list, v)
}

// TestMissingValues converts stores with all kinds of missing values to the other format,
// in another place and in place, and back. --decode reads the same values as xarray reads
// from the source.
func TestMissingValues(t *testing.T) {
	racing.Skip(t)
	dir, read := missingStores(t)
	for name, other := range map[string]string{"2": "3", "3": "2", "3as2": "2"} {
		source, to := filepath.Join(dir, name), filepath.Join(dir, name+"-to")
		checkDecoded(t, source, read[name])
		must(t, "", "convert", source, to, "--to", other)
		checkDecoded(t, to, read[name])
		checkRest(t, source, to)
		if name == "3" {
			continue // its chunk keys are those of format 3 only
		}
		must(t, "", "convert", source, "--to", other)
		checkDecoded(t, source, read[name])
		must(t, "", "convert", source, "--to", name[:1])
		checkDecoded(t, source, read[name])
		checkRest(t, source, to)
	}
}

// checkRest compares the other values of two groups.
func checkRest(t *testing.T, a, b string) {
	t.Helper()
	for line := range strings.Lines(must(t, "", "ls", a)) {
		name := strings.Fields(line)[0]
		must(t, "", "equal", filepath.Join(a, name), filepath.Join(b, name))
	}
}

// TestConvertAsks converts an array with more missing chunks than convert stores without
// asking.
func TestConvertAsks(t *testing.T) {
	racing.Skip(t)
	array := filepath.Join(t.TempDir(), "a.zarr")
	must(t, "", "create", array, "--shape", "10001", "--dtype", "int8", "--dimension-names", "x", "--chunks", "1", "--chunk-key-encoding", "v2.", "--compressor", "none")
	plan := decode(t, must(t, "", "convert", array, "--to", "2", "--dry-run", "--json"))
	if plan["chunks_filled"] != 10001.0 || plan["bytes_filled"] != 10001.0 {
		t.Errorf("the plan has %v chunks and %v bytes", plan["chunks_filled"], plan["bytes_filled"])
	}
	text := must(t, "", "convert", array, "--to", "2", "--dry-run")
	for _, want := range []string{"becomes null", "10,001 missing chunks to store"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	_, errs, status := execute(t, "", "convert", array, "--to", "2")
	if status != 1 || !strings.Contains(errs, "--yes") || !strings.Contains(errs, "10001 chunks") {
		t.Errorf("status %d, %s", status, errs)
	}
	if _, err := os.Stat(filepath.Join(array, "zarr.json")); err != nil {
		t.Error(err)
	}
	must(t, "", "convert", array, "--to", "2", "--yes")
	if facts := decode(t, must(t, "", "info", "--json", "--stats", array)); facts["chunks_stored"] != 10001.0 || facts["fill_value"] != nil {
		t.Errorf("%v chunks, fill value %v", facts["chunks_stored"], facts["fill_value"])
	}
}

// TestCreateNullFill creates arrays of format 2, where xarray takes the fill value for
// missing.
func TestCreateNullFill(t *testing.T) {
	dir := t.TempDir()
	npy := filepath.Join(dir, "x.npy")
	must(t, "", "create", filepath.Join(dir, "x.zarr"), "--shape", "3", "--dtype", "int16", "--fill", "1")
	must(t, "", "export", filepath.Join(dir, "x.zarr"), "--format", "npy", "-o", npy)
	for i, c := range []struct {
		args string
		fill any
	}{
		{"--shape 3 --dtype int16 --dimension-names x", nil},
		{"--from " + npy + " --dimension-names x", nil},
		{"--shape 3 --dtype int16 --dimension-names x --fill 0", 0.0},
		{"--shape 3 --dtype int16", 0.0},
		{"--shape 3 --dtype int16 --fill null", nil},
		{"--shape= --dtype int16", nil},
		{"--shape 3 --dtype string --dimension-names x", nil},
		{"--shape 3 --dtype string --fill null", nil},
		{"--shape 3 --dtype U4 --fill null", nil},
		{"--shape 3 --dtype S4 --fill null", nil},
		{`--shape 3 --dtype string --fill "null"`, "null"},
	} {
		array := filepath.Join(dir, fmt.Sprintf("%d.zarr", i))
		must(t, "", append([]string{"create", array, "--zarr-format", "2"}, strings.Fields(c.args)...)...)
		if fill := decode(t, must(t, "", "info", "--json", array))["fill_value"]; fill != c.fill {
			t.Errorf("%s: fill value %v, want %v", c.args, fill, c.fill)
		}
	}
	if got := must(t, "", "cat", "--decode", "--json", filepath.Join(dir, "1.zarr")); !strings.Contains(got, "[1,1,1]") {
		t.Error(got)
	}
	for _, format := range []string{"3", ""} {
		args := []string{"create", filepath.Join(dir, "no.zarr"), "--shape", "3", "--dtype", "int16", "--fill", "null"}
		if format != "" {
			args = append(args, "--zarr-format", format)
		}
		if _, errs, status := execute(t, "", args...); status != 2 || !strings.Contains(errs, "--zarr-format 2") {
			t.Errorf("format %q: status %d, %s", format, status, errs)
		}
	}
}

// TestUnderscoredNames uses nodes with names that begin with "__", as anndata writes
// them. Every command must see them, but only convert and copy may create them in format
// 3.
func TestUnderscoredNames(t *testing.T) {
	dir := t.TempDir()
	group := filepath.Join(dir, "a.zarr")
	must(t, "", "create", group, "--group", "--zarr-format", "2")
	must(t, "", "create", group+"/obs/__categories/cell", "--shape", "2", "--dtype", "int8")
	checkUnderscored(t, group, false)
	other := filepath.Join(dir, "b.zarr")
	if out := must(t, "", "convert", group, other, "--to", "3"); !strings.Contains(out, "1 node of format 3") {
		t.Error(out)
	}
	checkUnderscored(t, other, true)
	copied := filepath.Join(dir, "c.zarr")
	if out := decode(t, must(t, "", "copy", other, copied, "--json")); out["reserved_names"] != 1.0 {
		t.Error(out)
	}
	checkUnderscored(t, copied, true)
	if _, errs, status := execute(t, "", "create", copied+"/__new", "--shape", "2", "--dtype", "int8"); status != 1 || !strings.Contains(errs, "reserved") {
		t.Errorf("status %d, %s", status, errs)
	}
	must(t, "", "convert", group, "--to", "3")
	must(t, "", "convert", group, other, "--to", "2", "--overwrite", "--yes")
	checkUnderscored(t, other, false)
}

func checkUnderscored(t *testing.T, group string, noted bool) {
	t.Helper()
	must(t, "", "consolidate", group)
	for _, out := range []string{must(t, "", "tree", group), must(t, "", "ls", group+"/obs")} {
		if !strings.Contains(out, "__categories") {
			t.Errorf("not listed: %s", out)
		}
	}
	if out := must(t, "", "tree", group); !strings.Contains(out, "cell") {
		t.Error(out)
	}
	must(t, "", "info", group+"/obs/__categories/cell")
	if out := must(t, "", "info", group+"/obs/__categories"); strings.Contains(out, "reserves") != noted {
		t.Error(out)
	}
}
