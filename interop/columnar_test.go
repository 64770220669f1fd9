// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/columnar"
	"varve.dev/zarr/columnar/parquet"
)

// foundTable is what a program finds in a file, as columnar.py prints it.
type foundTable struct {
	Types, Names []string
	Columns      [][]any
}

// tableBuilder makes a table of columns that are given as columnar.py prints them.
type tableBuilder struct {
	schema columnar.Schema
	batch  columnar.Batch
	found  foundTable
}

// appendElement appends an element: a text as columnar.py has it.
func appendElement(t *testing.T, dst []byte, typ columnar.Type, text string) []byte {
	t.Helper()
	x, base := new(big.Int), 10
	switch k := typ.Kind; {
	case k == columnar.String:
		return append(dst, text...)
	case k == columnar.Binary || k == columnar.FixedBinary:
		b, err := hex.DecodeString(text)
		check(t, err)
		return append(dst, b...)
	case k == columnar.Bool:
		text = map[string]string{"true": "1", "false": "0"}[text]
	case k >= columnar.Float16 && k <= columnar.Float64:
		base = 16
	}
	if _, ok := x.SetString(text, base); !ok {
		t.Fatalf("%q is no element of type %v", text, typ)
	}
	if n := typ.Bytes(); x.Sign() < 0 {
		x.Add(x, new(big.Int).Lsh(big.NewInt(1), uint(8*n)))
	}
	b := x.FillBytes(make([]byte, typ.Bytes()))
	slices.Reverse(b)
	return append(dst, b...)
}

// columnOf returns a column of elements: nil, texts or lists.
func columnOf(t *testing.T, typ columnar.Type, elements []any) columnar.Column {
	c := columnar.Column{Rows: len(elements), Valid: make([]byte, (len(elements)+7)/8)}
	var inner []any
	if typ.Bytes() == 0 {
		c.Offsets = []int64{0}
	}
	all := true
	for i, x := range elements {
		all = all && x != nil
		if x != nil {
			c.Valid[i/8] |= 1 << (i % 8)
		}
		switch x := x.(type) {
		case nil:
			c.Data = append(c.Data, make([]byte, typ.Bytes())...)
		case string:
			c.Data = appendElement(t, c.Data, typ, x)
		case []any:
			inner = append(inner, x...)
		}
		switch {
		case typ.Kind == columnar.List:
			c.Offsets = append(c.Offsets, int64(len(inner)))
		case typ.Bytes() == 0:
			c.Offsets = append(c.Offsets, int64(len(c.Data)))
		}
	}
	if all {
		c.Valid = nil
	}
	if typ.Kind == columnar.List {
		e := columnOf(t, typ.Element.Type, inner)
		c.Elements = &e
	}
	return c
}

// add adds a column, which is nullable if it has a null or its name says so.
func (b *tableBuilder) add(t *testing.T, name string, typ columnar.Type, elements ...any) {
	const rows = 1000
	var all []any
	for i := range rows {
		k := i // each of them once, and then without an order
		if i >= len(elements) {
			k = i * (i + 1) / 2
		}
		all = append(all, elements[k%len(elements)])
	}
	b.batch.Rows = rows
	nullable := slices.Contains(elements, any(nil))
	b.schema.Fields = append(b.schema.Fields, columnar.Field{Name: name, Type: typ, Nullable: nullable})
	b.batch.Columns = append(b.batch.Columns, columnOf(t, typ, all))
	b.found.Names = append(b.found.Names, name)
	b.found.Types = append(b.found.Types, typ.String())
	b.found.Columns = append(b.found.Columns, all)
}

// texts returns numbers as columnar.py has them.
func texts[T any](format string, numbers ...T) (all []any) {
	for _, x := range numbers {
		all = append(all, fmt.Sprintf(format, x))
	}
	return all
}

