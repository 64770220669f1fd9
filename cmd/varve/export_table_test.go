// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/columnar"
	"varve.dev/zarr/columnar/arrow"
	"varve.dev/zarr/columnar/parquet"
	"varve.dev/zarr/internal/racing"
)

// rowsOf returns the columns of a table, and the rows of each batch, as text.
func rowsOf(t *testing.T, r columnar.Reader, err error) (list []string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	head := ""
	for _, f := range r.Schema().Fields {
		head += f.Name + ":" + f.Type.String() + " "
	}
	list = append(list, strings.TrimSpace(head))
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for row := range b.Rows {
			for k := range b.Columns {
				text += cellOf(r.Schema().Fields[k].Type, &b.Columns[k], row) + " "
			}
			text = strings.TrimSpace(text) + "; "
		}
		list = append(list, strings.TrimSuffix(text, "; "))
	}
}

// cellOf returns a value as text.
func cellOf(t columnar.Type, c *columnar.Column, row int) string {
	switch {
	case !c.IsValid(row):
		return "null"
	case c.Dictionary != nil:
		return cellOf(t, c.Dictionary, int(c.Index[row]))
	case t.Kind == columnar.List:
		text := "["
		for i := c.Offsets[row]; i < c.Offsets[row+1]; i++ {
			text += cellOf(t.Element.Type, c.Elements, int(i)) + ","
		}
		return strings.TrimSuffix(text, ",") + "]"
	case c.Offsets != nil:
		return string(c.Data[c.Offsets[row]:c.Offsets[row+1]])
	}
	n := t.Bytes()
	var e [8]byte
	copy(e[:], c.Data[row*n:(row+1)*n])
	bits := binary.LittleEndian.Uint64(e[:])
	switch t.Kind {
	case columnar.Float64:
		return fmt.Sprint(math.Float64frombits(bits))
	case columnar.Int16:
		return fmt.Sprint(int16(bits))
	}
	return fmt.Sprint(int64(bits))
}

// readTable reads a file of Parquet or Arrow.
func readTable(t *testing.T, name string) []string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	var r columnar.Reader
	switch filepath.Ext(name) {
	case ".parquet":
		r, err = parquet.NewReader(f, info.Size(), parquet.Limits{})
	case ".arrows":
		r, err = arrow.NewStreamReader(f, 1<<20)
	default:
		r, err = arrow.NewFileReader(f, info.Size(), 1<<20)
	}
	return rowsOf(t, r, err)
}

