// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/tables"
	"varve.dev/zarr/columnar"
	"varve.dev/zarr/columnar/arrow"
	"varve.dev/zarr/columnar/parquet"
)

// tableColumn is a column of a test: its values as int, tall, float64, string or []int32,
// and nil for null.
type tableColumn struct {
	name     string
	typ      columnar.Type
	nullable bool
	values   []any
}

// tall is a decimal that no int64 has.
type tall struct{}

// column returns rows of a column.
func (c tableColumn) column(from, to int) (out columnar.Column) {
	out.Rows = to - from
	out.Valid = make([]byte, (out.Rows+7)/8)
	isList, isText := c.typ.Kind == columnar.List, c.typ.Bytes() == 0
	if isText {
		out.Offsets = []int64{0}
	}
	var elements []byte
	for i, v := range c.values[from:to] {
		if v != nil {
			out.Valid[i/8] |= 1 << (i % 8)
		}
		var raw []byte
		switch v := v.(type) {
		case nil:
			raw = make([]byte, c.typ.Bytes())
		case int:
			raw = binary.LittleEndian.AppendUint64(nil, uint64(int64(v)))
			raw = append(raw, bytes.Repeat([]byte{byte(v >> 63)}, 8)...)[:c.typ.Bytes()]
		case tall:
			raw = append(make([]byte, 15), 1)
		case float64:
			raw = binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
		case string:
			raw = []byte(v)
		case []int32:
			for _, x := range v {
				raw = binary.LittleEndian.AppendUint32(raw, uint32(x))
			}
		}
		elements = append(elements, raw...)
		switch {
		case isList:
			out.Offsets = append(out.Offsets, int64(len(elements)/4))
		case isText:
			out.Offsets = append(out.Offsets, int64(len(elements)))
		}
	}
	if isList {
		out.Elements = &columnar.Column{Rows: len(elements) / 4, Data: elements}
	} else {
		out.Data = elements
	}
	return out
}