// allKinds returns a table with columns of all types.
func allKinds(t *testing.T) *tableBuilder {
	b := &tableBuilder{}
	kind := func(k columnar.Kind) columnar.Type { return columnar.Type{Kind: k} }
	integers := map[columnar.Kind][]any{
		columnar.Int8: texts("%d", math.MinInt8, -1, 0, 5, math.MaxInt8), columnar.Int16: texts("%d", math.MinInt16, -1, 0, 5, math.MaxInt16),
		columnar.Int32: texts("%d", math.MinInt32, -1, 0, 5, math.MaxInt32), columnar.Int64: texts("%d", math.MinInt64, -1, 0, 5, math.MaxInt64),
		columnar.Uint8: texts("%d", 0, 5, math.MaxUint8), columnar.Uint16: texts("%d", 0, 5, math.MaxUint16),
		columnar.Uint32: texts("%d", 0, 5, math.MaxUint32), columnar.Uint64: texts[uint64]("%d", 0, 5, math.MaxUint64),
	}
	for k := columnar.Int8; k <= columnar.Uint64; k++ {
		b.add(t, k.String(), kind(k), integers[k]...)
		b.add(t, k.String()+"_nulls", kind(k), append(integers[k], nil, nil)...)
	}
	b.add(t, "bool", kind(columnar.Bool), "true", "false", "true")
	b.add(t, "bool_nulls", kind(columnar.Bool), nil, "false", "true")
	var many []any // more than a dictionary is worth
	for i := range 1000 {
		many = append(many, fmt.Sprintf("%x", math.Float64bits(float64(i)*1.5)))
	}
	b.add(t, "doubles", kind(columnar.Float64), many...)
	b.add(t, "float64", kind(columnar.Float64), texts("%x", math.Float64bits(-1.5), math.Float64bits(math.NaN()), 0, 1<<63, math.Float64bits(math.Inf(1)))...)
	b.add(t, "nans", kind(columnar.Float64), fmt.Sprintf("%x", math.Float64bits(math.NaN())), nil)
	b.add(t, "zero", kind(columnar.Float32), "0", "3f800000")
	b.add(t, "float32", kind(columnar.Float32), append(texts("%x", math.Float32bits(2.5), math.Float32bits(float32(math.NaN())), math.Float32bits(1e-40)), nil)...)
	b.add(t, "float16", kind(columnar.Float16), "3c00", "fbff", "1", "7e00", "c000")
	long := strings.Repeat("é", 40)
	b.add(t, "text", kind(columnar.String), "", "a", "word", long, long+"z", strings.Repeat("\U0010ffff", 20), nil)
	b.add(t, "empty", kind(columnar.String), "")
	b.add(t, "binary", kind(columnar.Binary), "", "00ff", strings.Repeat("ff", 100), nil)
	b.add(t, "fixed", columnar.Type{Kind: columnar.FixedBinary, Width: 3}, "000000", "ffffff", "7f8081", nil)
	for u := columnar.Millisecond; u <= columnar.Nanosecond; u++ {
		b.add(t, "utc_"+u.String(), columnar.Type{Kind: columnar.Timestamp, Unit: u, UTC: true}, "0", "-1", "86400000001", nil)
		b.add(t, "at_"+u.String(), columnar.Type{Kind: columnar.Timestamp, Unit: u}, "0", "-1", "86400000001", "1700000000000")
		b.add(t, "time_"+u.String(), columnar.Type{Kind: columnar.Time, Unit: u}, "0", "1000", "86399000", nil)
	}
	b.add(t, "date", kind(columnar.Date), "0", "-1", "20000", nil)
	for _, digits := range []int{2, 9, 18, 38} {
		most := strings.Repeat("9", digits)
		b.add(t, fmt.Sprint("decimal", digits), columnar.Type{Kind: columnar.Decimal, Precision: digits, Scale: 1}, "0", "-1", most, "-"+most, nil)
	}
	list := func(k columnar.Kind, nullable bool) columnar.Type {
		return columnar.Type{Kind: columnar.List, Element: &columnar.Field{Name: "element", Type: kind(k), Nullable: nullable}}
	}
	b.add(t, "list", list(columnar.Int16, true), []any{"1", nil, "-3"}, nil, []any{}, []any{nil})
	b.add(t, "list_full", list(columnar.Float32, false), []any{"3f800000"}, []any{}, []any{"0", "40000000"})
	b.add(t, "list_text", list(columnar.String, true), []any{"a", "b"}, nil, []any{"", nil})
	return b
}

// withDictionaries returns the batch with dictionaries for the columns without lists.
func withDictionaries(b *columnar.Batch) *columnar.Batch {
	d := &columnar.Batch{Rows: b.Rows}
	for _, c := range b.Columns {
		if c.Elements == nil {
			values := c
			values.Valid = nil
			c = columnar.Column{Rows: c.Rows, Valid: c.Valid, Dictionary: &values, Index: make([]uint32, c.Rows)}
			for i := range c.Index {
				c.Index[i] = uint32(i)
			}
		}
		d.Columns = append(d.Columns, c)
	}
	return d
}