// TestExportTables exports groups and arrays as tables, and reads them again.
func TestExportTables(t *testing.T) {
	dir := era(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, "", "rm", at("era.zarr/g"), "--yes")
	stored := []string{"time:int64 lat:float64 t2m:int16", "0 45 1; 0 50 2", "1 45 3; 1 50 4; 2 45 5; 2 50 6; 3 45 7; 3 50 8"}
	decoded := []string{"time:timestamp[s] lat:float64 t2m:float64", "1577923200 50 2; 1578009600 50 3"}
	for _, ext := range []string{"parquet", "arrow", "feather", "arrows"} {
		file := at("era." + ext)
		must(t, "", "export", at("era.zarr"), "--row-group-rows", "1", "-o", file)
		if got := readTable(t, file); fmt.Sprint(got) != fmt.Sprint(stored) {
			t.Errorf("%s: %q, want %q", file, got, stored)
		}
		// An array takes its coordinates along.
		must(t, "", "export", at("era.zarr/t2m"), "--decode", "--select", "time=1:3,lat=50..50", "--zstd", "1", "-o", file)
		want := decoded
		if ext == "parquet" { // which has no seconds
			want = []string{"time:timestamp[ms] lat:float64 t2m:float64", "1577923200000 50 2; 1578009600000 50 3"}
		}
		if got := readTable(t, file); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
	// Standard output is a stream.
	out := must(t, "", "export", at("era.zarr/t2m"), "--format", "arrow", "--row-group-rows", "1")
	r, err := arrow.NewStreamReader(strings.NewReader(out), 1<<20)
	if got := rowsOf(t, r, err); fmt.Sprint(got) != fmt.Sprint(stored) {
		t.Errorf("%q, want %q", got, stored)
	}
	file := must(t, "", "export", at("era.zarr/t2m"), "--format", "parquet", "--zstd", "0", "--row-group-rows", "1")
	p, err := parquet.NewReader(bytes.NewReader([]byte(file)), int64(len(file)), parquet.Limits{})
	if got := rowsOf(t, p, err); fmt.Sprint(got) != fmt.Sprint(stored) {
		t.Errorf("%q, want %q", got, stored)
	}
	if out := must(t, "", "export", at("era.zarr"), "-o", at("era.parquet"), "--json"); !strings.Contains(out, `"columns": ["time", "lat", "t2m"]`) || !strings.Contains(out, `"rows": 8`) {
		t.Error(out)
	}
}

// TestTableTrip exports a ragged set, stores the table as Zarr, and exports it again.
func TestTableTrip(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, "", "create", at("a.zarr"), "--group", "--attributes", `{"title":"T","n":1,"text":"1"}`)
	for _, a := range [][]string{
		{"row_size", "[2,0,1]", "int64", "row", `{"sample_dimension":"obs"}`}, {"id", "[7,8,9]", "int32", "row", `{"units":"m"}`},
		{"name", `["a","","c"]`, "string", "row", `{}`}, {"v", "[1,-1,3]", "int16", "obs", `{"_FillValue":-1}`}, {"w", "[1.5,2,3]", "float64", "obs", `{}`},
	} {
		must(t, "", "create", at("a.zarr/"+a[0]), "--shape", "3", "--dtype", a[2], "--chunks", "2", "--dimension-names", a[3], "--attributes", a[4])
		must(t, a[1], "write", at("a.zarr/"+a[0]), "--format", "json")
	}
	want := []string{"id:int32 name:string v:list<int16> w:list<float64>", "7 a [1,null] [1.5,2]; 8  [] []; 9 c [3] [3]"}
	for _, ext := range []string{"parquet", "arrow"} {
		must(t, "", "export", at("a.zarr"), "-o", at("a."+ext))
		must(t, "", "create", at(ext+".zarr"), "--from", at("a."+ext))
		must(t, "", "equal", at("a.zarr/id"), at(ext+".zarr/id"))
		must(t, "", "export", at(ext+".zarr"), "-o", at("b."+ext))
		for _, name := range []string{"a.", "b."} {
			if got := readTable(t, at(name+ext)); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %q, want %q", name+ext, got, want)
			}
		}
	}
}

// TestTableAttributes checks that attributes come back from tables, whatever their names.
func TestTableAttributes(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	attributes := `{"columns":["x"],"pandas":{"index_columns":[]},"proj:code":"EPSG:4326","spatial:bbox":[0,1,2,3]}`
	must(t, "", "create", at("a.zarr"), "--group", "--attributes", attributes)
	must(t, "", "create", at("a.zarr/v"), "--shape", "2", "--dtype", "int16", "--dimension-names", "row", "--attributes", attributes)
	// What formats of tables say about themselves does not.
	must(t, "", "create", at("a.zarr/w"), "--shape", "2", "--dtype", "int16", "--dimension-names", "row",
		"--attributes", `{"PARQUET:field_id":"1","pandas":{"columns":[],"pandas_version":"3.0"}}`)
	for _, ext := range []string{"parquet", "arrow"} {
		must(t, "", "export", at("a.zarr"), "-o", at("a."+ext))
		must(t, "", "create", at(ext+".zarr"), "--from", at("a."+ext))
		for _, name := range []string{"", "/v", "/w"} {
			want, got := must(t, "", "attrs", at("a.zarr"+name)), must(t, "", "attrs", at(ext+".zarr"+name))
			if name == "/w" {
				want = "{}\n"
			}
			if got != want {
				t.Errorf("%s%s: %s, want %s", ext, name, got, want)
			}
		}
	}
}

