// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestColumnarTables exports groups of xarray and zarr-python as Parquet and as files and streams
// of Arrow: in long form with coordinates of one and two axes, side by side, of all types
// and in other calendars, ragged sets, structs, empty arrays and single values, stored in
// regular and rectilinear chunks and in shards, of both formats. pyarrow, pandas, Polars
// and DuckDB read the rows that xarray has. Row groups are chunks, and have statistics.
func TestColumnarTables(t *testing.T) {
	python := interpreter(t)
	if out, err := exec.Command(python, "-c", "import pyarrow, duckdb, polars, pandas, xarray").CombinedOutput(); err != nil {
		missing := "no pyarrow, DuckDB or Polars; run interop/setup: " + strings.TrimSpace(string(out))
		if os.Getenv("CI") == "true" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	judge := func(what string) string {
		t.Helper()
		out, err := exec.Command(python, "tables.py", what, dir).CombinedOutput()
		if err != nil {
			t.Fatalf("tables.py %s: %v\n%s", what, err, out)
		}
		return string(out)
	}
	varve := commandOf(t, dir)
	for line := range strings.Lines(judge("write")) {
		name, reason, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		node := at(name + ".zarr")
		for _, extension := range []string{"parquet", "arrow", "arrows"} {
			if reason == "" {
				varve("export", node, "-o", at(name+".stored."+extension))
				varve("export", node, "-o", at(name+".decoded."+extension), "--decode")
				continue
			}
			out, err := exec.Command(at("varve"), "export", node, "-o", at("refused."+extension)).CombinedOutput()
			if err == nil || !strings.Contains(string(out), reason) {
				t.Errorf("%s: %v: %s, want a refusal with %q", name, err, out, reason)
			}
		}
	}
	if left, err := filepath.Glob(at("*refused*")); err != nil || len(left) > 0 {
		t.Errorf("a refused export has left %v: %v", left, err)
	}
	varve("export", at("grid.zarr"), "-o", at("grid.chunks.parquet"), "--row-group-rows", "1")
	t.Logf("%s tables are equal", strings.TrimSpace(judge("read")))

	shell := exec.Command("sh", "-c", `"$1" export "$2" --format arrow --decode | "$3" tables.py pipe`, "sh", at("varve"), at("grid.zarr"), python)
	if out, err := shell.Output(); err != nil || strings.TrimSpace(string(out)) != "(700, 697, 50.0)" {
		t.Errorf("a pipe to DuckDB: %v: %s", err, out)
	}
	varve("export", at("grid.zarr"), "--split", "time:month", "-o", at("month-%Y-%m.nc"))
	varve("export", at("grid.zarr"), "--split", "time:month", "-o", at("month-%Y-%m.parquet"))
	judge("parts")

	// The first example of docs/export.md.
	judge("era5")
	for _, line := range firstExample(t) {
		shell := exec.Command("sh", "-c", "varve() { \""+at("varve")+"\" \"$@\"; }; "+line)
		shell.Dir = dir
		if out, err := shell.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	judge("three")
}

// firstExample returns the commands of the first block of docs/export.md.
func firstExample(t *testing.T) (lines []string) {
	t.Helper()
	text, err := os.ReadFile("../docs/export.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```sh\n")
	block, _, _ = strings.Cut(block, "```")
	for line := range strings.Lines(block) {
		lines = append(lines, strings.TrimSpace(line))
	}
	if len(lines) != 3 {
		t.Fatalf("the example has the lines %q", lines)
	}
	return lines
}
