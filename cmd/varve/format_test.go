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
)

// TestFormatOf checks the formats that file names imply.
func TestFormatOf(t *testing.T) {
	for name, want := range map[string]format.Format{
		"": format.Raw, "-": format.Raw, "a": format.Raw, "a.raw": format.Raw, "a.bin": format.Raw, "d.v1/a": format.Raw, "/dev/fd/63": format.Raw,
		".hidden": format.Raw, "a.BIN": format.Raw, "a.": format.Raw,
		"a.npy": format.NPY, "A.NPY": format.NPY, "a.b.npy": format.NPY, "a.csv": format.CSV, "a.CSV": format.CSV, "a.json": format.JSON, ".a.json": format.JSON,
		"a.nc": "", "a.tif": "", "a.csv.gz": "", "a.npy.gz": "", "a.npz": "", "a.txt": "", "a.f32": "", "a.jsonl": "", "a.raw.zst": "",
	} {
		got, err := format.Of("", name, true)
		if got != want || (err != nil) != (want == "") || err != nil && !failure.IsUsage(err) {
			t.Errorf("%q: %q, %v", name, got, err)
		}
		if got, err := format.Of("csv", name, true); got != format.CSV || err != nil {
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
			must(t, "", "write", node, "--value", "0", "--yes")
			out, errs, status := execute(t, "", args...)
			want := 2
			if args[0] != "export" && (name == "x.nc" || name == "x.tif") {
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