// TestNotesOfTables checks that notes name nodes that exist.
func TestNotesOfTables(t *testing.T) {
	dir := era(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	_, text, status := execute(t, "", "export", at("era.zarr/t2m"), "--select", "time=1", "-o", at("a.parquet"))
	if status != 0 || text != "note: time: is left out: it is a single value\n" {
		t.Errorf("status %d, %s", status, text)
	}
}

// TestExportTablesRefused checks that a refused export leaves neither a file nor a
// temporary one, and keeps the file before.
func TestExportTablesRefused(t *testing.T) {
	dir := era(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, "", "create", at("era.zarr/c"), "--shape", "2", "--dtype", "complex64", "--chunks", "2", "--dimension-names", "z")
	must(t, "", "create", at("era.zarr/long"), "--shape", "4611686018427387904", "--dtype", "int8", "--chunks", "1", "--dimension-names", "n")
	overwrite(t, at("old.parquet"), "old")
	for want, args := range map[string][]string{
		"c: elements of type complex64 have no type in tables": {"era.zarr/c"},
		"axis 0 has 4,611,686,018,427,387,904 chunks":          {"era.zarr/long"},
		"--split takes at most 16,777,216 elements":            {"era.zarr/long", "--split", "n:1", "--format", "raw"},
		"there would be 100,000 files":                         {"era.zarr/long", "--split", "n:1", "--select", "0:100000"},
		"a table has arrays that share their dimensions":       {"era.zarr"},
		"the file would have more than --limit":                {"era.zarr/t2m", "--limit", "1kB", "--format", "arrow"},
		"--deflate is for netcdf4 and GeoTIFF":                 {"era.zarr/t2m", "--deflate", "1"},
		"--row-group-rows 0: a row group has at least 1 row":   {"era.zarr/t2m", "--row-group-rows", "0"},
		"--zstd 23: a level is from 1 to 22":                   {"era.zarr/t2m", "--zstd", "23"},
		"points and masks leave no axes":                       {"era.zarr/t2m", "--select", `{"points": [[0], [0]]}`},
		"--header is for csv":                                  {"era.zarr/t2m", "--header"},
		"--row-group-rows is for Parquet and Arrow":            {"era.zarr/t2m", "--row-group-rows", "5", "--format", "netcdf4"},
		`no array of the group has a dimension "tim"`:          {"era.zarr", "--select", "tim=3"},
		`"time" is not a dimension and its parts`:              {"era.zarr/t2m", "--split", "time"},
		`"time:0" is not a dimension and its parts`:            {"era.zarr/t2m", "--split", "time:0"},
		`no array has a dimension "tim" (did you mean time?)`:  {"era.zarr/t2m", "--split", "tim:month"},
		"lat has elements that are no times: split it by":      {"era.zarr/t2m", "--split", "lat:month"},
		"parts 0 and 1 would both be":                          {"era.zarr/t2m", "--split", "time:day"},
		"no elements are selected along \"time\", so there":    {"era.zarr/t2m", "--split", "time:day", "--select", "0:0"},
	} {
		args = append([]string{"export", at(args[0]), "-o", at("old.parquet")}, args[1:]...)
		if _, text, status := execute(t, "", args...); status == 0 || !strings.Contains(text, want) {
			t.Errorf("%v: status %d, %s, want %q", args, status, text, want)
		}
	}
	for want, name := range map[string]string{"%Q stands for nothing": "a%Q.npy", "%\uFFFD": "a%", "there is no folder": "%N/a.npy"} {
		_, text, status := execute(t, "", "export", at("era.zarr/t2m"), "--split", "time:2", "-o", at(name), "--format", "npy")
		if status == 0 || !strings.Contains(text, want) && name != "a%" {
			t.Errorf("%s: status %d, %s, want %q", name, status, text, want)
		}
	}
	if _, text, status := execute(t, "", "export", at("era.zarr/t2m"), "--split", "time:2", "--format", "parquet"); status != 2 || !strings.Contains(text, "--split makes several files") {
		t.Errorf("status %d, %s", status, text)
	}
	if b, err := os.ReadFile(at("old.parquet")); err != nil || string(b) != "old" {
		t.Errorf("the file before has %q: %v", b, err)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 2 {
		t.Errorf("%v are left: %v", list, err)
	}
}

// TestExportSplit exports parts of a dimension in every format, and reads them again.
func TestExportSplit(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, "", "create", at("a.zarr"), "--group")
	must(t, "", "create", at("a.zarr/time"), "--shape", "5", "--dtype", "int64", "--chunks", "5", "--dimension-names", "time", "--attributes", `{"units":"days since 2020-01-30","calendar":"360_day"}`)
	must(t, "[0,1,2,30,31]", "write", at("a.zarr/time"), "--format", "json")
	must(t, "", "create", at("a.zarr/v"), "--shape", "5,2", "--dtype", "int16", "--chunks", "[[1,3,1],2]", "--dimension-names", "time,x")
	must(t, "[[1,2],[3,4],[5,6],[7,8],[9,10]]", "write", at("a.zarr/v"), "--format", "json")
	must(t, "", "create", at("a.zarr/w"), "--shape", "2", "--dtype", "int16", "--chunks", "2", "--dimension-names", "x")
	must(t, "[1,2]", "write", at("a.zarr/w"), "--format", "json")
	read := func(name string) string {
		b, err := os.ReadFile(at(name))
		if err != nil {
			t.Error(err)
		}
		return strings.TrimSpace(string(b))
	}
	out := must(t, "", "export", at("a.zarr/v"), "--split", "time:month", "-o", at("%Y-%m-%d-%j-%H%M%S-%N-%%.json"), "--json")
	if !strings.Contains(out, `"outputs": [`) {
		t.Error(out)
	}
	// In this calendar, each month has 30 days.
	for name, want := range map[string]string{
		"2020-01-30-030-000000-0-%.json": "[[1,2]]", "2020-02-01-031-000000-1-%.json": "[[3,4],[5,6],[7,8]]", "2020-03-01-061-000000-2-%.json": "[[9,10]]",
	} {
		if got := read(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for split, want := range map[string][]string{
		"time:year": {"[[1,2],[3,4],[5,6],[7,8],[9,10]]"}, "time:chunk": {"[[1,2]]", "[[3,4],[5,6],[7,8]]", "[[9,10]]"},
		"time:3": {"[[1,2],[3,4],[5,6]]", "[[7,8],[9,10]]"}, "x:1": {"[[1],[3],[5],[7],[9]]", "[[2],[4],[6],[8],[10]]"},
	} {
		must(t, "", "export", at("a.zarr/v"), "--split", split, "-o", at("p%N.json"))
		for i, text := range want {
			if got := read(fmt.Sprintf("p%d.json", i)); got != text {
				t.Errorf("%s, part %d: %s, want %s", split, i, got, text)
			}
		}
	}
	// The order of a selection is that of the parts, and a group is cut in all arrays.
	must(t, "", "export", at("a.zarr"), "--split", "time:month", "--select", "time=::-2", "-o", at("g-%m.nc"))
	must(t, "", "virtualize", at("g-02.nc"), "-o", at("g.vz"))
	for name, want := range map[string]string{"v": "[[5,6]]", "w": "[1,2]", "time": "[2]"} {
		if got := strings.TrimSpace(must(t, "", "export", at("g.vz/"+name), "--format", "json")); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	must(t, "", "export", at("a.zarr"), "--split", "time:2", "-o", at("t%N.parquet"), "--decode")
	want := []string{"time:string x:int64 v:int16 w:int16", "2020-02-02 0 5 1; 2020-02-02 1 6 2; 2020-02-30 0 7 1; 2020-02-30 1 8 2"}
	if got := readTable(t, at("t1.parquet")); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, name := range []string{"v", "time"} {
		must(t, "", "rm", at("a.zarr/"+name), "--yes")
	}
	must(t, "", "export", at("a.zarr"), "--format", "csv", "--split", "x:1", "-o", at("c%N"))
	if got := read("c1"); got != "w\n2" {
		t.Errorf("%q", got)
	}
}

// TestExportSplitInterrupted checks that the files before a failure stay, and that the
// message names them.
func TestExportSplitInterrupted(t *testing.T) {
	dir := era(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	chunk := at("era.zarr/t2m/c/1/0")
	if _, err := os.Stat(chunk); err != nil {
		t.Fatal(err)
	}
	overwrite(t, chunk, "damaged")
	_, text, status := execute(t, "", "export", at("era.zarr/t2m"), "--split", "time:chunk", "-o", at("p%N.parquet"))
	if status == 0 || !strings.Contains(text, "(complete: 1 of 2 files, "+at("p0.parquet")) || !strings.Contains(text, "p1.parquet: ") {
		t.Errorf("status %d, %s", status, text)
	}
	if got := readTable(t, at("p0.parquet")); len(got) != 2 {
		t.Error(got)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
		t.Errorf("%v are left: %v", list, err)
	}
}

// TestMemoryOfTables exports an array of 1 GiB, which takes little in its store. The
// memory does not depend on the length of the array.
func TestMemoryOfTables(t *testing.T) {
	if racing.Detector {
		t.Skip("measures memory")
	}
	at := filepath.Join(t.TempDir(), "a.zarr")
	must(t, "", "create", at+"/a", "--shape", "512,512,1024", "--dtype", "int32", "--chunks", "2,512,1024")
	must(t, "", "write", at+"/a", "--value", "7")
	withoutGarbage(t)
	const most = 200 // chunks, their indices, and garbage
	if got := leastMiB(most, func() { must(t, "", "export", at, "-o", at+".parquet") }); got > most {
		t.Errorf("%.0f MiB, want at most %d", got, most)
	}
}