// TestColumnar writes tables of all types. pyarrow, DuckDB, Polars, pandas and
// fastparquet find the same elements and nulls in them, and the same rows by filters, for
// which they use the statistics.
func TestColumnar(t *testing.T) {
	scriptMissing(t)
	table := allKinds(t)
	for name, o := range map[string]parquet.Options{"zstd": {}, "snappy": {Compression: parquet.Snappy}, "none": {Compression: parquet.None}} {
		path := filepath.Join(t.TempDir(), name+".parquet")
		file, err := os.Create(path)
		check(t, err)
		w, err := parquet.NewWriter(file, &table.schema, o)
		check(t, err)
		check(t, w.Write(&table.batch))
		check(t, w.Write(withDictionaries(&table.batch)))
		check(t, w.Close())
		check(t, file.Close())
		var found map[string]json.RawMessage
		command := exec.Command(interpreter(t), "columnar.py", "read", path)
		command.Stderr = os.Stderr
		text, err := command.Output()
		check(t, err)
		check(t, json.Unmarshal(text, &found))
		for _, program := range []string{"pyarrow", "dataset", "duckdb", "polars", "scan"} {
			var got foundTable
			check(t, json.Unmarshal(found[program], &got))
			table.compare(t, name+": "+program, got)
		}
		for _, program := range []string{"pandas", "fastparquet"} {
			var got foundTable
			check(t, json.Unmarshal(found[program], &got))
			table.compareNulls(t, name+": "+program, got)
		}
		var wrong []string
		check(t, json.Unmarshal(found["filters"], &wrong))
		for _, w := range wrong {
			t.Errorf("%s: %s", name, w)
		}
		checkStatistics(t, found["metadata"])
	}
}

// compare compares what a program finds with the table, which the file has twice.
func (b *tableBuilder) compare(t *testing.T, program string, got foundTable) {
	if !slices.Equal(got.Names, b.found.Names) {
		t.Errorf("%s finds the columns %v", program, got.Names)
		return
	}
	for i, name := range got.Names {
		if got.Types[i] != b.found.Types[i] && !knownType(program, got.Types[i], b.found.Types[i]) {
			t.Errorf("%s: column %q has type %s, want %s", program, name, got.Types[i], b.found.Types[i])
			continue
		}
		for k, x := range append(slices.Clone(b.found.Columns[i]), b.found.Columns[i]...) {
			if y := got.Columns[i][k]; !reflect.DeepEqual(x, y) && got.Types[i] == b.found.Types[i] {
				t.Errorf("%s: row %d of column %q is %v, want %v", program, k, name, y, x)
				break
			}
		}
	}
}

// knownType reports whether a program has another type for one that it lacks.
func knownType(program, got, want string) bool {
	_, program, _ = strings.Cut(program, ": ")
	switch program {
	case "duckdb":
		return want == "float16" && got == "float32" || strings.HasPrefix(want, "fixed") && got == "binary" || strings.HasPrefix(want, "time")
	case "polars", "scan":
		return strings.HasPrefix(want, "fixed") && got == "binary" || want == "float16" && got == "float32" || strings.HasPrefix(want, "time64") && got == "time64[ns]" || strings.HasPrefix(want, "decimal")
	}
	return false
}

// compareNulls compares the nulls and the texts of columns of pandas, which has other
// elements for other types.
func (b *tableBuilder) compareNulls(t *testing.T, program string, got foundTable) {
	for i, name := range b.found.Names {
		if name == "float16" && strings.HasSuffix(program, "fastparquet") {
			continue // which has bytes for them
		}
		exact := strings.HasPrefix(name, "int") && !strings.HasSuffix(name, "nulls") || name == "text" || name == "bool" || name == "empty"
		for k, x := range append(slices.Clone(b.found.Columns[i]), b.found.Columns[i]...) {
			y := got.Columns[i][k]
			// pandas has NaN for null.
			isNull := x == nil || x == "7ff8000000000001" || x == "7fc00000" || x == "7e00"
			if isNull != (y == nil) || exact && !isNull && x != y {
				t.Errorf("%s: row %d of column %q is %v, want %v", program, k, name, y, x)
				break
			}
		}
	}
}

