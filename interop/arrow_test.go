// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/columnar"
	"varve.dev/zarr/columnar/arrow"
)

// judgeTables returns a function that runs arrow.py.
func judgeTables(t *testing.T) func(args ...string) {
	t.Helper()
	python := interpreter(t)
	if out, err := exec.Command(python, "-c", "import pyarrow, polars, duckdb, pandas, xarray").CombinedOutput(); err != nil {
		missing := "no pyarrow, Polars, DuckDB, pandas or xarray; run interop/setup: " + strings.TrimSpace(string(out))
		if os.Getenv("CI") == "true" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	return func(args ...string) {
		t.Helper()
		if out, err := exec.Command(python, append([]string{"-W", "ignore", "arrow.py"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("arrow.py %.200q: %v\n%s", args, err, out)
		}
	}
}

// TestArrow writes the columns of files of pyarrow and Polars again, as files and streams
// with each compression. pyarrow, Polars, DuckDB and pandas read the same from both.
func TestArrow(t *testing.T) {
	judge, dir := judgeTables(t), t.TempDir()
	var pairs []string
	for _, name := range []string{"simple.arrow", "simple.arrows", "other.arrow", "delta.arrow", "polars-zstd.arrow", "lz4.arrow"} {
		from := filepath.Join("../columnar/arrow/testdata", name)
		for c, codec := range map[arrow.Compression]string{arrow.Uncompressed: "plain", arrow.LZ4: "lz4", arrow.Zstd: "zstd"} {
			for _, ext := range []string{".arrow", ".arrows"} {
				to := filepath.Join(dir, codec+"-"+name+ext)
				check(t, rewriteTable(from, to, c))
				pairs = append(pairs, from, to)
			}
		}
	}
	judge(append([]string{"judge"}, pairs...)...)
}

// rewriteTable reads a table, and writes it again.
func rewriteTable(from, to string, c arrow.Compression) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	var r columnar.Reader
	if strings.HasSuffix(from, ".arrows") {
		r, err = arrow.NewStreamReader(src, 0)
	} else {
		r, err = arrow.NewFileReader(src, info.Size(), 0)
	}
	if err != nil {
		return err
	}
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	defer dst.Close()
	begin := arrow.NewFileWriter
	if strings.HasSuffix(to, ".arrows") {
		begin = arrow.NewStreamWriter
	}
	w, err := begin(dst, r.Schema(), c)
	if err != nil {
		return err
	}
	for {
		b, err := r.Next()
		if err == io.EOF {
			return w.Close()
		}
		if err == nil {
			err = w.Write(b)
		}
		if err != nil {
			return err
		}
	}
}

// TestTablesIn makes groups of tables with nulls that pandas, DuckDB, Polars and pyarrow
// have written, and appends others. xarray reads the values of both.
func TestTablesIn(t *testing.T) {
	judge, dir := judgeTables(t), t.TempDir()
	varve := commandOf(t, dir)
	judge("tables", dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, ext := range map[string]string{
		"pandas": ".parquet", "feather": ".feather", "stream": ".arrows", "polars": ".arrow", "polarsp": ".parquet", "duckdb": ".parquet",
	} {
		varve("create", at(name+".zarr"), "--from", at(name+"-0"+ext))
		varve("append", at(name+".zarr"), at(name+"-1"+ext))
		varve("export", at(name+".zarr"), "-o", at(name+".csv"), "--decode")
		judge("zarr", dir, name)
	}
}
