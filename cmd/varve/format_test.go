// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/internal/export"
)

// TestFormatOf checks the formats that file names imply.
func TestFormatOf(t *testing.T) {
	for name, want := range map[string]export.Format{
		"": export.Raw, "-": export.Raw, "a": export.Raw, "a.raw": export.Raw, "a.bin": export.Raw, "d.v1/a": export.Raw, "/dev/fd/63": export.Raw,
		".hidden": export.Raw, "a.BIN": export.Raw, "a.": export.Raw,
		"a.npy": export.NPY, "A.NPY": export.NPY, "a.b.npy": export.NPY, "a.csv": export.CSV, "a.CSV": export.CSV, "a.json": export.JSON, ".a.json": export.JSON,
		"a.csv.gz": "", "a.npy.gz": "", "a.npz": "", "a.txt": "", "a.f32": "", "a.jsonl": "", "a.raw.zst": "",
	} {
		got, err := format.Of("", name, true)
		if got != want || (err != nil) != (want == "") || err != nil && !failure.IsUsage(err) {
			t.Errorf("%q: %q, %v", name, got, err)
		}
		if got, err := format.Of("csv", name, true); got != export.CSV || err != nil {
			t.Errorf("%q as csv: %q, %v", name, got, err)
		}
	}
}

// TestUnknownExtensions checks that a file is neither read nor written as raw values if
// its name implies another format.
func TestUnknownExtensions(t *testing.T) {
	dir := t.TempDir()
	group := filepath.Join(t.TempDir(), "g.zarr")
	node := filepath.Join(group, "a")
	must(t, "", "create", group, "--group")
	must(t, "", "create", node, "--shape", "4", "--dtype", "int8")
	for _, name := range []string{"x.nc", "x.tif", "x.csv.gz", "x.npy.gz"} {
		junk := filepath.Join(dir, name)
		overwrite(t, junk, "\x01\x02\x03\x04")
		for _, args := range [][]string{
			{"write", node, junk}, {"append", node, junk}, {"export", node, "-o", junk}, {"append", group, "a=" + junk},
		} {
			isFile := name == "x.nc" || name == "x.tif"
			if isFile && args[0] == "export" {
				continue // these are written
			}
			must(t, "", "write", node, "--value", "0", "--yes")
			out, errs, status := execute(t, "", args...)
			want := 2
			if isFile {
				want = 1 // its bytes are not what its name says
			}
			if status != want || out != "" || !strings.Contains(errs, name) || !strings.Contains(errs, "--format") {
				t.Errorf("%q: status %d, %q, %q", args, status, out, errs)
			}
			if got := must(t, "", "cat", node); got != "[0 0 0 0]\n" {
				t.Errorf("%q: %s", args, got)
			}
		}
		if data, err := os.ReadFile(junk); err != nil || string(data) != "\x01\x02\x03\x04" {
			t.Errorf("%s was changed: %q, %v", name, data, err)
		}
		must(t, "", "write", node, junk, "--format", "raw")
		must(t, "", "export", node, "-o", junk, "--format", "raw")
		if got := must(t, "", "cat", node); got != "[1 2 3 4]\n" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestExportTable exports a group of arrays with one axis as one table.
func TestExportTable(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	for name, c := range map[string][3]string{
		"place": {"string", "{}", `["Oslo","a, b",""]`}, "depth": {"int16", `{"scale_factor": 0.5, "units": "m"}`, "[1,2,3]"},
		"time": {"int32", `{"units": "days since 2024-01-01"}`, "[0,1,5]"},
	} {
		createNoted(t, group+"/"+name, "--shape", "3", "--dtype", c[0], "--chunks", "2", "--attributes", c[1], "--dimension-names", "time")
		must(t, c[2], "write", group+"/"+name, "--format", "json")
	}
	for args, want := range map[string]string{
		"":                                 "time,depth,place\n0,1,Oslo\n1,2,\"a, b\"\n5,3,\"\"\n",
		"--decode":                         "time,depth,place\n2024-01-01T00:00:00,0.5,Oslo\n2024-01-02T00:00:00,1,\"a, b\"\n2024-01-06T00:00:00,1.5,\"\"\n",
		"--select time=2024-01-02.. ":      "time,depth,place\n1,2,\"a, b\"\n5,3,\"\"\n",
		"--select ::-1 --header":           "time,depth,place\n5,3,\"\"\n1,2,\"a, b\"\n0,1,Oslo\n",
		"--select 3: -o " + group + ".csv": "",
	} {
		if got := must(t, "", append([]string{"export", group, "--format", "csv"}, strings.Fields(args)...)...); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	if b, err := os.ReadFile(group + ".csv"); err != nil || string(b) != "time,depth,place\n" {
		t.Errorf("%q, %v", b, err)
	}
	refuses(t, "has shape [3 2]", "export", makeMember(t, group, "field", "3,2"), "--format", "csv")
	must(t, "", "rm", group+"/field", "--yes")
	refuses(t, "give a range", "export", group, "--format", "csv", "--select", "1")
	refuses(t, "it is a group", "export", group, "--format", "json")
	refuses(t, "share their dimension", "export", makeMember(t, group, "other", "3"), "--format", "csv")
}

// makeMember creates an array in a group, and returns the group.
func makeMember(t *testing.T, group, name, shape string) string {
	t.Helper()
	createNoted(t, group+"/"+name, "--shape", shape, "--dtype", "int8")
	return group
}

// TestNotNumPy refuses files that should be in NumPy's format and are not.
func TestNotNumPy(t *testing.T) {
	dir := t.TempDir()
	node := newNode(t, "--shape", "4", "--dtype", "int8")
	for _, name := range []string{"x.npy", "x.nc", "x"} {
		junk := filepath.Join(dir, name)
		overwrite(t, junk, "\x01\x02\x03\x04")
		for _, args := range [][]string{
			{"create", filepath.Join(dir, "new.zarr"), "--from", junk},
			{"cat", node, "--select", `{"mask": ` + string(output.Text(junk)) + `}`},
		} {
			if _, errs, status := execute(t, "", args...); status != 1 || !strings.Contains(errs, name) || !strings.Contains(errs, "npy") {
				t.Errorf("%q: status %d, %q", args, status, errs)
			}
		}
	}
}