// checkStatistics checks statistics as DuckDB shows them.
func checkStatistics(t *testing.T, text []byte) {
	var rows []struct {
		Path  string `json:"path_in_schema"`
		Min   string `json:"stats_min_value"`
		Max   string `json:"stats_max_value"`
		Nulls string `json:"stats_null_count"`
	}
	check(t, json.Unmarshal(text, &rows))
	want := map[string][3]string{
		"int16": {"-32768", "32767", "0"}, "uint32": {"0", "4294967295", "0"}, "nans": {"", "", "500"}, "zero": {"-0.0", "1.0", "0"},
		"float64": {"-1.5", "", "0"}, "doubles": {"-0.0", "1498.5", "0"}, "date": {"1969-12-31", "2024-10-04", "250"},
	}
	n := 0
	for _, r := range rows {
		if w, ok := want[r.Path]; ok {
			n++
			if w != [3]string{r.Min, r.Max, r.Nulls} {
				t.Errorf("%s: %q, %q and %s nulls, want %q", r.Path, r.Min, r.Max, r.Nulls, w)
			}
		}
	}
	if n != 2*len(want) {
		t.Errorf("columns with statistics: %d", n)
	}
}

// TestColumnarPages writes columns of many pages and row groups. Programs that skip those
// which a filter leaves out find the rows that there are.
func TestColumnarPages(t *testing.T) {
	scriptMissing(t)
	const rows, groups = 300_000, 2
	schema := columnar.Schema{Fields: []columnar.Field{
		{Name: "n", Type: columnar.Type{Kind: columnar.Int64}, Nullable: true},
		{Name: "x", Type: columnar.Type{Kind: columnar.Float64}},
		{Name: "text", Type: columnar.Type{Kind: columnar.String}, Nullable: true},
		{Name: "list", Type: columnar.Type{Kind: columnar.List, Element: &columnar.Field{Name: "element", Type: columnar.Type{Kind: columnar.Int32}, Nullable: true}}, Nullable: true},
	}}
	path := filepath.Join(t.TempDir(), "pages.parquet")
	file, err := os.Create(path)
	check(t, err)
	w, err := parquet.NewWriter(file, &schema, parquet.Options{})
	check(t, err)
	want := map[string][]float64{"all": make([]float64, 5), "few": make([]float64, 5), "many": make([]float64, 5), "text": make([]float64, 5), "null": make([]float64, 5), "last": make([]float64, 5)}
	for g := range groups {
		valid := make([]byte, (rows+7)/8)
		n, x := columnar.Column{Rows: rows, Valid: valid}, columnar.Column{Rows: rows}
		text := columnar.Column{Rows: rows, Valid: valid, Offsets: []int64{0}}
		list := columnar.Column{Rows: rows, Valid: valid, Offsets: []int64{0}, Elements: &columnar.Column{}}
		for i := range rows {
			number := g*rows + i
			s := fmt.Sprintf("text %d", number/3)
			n.Data = binary.LittleEndian.AppendUint64(n.Data, uint64(number))
			x.Data = binary.LittleEndian.AppendUint64(x.Data, math.Float64bits(float64(number)*0.25))
			text.Data = append(text.Data, s...)
			text.Offsets = append(text.Offsets, int64(len(text.Data)))
			length := number % 4
			for range length {
				list.Elements.Data = binary.LittleEndian.AppendUint32(list.Elements.Data, uint32(number))
			}
			list.Elements.Rows += length
			list.Offsets = append(list.Offsets, int64(list.Elements.Rows))
			isValid := number%7 != 0
			if isValid {
				valid[i/8] |= 1 << (i % 8)
			}
			for name, sums := range want {
				if !(map[string]bool{
					"all": true, "few": isValid && number >= 1000 && number <= 1010, "many": isValid && number >= 200_000 && number < 500_000,
					"text": isValid && s == "text 777", "null": !isValid, "last": isValid && s > "text 9990",
				}[name]) {
					continue
				}
				sums[0]++
				sums[2] += float64(number) * 0.25
				if isValid {
					sums[1] += float64(number)
					sums[3] += float64(len(s))
					sums[4] += float64(length)
				}
			}
		}
		check(t, w.Write(&columnar.Batch{Rows: rows, Columns: []columnar.Column{n, x, text, list}}))
	}
	check(t, w.Close())
	check(t, file.Close())
	command := exec.Command(interpreter(t), "columnar.py", "sums", path)
	command.Stderr = os.Stderr
	out, err := command.Output()
	check(t, err)
	var found map[string][]float64
	check(t, json.Unmarshal(out, &found))
	for name, sums := range found {
		_, filter, _ := strings.Cut(name, " ")
		if !slices.Equal(sums, want[filter]) {
			t.Errorf("%s: %v, want %v", name, sums, want[filter])
		}
	}
	if len(found) != 3*len(want) {
		t.Errorf("answers: %d", len(found))
	}
}