// writeTable writes a table with batches of some rows.
func writeTable(t *testing.T, file string, columns []tableColumn, rows ...int) string {
	t.Helper()
	s := &columnar.Schema{Metadata: []columnar.Pair{{Key: "title", Value: "T"}}}
	for _, c := range columns {
		s.Fields = append(s.Fields, columnar.Field{Name: c.name, Type: c.typ, Nullable: c.nullable, Metadata: []columnar.Pair{{Key: "long_name", Value: "the " + c.name}}})
	}
	var out bytes.Buffer
	var w columnar.Writer
	var err error
	switch filepath.Ext(file) {
	case ".parquet":
		w, err = parquet.NewWriter(&out, tables.WithColumns(s), parquet.Options{})
	case ".arrows":
		w, err = arrow.NewStreamWriter(&out, s, arrow.Uncompressed)
	default:
		w, err = arrow.NewFileWriter(&out, s, arrow.Zstd)
	}
	at := 0
	for _, n := range rows {
		b := &columnar.Batch{Rows: n}
		for _, c := range columns {
			b.Columns = append(b.Columns, c.column(at, at+n))
		}
		if at += n; err == nil {
			err = w.Write(b)
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = os.WriteFile(file, out.Bytes(), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// salesTables writes the tables of examples.
func salesTables(t *testing.T, dir string) {
	t.Helper()
	for i, name := range []string{"sales", "may", "june", "more"} {
		writeTable(t, filepath.Join(dir, name+".parquet"), stations(1+5*i), 5)
	}
}

var (
	int64Type = columnar.Type{Kind: columnar.Int64}
	textType  = columnar.Type{Kind: columnar.String}
	listType  = columnar.Type{Kind: columnar.List, Element: &columnar.Field{Name: "item", Type: columnar.Type{Kind: columnar.Int32}}}
)

// stations is a table without nulls in text.
func stations(from int) []tableColumn {
	return []tableColumn{
		{"id", int64Type, false, []any{from, from + 1, from + 2, from + 3, from + 4}},
		{"at", columnar.Type{Kind: columnar.Timestamp, Unit: columnar.Second}, true, []any{0, 86400, nil, 3, 4}},
		{"height", columnar.Type{Kind: columnar.Int16}, true, []any{-32768, 7, nil, 3, 4}},
		{"t", columnar.Type{Kind: columnar.Float64}, true, []any{1.5, nil, 2.5, 3.0, 4.0}},
		{"price", columnar.Type{Kind: columnar.Decimal, Precision: 20, Scale: 2}, true, []any{-125, 250, 0, 1, 2}},
		{"name", textType, true, []any{"a", "", "c", "d", "e"}},
	}
}

// TestCreateFromTable makes groups of tables of each format. Each batch becomes a chunk.
func TestCreateFromTable(t *testing.T) {
	dir := t.TempDir()
	for _, ext := range []string{".arrow", ".arrows", ".feather", ".parquet"} {
		file := writeTable(t, filepath.Join(dir, "s"+ext), stations(1), 2, 0, 3)
		g := filepath.Join(dir, ext[1:]+".zarr")
		must(t, "", "create", g, "--from", file)
		want := "at,height,id,name,price,t\n1970-01-01T00:00:00,-32768,1,a,-1.25,1.5\n1970-01-02T00:00:00,7,2,\"\",2.5,nan\nNaT,nan,3,c,0,2.5\n" +
			"1970-01-01T00:00:03,3,4,d,0.01,3\n1970-01-01T00:00:04,4,5,e,0.02,4\n"
		// Parquet has no seconds.
		if got := strings.ReplaceAll(must(t, "", "export", g, "--format", "csv", "--decode"), ".000000", ""); got != want {
			t.Errorf("%s: got\n%swant\n%s", ext, got, want)
		}
		for _, name := range []string{"at", "name"} {
			if got := chunkShapes(t, g+"/"+name); got != "[[2,3]]" {
				t.Errorf("%s %s: %s", ext, name, got)
			}
		}
		if got := must(t, "", "attrs", g+"/height"); !strings.Contains(got, `"_FillValue": 32767`) || !strings.Contains(got, `"long_name": "the height"`) {
			t.Error(got)
		}
		if got := must(t, "", "attrs", g); !strings.Contains(got, `"title": "T"`) {
			t.Error(got)
		}
		// Another table of the same columns. An array of another dimension stays.
		must(t, "", "create", g+"/lookup", "--shape", "2", "--dtype", "int8", "--dimension-names", "code")
		more := writeTable(t, filepath.Join(dir, "more"+ext), stations(6), 4, 1)
		must(t, "", "append", g, more, "--expect", "5")
		if got := chunkShapes(t, g+"/t"); got != "[[2,3,4,1]]" {
			t.Error(got)
		}
		if got := must(t, "", "export", g+"/id", "--format", "json"); got != "[1,2,3,4,5,6,7,8,9,10]\n" {
			t.Error(got)
		}
		if got := must(t, "", "export", g+"/height", "--format", "json"); got != "[-32768,7,32767,3,4,-32768,7,32767,3,4]\n" {
			t.Error(got)
		}
		if _, errs, status := execute(t, "", "append", g, more, "--expect", "5"); status != 1 || !strings.Contains(errs, "10") {
			t.Errorf("status %d, %s", status, errs)
		}
	}
}

// TestTableFromPipe reads tables from standard input, and cuts other chunks.
func TestTableFromPipe(t *testing.T) {
	dir := t.TempDir()
	raw, err := os.ReadFile(writeTable(t, filepath.Join(dir, "s.arrows"), stations(1), 2, 3))
	if err != nil {
		t.Fatal(err)
	}
	for chunks, want := range map[string]string{"2": "every [2]", "[[1,4]]": "[[1,4]]", "100": "every [100]"} {
		g := filepath.Join(dir, fmt.Sprintf("%d.zarr", len(want)))
		must(t, string(raw), "create", g, "--from", "-", "--chunks", chunks, "--dimension-names", "station", "--compressor", "none")
		if got := chunkShapes(t, g+"/name"); got != want {
			t.Errorf("--chunks %s: %s, want %s", chunks, got, want)
		}
		if must(t, string(raw), "append", g, "-", "--dry-run"); chunks == "2" {
			must(t, string(raw), "append", g, "-", "--format", "arrow")
		} else {
			must(t, string(raw), "append", g, "-")
		}
		if got := must(t, "", "export", g+"/name", "--format", "json"); got != `["a","","c","d","e","a","","c","d","e"]`+"\n" {
			t.Error(got)
		}
		if got := must(t, "", "info", g+"/t"); !strings.Contains(got, "(station)") || strings.Contains(got, "zstd") {
			t.Error(got)
		}
	}
	g := filepath.Join(dir, "dry.zarr")
	must(t, string(raw), "create", g, "--from", "-", "--dry-run")
	if _, err := os.Stat(g); err == nil {
		t.Error("a dry run has made a group")
	}
	if out := decode(t, must(t, string(raw), "create", g, "--from", "-", "--json")); out["node_type"] != "group" && out["kind"] != "group" && out["path"] != g {
		t.Error(out)
	}
}

// TestTableNulls stores nulls of all kinds of columns.
func TestTableNulls(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, columns ...tableColumn) string {
		return writeTable(t, filepath.Join(dir, name+".arrow"), columns, 1, 2)
	}
	flags := columnar.Type{Kind: columnar.Bool}
	tiny := columnar.Type{Kind: columnar.Uint8}
	mixed := file("mixed", tableColumn{"b", flags, true, []any{1, nil, 0}}, tableColumn{"name", textType, true, []any{nil, "x", ""}}, tableColumn{"n", tiny, true, []any{255, nil, 0}})
	for _, c := range []struct{ line, want string }{
		{"--from " + mixed, `column "b": 1 of its elements are null, and no element of type bool is free`},
		{"--from " + file("text", tableColumn{"name", textType, true, []any{nil, "x", ""}}), `column "name": 1 of its texts are null: --nulls fill:TEXT`},
		{"--nulls fill:x --from " + file("text", tableColumn{"name", textType, true, []any{nil, "x", ""}}), `column "name" in batch 1: the text "x" is a value`},
		{"--from " + file("list", tableColumn{"l", listType, true, []any{nil, []int32{1, 2}, []int32{}}}), `column "l": 1 of its lists are null`},
		{"--from " + file("long", tableColumn{"d", columnar.Type{Kind: columnar.FixedBinary, Width: 3}, true, []any{nil, "abc", "def"}}), `no element of type raw_bytes[3] is free`},
	} {
		_, errs, status := execute(t, "", append([]string{"create", dir + "/no.zarr"}, strings.Fields(c.line)...)...)
		if _, err := os.Stat(dir + "/no.zarr"); err == nil || status != 1 || !strings.Contains(errs, c.want) || !strings.Contains(errs, "--nulls mask") && !strings.Contains(errs, "another one") {
			t.Errorf("%s: status %d, %s", c.line, status, errs)
		}
	}
	g := dir + "/masked.zarr"
	if _, errs, status := execute(t, "", "create", g, "--from", mixed, "--nulls", "mask"); status != 0 || !strings.HasPrefix(errs, "note: ") || !strings.Contains(errs, "NAME_mask") {
		t.Errorf("status %d, %s", status, errs)
	}
	want := `b,b_mask,n,n_mask,name,name_mask
true,false,255,false,"",true
false,true,0,true,x,false
false,false,0,false,"",false
`
	if got := must(t, "", "export", g, "--format", "csv"); got != want {
		t.Error(got)
	}
	// A table without nulls grows the masks, too.
	must(t, "", "append", g, file("whole", tableColumn{"n", tiny, false, []any{1, 2, 3}}, tableColumn{"b", flags, false, []any{1, 1, 1}}, tableColumn{"name", textType, true, []any{"p", "q", "r"}}))
	if got := must(t, "", "export", g+"/n_mask", "--format", "json"); got != "[false,true,false,false,false,false]\n" {
		t.Error(got)
	}
	filled := dir + "/filled.zarr"
	must(t, "", "create", filled, "--from", file("two", tableColumn{"name", textType, true, []any{nil, "x", ""}}, tableColumn{"n", tiny, true, []any{255, nil, 0}}), "--nulls", "fill:NA")
	if got := must(t, "", "export", filled, "--format", "csv"); got != "n,name\n255,NA\n254,x\n0,\"\"\n" {
		t.Error(got)
	}
	if got := must(t, "", "attrs", filled+"/name"); !strings.Contains(got, `"missing_value": "NA"`) {
		t.Error(got)
	}
	// What stands for null must not be a value later.
	_, errs, status := execute(t, "", "append", filled, file("bad", tableColumn{"name", textType, true, []any{"p", "NA", "r"}}, tableColumn{"n", tiny, false, []any{1, 2, 3}}))
	if status != 1 || !strings.Contains(errs, `column "name" in batch 1: a value is the one that stands for null in the array`) {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestTableLists makes ragged sets of lists, and lets them grow.
func TestTableLists(t *testing.T) {
	dir := t.TempDir()
	columns := []tableColumn{{"l", listType, true, []any{[]int32{1, 2}, []int32{}, nil, []int32{3}}}, {"id", int64Type, false, []any{1, 2, 3, 4}}}
	file := writeTable(t, filepath.Join(dir, "a.parquet"), columns, 2, 2)
	g := filepath.Join(dir, "g.zarr")
	must(t, "", "create", g, "--from", file, "--nulls", "mask", "--json")
	must(t, "", "append", g, file, file)
	for name, want := range map[string]string{
		"l": "[1,2,3,1,2,3,1,2,3]", "l_row_size": "[2,0,0,1,2,0,0,1,2,0,0,1]", "id": "[1,2,3,4,1,2,3,4,1,2,3,4]",
		"l_row_size_mask": "[false,false,true,false,false,false,true,false,false,false,true,false]",
	} {
		if got := must(t, "", "export", g+"/"+name, "--format", "json"); got != want+"\n" {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := chunkShapes(t, g+"/l"); got != "every [2]" {
		t.Error(got)
	}
	if got := must(t, "", "attrs", g+"/l_row_size"); !strings.Contains(got, `"sample_dimension": "l_obs"`) {
		t.Error(got)
	}
	// Rows of such a set can be filtered.
	must(t, "", "filter", g, filepath.Join(dir, "some.zarr"), "--where", "id == 4")
	if got := must(t, "", "export", filepath.Join(dir, "some.zarr/l"), "--format", "json"); got != "[3,3,3]\n" {
		t.Error(got)
	}
	_, errs, status := execute(t, "", "append", g, file, "--by", "id")
	if status != 2 || !strings.Contains(errs, "lists") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestTableBy appends only the rows that are new.
func TestTableBy(t *testing.T) {
	dir := t.TempDir()
	g := filepath.Join(dir, "g.zarr")
	must(t, "", "create", g, "--from", writeTable(t, filepath.Join(dir, "a.arrow"), stations(1), 5))
	file := writeTable(t, filepath.Join(dir, "b.arrow"), stations(4), 5)
	_, errs, status := execute(t, "", "append", g, file, "--by", "id")
	if status != 1 || !strings.Contains(errs, "--on-duplicate") {
		t.Errorf("status %d, %s", status, errs)
	}
	must(t, "", "append", g, file, "--by", "id", "--on-duplicate", "skip", "--dry-run")
	out := decode(t, must(t, "", "append", g, file, "--by", "id", "--on-duplicate", "skip", "--json"))
	if fmt.Sprint(out["appended"], out["skipped"]) != "3 2" && !strings.Contains(fmt.Sprint(out), "appended:3") {
		t.Error(out)
	}
	if got := must(t, "", "export", g+"/id", "--format", "json"); got != "[1,2,3,4,5,6,7,8]\n" {
		t.Error(got)
	}
	if got := must(t, "", "export", g+"/name", "--format", "json"); got != `["a","","c","d","e","c","d","e"]`+"\n" {
		t.Error(got)
	}
}

// TestTableRefused has tables that do not fit a group, or that cannot become one. Nothing
// changes.
func TestTableRefused(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	must(t, "", "create", "g.zarr", "--from", writeTable(t, "a.arrow", stations(1), 5))
	table := func(name string, change func(c []tableColumn) []tableColumn) {
		writeTable(t, name, change(stations(1)), 5)
	}
	table("less.arrow", func(c []tableColumn) []tableColumn { return c[1:] })
	table("more.arrow", func(c []tableColumn) []tableColumn {
		return append(c, tableColumn{"new", int64Type, false, []any{1, 2, 3, 4, 5}})
	})
	table("type.arrow", func(c []tableColumn) []tableColumn { c[0].typ = columnar.Type{Kind: columnar.Int32}; return c })
	table("unit.arrow", func(c []tableColumn) []tableColumn { c[1].typ.Unit = columnar.Millisecond; return c })
	table("null.arrow", func(c []tableColumn) []tableColumn { c[4].values[0] = nil; return c })
	table("digits.arrow", func(c []tableColumn) []tableColumn { c[4].typ.Precision = 38; return c })
	table("slash.arrow", func(c []tableColumn) []tableColumn { c[0].name = "a/b"; return c })
	table("reserved.arrow", func(c []tableColumn) []tableColumn { c[0].name = "__x"; return c })
	table("name.arrow", func(c []tableColumn) []tableColumn { c[0].name = strings.Repeat("x", 300); return c })
	table("twice.arrow", func(c []tableColumn) []tableColumn { c[0].name = "t"; return c })
	writeTable(t, "none.arrow", nil, 3)
	overwrite(t, "empty.parquet", "")
	overwrite(t, "text.arrow", "1,2,3 and more\n")
	before := treeOf(t, dir)
	for line, want := range map[string]string{
		"append g.zarr less.arrow":                             "no column for these arrays of the group: id",
		"append g.zarr more.arrow":                             `column "new": the group has no array new`,
		"append g.zarr type.arrow":                             `column "id": it would be stored as int32, and the array has the type int64`,
		"append g.zarr unit.arrow":                             `"milliseconds since 1970-01-01", and the array has "seconds since 1970-01-01"`,
		"append g.zarr null.arrow":                             `column "price" in batch 0: it has nulls`,
		"append g.zarr a.arrow type.arrow":                     `column "id"`,
		"append g.zarr a.arrow g.zarr":                         "is no table",
		"append g.zarr a.arrow --axis 1":                       "one axis",
		"append g.zarr gone.arrow":                             "gone.arrow",
		"append new.zarr a.arrow":                              "varve create new.zarr --from a.arrow",
		"create new.zarr --from slash.arrow":                   `column "a/b"`,
		"append g.zarr/id a.arrow":                             "varve append g.zarr a.arrow",
		"create new.zarr --from reserved.arrow":                `column "__x": names of arrays that begin with "__" are reserved: rename it in the table`,
		"create new.zarr --from name.arrow":                    "300, at most 255: rename it in the table",
		"create new.zarr --from twice.arrow":                   `an array of the name "t"`,
		"create new.zarr --from none.arrow":                    "no columns",
		"create new.zarr --from empty.parquet":                 "empty.parquet",
		"create new.zarr --from text.arrow":                    "text.arrow",
		"create new.zarr --from a.arrow --shards 4":            "--shards",
		"create new.zarr --from a.arrow --zarr-format 2":       "format 2",
		"create new.zarr --from a.arrow --nulls x":             "fill:TEXT",
		"create new.zarr --from a.arrow --dimension-names a,b": "one dimension",
		"create new.zarr --shape 3 --dtype int8 --nulls mask":  "--nulls is for tables",
		"create g.zarr --from a.arrow":                         "--overwrite",
	} {
		_, errs, status := execute(t, "", strings.Fields(line)...)
		if status == 0 || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s, want %q", line, status, errs, want)
		}
	}
	if after := treeOf(t, dir); after != before {
		t.Errorf("something has changed:\n%s\n%s", before, after)
	}
	// Decimals of many digits are stored if they have few, and refused if they do not.
	long := stations(1)
	long[4].typ.Precision = 38
	long[4].values[3] = tall{}
	writeTable(t, "long.arrow", long, 5)
	if _, errs, status := execute(t, "", "create", "new.zarr", "--from", "long.arrow"); status != 1 || !strings.Contains(errs, `column "price" in batch 0: a decimal has more digits than an int64`) {
		t.Errorf("status %d, %s", status, errs)
	}
	must(t, "", "create", "digits.zarr", "--from", "digits.arrow")
	must(t, "", "create", "g.zarr", "--from", "a.arrow", "--overwrite", "--yes")
}

// TestTableNaN appends NaN and null to arrays of which one says that NaN stands for null.
func TestTableNaN(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, v := range map[string]any{"plain": 1.5, "nan": math.NaN(), "null": nil} {
		writeTable(t, name+".arrow", []tableColumn{{"y", columnar.Type{Kind: columnar.Float64}, true, []any{2.5, v}}}, 1, 1)
		if v != nil {
			must(t, "", "create", name+".zarr", "--from", name+".arrow")
		}
	}
	for line, want := range map[string]string{
		"append plain.zarr nan.arrow": `column "y" in batch 1: a value is NaN, which stands for null in the array`,
		"append nan.zarr null.arrow":  `column "y" in batch 1: it has nulls, and no element of the array stands for null: first set the attribute _FillValue`,
	} {
		if _, errs, status := execute(t, "", strings.Fields(line)...); status != 1 || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s", line, status, errs)
		}
	}
	must(t, "", "append", "plain.zarr", "null.arrow")
	must(t, "", "append", "nan.zarr", "nan.arrow")
	// The way out that the message names.
	must(t, "", "attrs", "nan.zarr/y", "set", "_FillValue", `"AAAAAAAA+H8="`)
	must(t, "", "append", "nan.zarr", "null.arrow")
}

// TestTableZones keeps moments and clock times apart, there and back.
func TestTableZones(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, utc := range map[string]bool{"moment": true, "clock": false} {
		writeTable(t, name+".parquet", []tableColumn{{"t", columnar.Type{Kind: columnar.Timestamp, Unit: columnar.Millisecond, UTC: utc}, false, []any{1, 2}}}, 2)
		must(t, "", "create", name+".zarr", "--from", name+".parquet")
		must(t, "", "append", name+".zarr", name+".parquet")
		must(t, "", "export", name+".zarr", "-o", name+"2.arrow", "--decode")
		must(t, "", "create", name+"2.zarr", "--from", name+"2.arrow")
		if got := must(t, "", "attrs", name+"2.zarr/t", "get", "units"); strings.Contains(got, "+00:00") != utc {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := must(t, "", "attrs", "moment.zarr/t", "get", "units"); !strings.Contains(got, "milliseconds since 1970-01-01T00:00:00+00:00") {
		t.Error(got)
	}
	if got := must(t, "", "export", "moment.zarr/t", "--format", "csv", "--decode"); !strings.Contains(got, "1970-01-01T00:00:00.002") {
		t.Error(got)
	}
	for _, line := range []string{"append moment.zarr clock.parquet", "append clock.zarr moment.parquet"} {
		if _, errs, status := execute(t, "", strings.Fields(line)...); status != 1 || !strings.Contains(errs, `column "t"`) || !strings.Contains(errs, "units") {
			t.Errorf("%s: status %d, %s", line, status, errs)
		}
	}
}

// TestTableInterrupted stops create and append at a silent pipe. Nothing is left.
func TestTableInterrupted(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o777); err != nil {
		t.Fatal(err)
	}
	g := filepath.Join(dir, "g.zarr")
	must(t, "", "create", g, "--from", writeTable(t, filepath.Join(dir, "a.arrow"), stations(1), 5))
	before := treeOf(t, dir)
	for _, args := range [][]string{{"append", g, "-", "--format", "arrow"}, {"create", dir + "/new.zarr", "--from", "-"}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		in := notified{silent(t), make(chan struct{})}
		go func() {
			<-in.begun
			cancel(&console.Interrupt{Signal: syscall.SIGINT})
		}()
		var out, errs bytes.Buffer
		if status := run(ctx, args, console.Streams{In: in, Out: &out, Err: &errs}); status != 130 {
			t.Errorf("%q: status %d, %s", args, status, errs.String())
		}
	}
	if after := treeOf(t, dir); after != before {
		t.Errorf("something has changed:\n%s\n%s", before, after)
	}
}

// TestTableUndone makes a table in a group of format 2, whose chunks have one length. The
// new group is deleted again.
func TestTableUndone(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old.zarr")
	must(t, "", "create", old, "--group", "--zarr-format", "2")
	file := writeTable(t, filepath.Join(dir, "a.arrow"), stations(1), 2, 3)
	_, errs, status := execute(t, "", "create", old+"/table", "--from", file)
	if status != 1 || !strings.Contains(errs, "the new group was deleted again") {
		t.Errorf("status %d, %s", status, errs)
	}
	if names, err := filepath.Glob(old + "/table*"); len(names) > 0 || err != nil {
		t.Error(names, err)
	}
}

// TestTableThereAndBack exports a group that was made of a table, and makes another one
// of the file: the same values and attributes.
func TestTableThereAndBack(t *testing.T) {
	dir := t.TempDir()
	columns := append(stations(1), tableColumn{"l", listType, false, []any{[]int32{1, 2}, []int32{}, []int32{}, []int32{3}, []int32{4}}})
	g := filepath.Join(dir, "g.zarr")
	must(t, "", "create", g, "--from", writeTable(t, filepath.Join(dir, "a.arrow"), columns, 2, 3))
	for _, name := range []string{"b.arrow", "b.arrows", "b.parquet"} {
		file, back := filepath.Join(dir, name), filepath.Join(dir, name+".zarr")
		must(t, "", "export", g, "-o", file, "--row-group-rows", "1")
		must(t, "", "create", back, "--from", file)
		must(t, "", "equal", g, back)
		if got := must(t, "", "diff", g, back); strings.Contains(got, "attribute") || strings.Contains(got, "chunk") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
