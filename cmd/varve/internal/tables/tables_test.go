// SPDX-License-Identifier: Apache-2.0

package tables_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/tables"
	"varve.dev/zarr/columnar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// sheet is a table in memory, as text.
type sheet struct {
	schema  *columnar.Schema
	batches [][]string
	closed  bool
}

// Write implements [columnar.Writer].
func (s *sheet) Write(b *columnar.Batch) error {
	var rows []string
	for i := range b.Rows {
		var cells []string
		for k := range b.Columns {
			if b.Columns[k].Rows != b.Rows {
				return fmt.Errorf("column %d has %d rows of %d", k, b.Columns[k].Rows, b.Rows)
			}
			cells = append(cells, cell(s.schema.Fields[k].Type, &b.Columns[k], i))
		}
		rows = append(rows, strings.Join(cells, " "))
	}
	s.batches = append(s.batches, rows)
	return nil
}

// Close implements [columnar.Writer].
func (s *sheet) Close() error {
	s.closed = true
	return nil
}

// cell returns a value as text.
func cell(t columnar.Type, c *columnar.Column, row int) string {
	if !c.IsValid(row) {
		return "null"
	}
	if c.Dictionary != nil {
		return cell(t, c.Dictionary, int(c.Index[row]))
	}
	if t.Kind == columnar.List {
		var list []string
		for i := c.Offsets[row]; i < c.Offsets[row+1]; i++ {
			list = append(list, cell(t.Element.Type, c.Elements, int(i)))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	if c.Offsets != nil {
		return string(c.Data[c.Offsets[row]:c.Offsets[row+1]])
	}
	n := t.Bytes()
	e := c.Data[row*n : (row+1)*n]
	switch t.Kind {
	case columnar.Float32:
		return fmt.Sprint(math.Float32frombits(binary.LittleEndian.Uint32(e)))
	case columnar.Float64:
		return fmt.Sprint(math.Float64frombits(binary.LittleEndian.Uint64(e)))
	case columnar.Int32:
		return fmt.Sprint(int32(binary.LittleEndian.Uint32(e)))
	case columnar.Int16:
		return fmt.Sprint(int16(binary.LittleEndian.Uint16(e)))
	case columnar.Int64, columnar.Timestamp, columnar.Duration:
		return fmt.Sprint(int64(binary.LittleEndian.Uint64(e)))
	case columnar.Bool:
		return fmt.Sprint(e[0] == 1)
	}
	return fmt.Sprintf("%x", e)
}

// export writes a data set as a table in memory.
func exported(ctx context.Context, d *export.Dataset, joined int64) (*sheet, []string, error) {
	s, notes := &sheet{}, []string{}
	f := &tables.Format{Name: "sheet", JoinedRows: joined, Note: func(name, text string) { notes = append(notes, name+" "+text) },
		Writer: func(_ io.Writer, schema *columnar.Schema) (columnar.Writer, error) {
			s.schema = schema
			return s, nil
		}}
	if err := f.Check(ctx, d); err != nil {
		return nil, notes, err
	}
	err := f.Write(ctx, d, nil)
	if err == nil && !s.closed {
		err = fmt.Errorf("the table is not closed")
	}
	return s, notes, err
}

// head returns the names and the types of the columns.
func (s *sheet) head() string {
	var list []string
	for _, f := range s.schema.Fields {
		text := f.Name + ":" + f.Type.String()
		if f.Nullable {
			text += "?"
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}

// group is a group of arrays.
type group struct {
	*testing.T
	at *zarr.Location
}

func newGroup(t *testing.T) group {
	t.Helper()
	at := zarr.At(memstore.New(), "g")
	if _, err := at.CreateGroup(t.Context(), map[string]any{"title": "T", "n": 1, "t": "1"}, nil); err != nil {
		t.Fatal(err)
	}
	return group{t, at}
}

// add adds an array.
func add[T dtype.Element](g group, name, dims string, shape []int64, chunks []grid.Cut, attributes any, values ...T) {
	g.Helper()
	spec := zarr.Spec{Shape: shape, Type: dtype.Of[T](), Chunks: chunks, Attributes: attributes}
	if dims != "" {
		spec.DimensionNames = strings.Fields(dims)
	}
	g.create(name, spec, func(a *zarr.Array) error { return zarr.Write(g.Context(), a, nil, values) })
}

func (g group) create(name string, spec zarr.Spec, write func(*zarr.Array) error) {
	g.Helper()
	a, err := g.at.At(name).CreateArray(g.Context(), spec, nil)
	if err == nil {
		err = write(a)
	}
	if err != nil {
		g.Fatal(name, err)
	}
}

// dataset returns the data set of the group.
func (g group) dataset(decoded bool, sel func(a *zarr.Array) selection.Selection) *export.Dataset {
	g.Helper()
	n, err := g.at.OpenGroup(g.Context(), nil)
	if err != nil {
		g.Fatal(err)
	}
	d, err := export.DatasetOf(g.Context(), n, func(ctx context.Context, a *zarr.Array) (*export.Source, error) {
		var s selection.Selection
		if sel != nil {
			s = sel(a)
		}
		v, err := a.View(s)
		if err != nil {
			return nil, err
		}
		return export.Of(ctx, v, decoded)
	})
	if err != nil {
		g.Fatal(err)
	}
	return d
}

// refuse checks that the group is refused.
func (g group) refuse(want string) {
	g.Helper()
	if _, _, err := exported(g.Context(), g.dataset(false, nil), 0); err == nil || !strings.Contains(err.Error(), want) {
		g.Errorf("%v, want %q", err, want)
	}
}

// check exports the group and compares columns, batches and notes.
func (g group) check(decoded bool, joined int64, head string, batches ...string) []string {
	g.Helper()
	s, notes, err := exported(g.Context(), g.dataset(decoded, nil), joined)
	if err != nil {
		g.Fatal(err)
	}
	if got := s.head(); got != head {
		g.Errorf("columns %s, want %s", got, head)
	}
	var got []string
	for _, rows := range s.batches {
		got = append(got, strings.Join(rows, "; "))
	}
	if !slices.Equal(got, batches) {
		g.Errorf("batches\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(batches, "\n"))
	}
	return notes
}

// TestLongForm exports arrays of several axes with all kinds of coordinates.
func TestLongForm(t *testing.T) {
	g := newGroup(t)
	add[int64](g, "time", "time", []int64{3}, grid.Chunks(3), map[string]any{"units": "days since 1970-01-01", "bounds": "time_bnds"}, 0, 1, 2)
	add[float32](g, "lat", "y x", []int64{2, 2}, grid.Chunks(2, 2), nil, 10, 11, 20, 21)
	add(g, "name", "x", []int64{2}, grid.Chunks(2), map[string]any{"_FillValue": "?"}, "a", "?")
	add[int16](g, "t", "time y x", []int64{3, 2, 2}, []grid.Cut{grid.Edges(1, 2), grid.Every(2), grid.Every(2)},
		map[string]any{"coordinates": "lat", "_FillValue": 5, "scale_factor": 0.5}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
	add[int32](g, "crs", "", nil, nil, nil, 7)
	add[int64](g, "time_bnds", "time nv", []int64{3, 2}, grid.Chunks(3, 2), nil, 0, 0, 0, 0, 0, 0)
	want := []string{"crs is left out: it is a single value", "time_bnds is left out: it has the bounds of a coordinate"}
	notes := g.check(false, 1, "time:int64 y:int64 x:int64 lat:float32 name:string? t:int16?",
		"0 0 0 10 a 1; 0 0 1 11 null 2; 0 1 0 20 a 3; 0 1 1 21 null 4",
		"1 0 0 10 a null; 1 0 1 11 null 6; 1 1 0 20 a 7; 1 1 1 21 null 8; 2 0 0 10 a 9; 2 0 1 11 null 10; 2 1 0 20 a 11; 2 1 1 21 null 12")
	if !slices.Equal(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	// Chunks are joined, and numbers decoded: times to moments, packed ones to floats.
	g.check(true, 0, "time:timestamp[s]? y:int64 x:int64 lat:float32 name:string? t:float64?",
		"0 0 0 10 a 0.5; 0 0 1 11 null 1; 0 1 0 20 a 1.5; 0 1 1 21 null 2; "+
			"86400 0 0 10 a null; 86400 0 1 11 null 3; 86400 1 0 20 a 3.5; 86400 1 1 21 null 4; "+
			"172800 0 0 10 a 4.5; 172800 0 1 11 null 5; 172800 1 0 20 a 5.5; 172800 1 1 21 null 6")
	s, _, err := exported(t.Context(), g.dataset(true, nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	// Attributes are kept, but for those that decoding has applied.
	if got := fmt.Sprint(s.schema.Metadata, s.schema.Fields[5].Metadata, s.schema.Fields[0].Metadata); got != `[{n 1} {t "1"} {title T}] [{coordinates lat}] [{bounds time_bnds}]` {
		t.Error(got)
	}
}

// TestSideBySide exports arrays with one axis, of which one is in another order, and
// structs.
func TestSideBySide(t *testing.T) {
	g := newGroup(t)
	add[float64](g, "b", "row", []int64{3}, grid.Chunks(2), map[string]any{"_FillValue": "NaN"}, 1, math.NaN(), 3)
	add[float64](g, "c", "row", []int64{3}, grid.Chunks(3), map[string]any{"missing_value": 0}, 1, math.NaN(), math.Copysign(0, -1))
	add[bool](g, "d", "row", []int64{3}, grid.Chunks(1), nil, true, false, true)
	add(g, "row", "row", []int64{3}, grid.Chunks(2), nil, "x", "", "z")
	g.check(false, 2, "row:string b:float64? c:float64? d:bool", "x 1 1 true;  null NaN false", "z 3 null true")

	g = newGroup(t)
	record, err := dtype.StructOf(dtype.Field{Name: "n", Type: dtype.Int16}, dtype.Field{Name: "s", Type: mustStruct(t, dtype.Field{Name: "x", Type: dtype.Float64})})
	if err != nil {
		t.Fatal(err)
	}
	g.create("r", zarr.Spec{Shape: []int64{2, 2}, Type: record, Chunks: grid.Chunks(2, 1)}, func(a *zarr.Array) error {
		b := make([]byte, 40)
		for i := range 4 {
			binary.NativeEndian.PutUint16(b[10*i:], uint16(i))
			binary.NativeEndian.PutUint64(b[10*i+2:], math.Float64bits(float64(i)/2))
		}
		return a.WriteBytes(g.Context(), nil, b)
	})
	g.check(false, 1, "index_0:int64 index_1:int64 n:int16 s.x:float64", "0 0 0 0; 1 0 2 1", "0 1 1 0.5; 1 1 3 1.5")
}

func mustStruct(t *testing.T, fields ...dtype.Field) dtype.Type {
	t.Helper()
	s, err := dtype.StructOf(fields...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRaggedSet exports the rows of a set as lists.
func TestRaggedSet(t *testing.T) {
	g := newGroup(t)
	add[int64](g, "row_size", "row", []int64{5}, grid.Chunks(2), map[string]any{"sample_dimension": "obs"}, 2, 0, 1, 3, 0)
	add[int32](g, "id", "row", []int64{5}, grid.Chunks(5), nil, 10, 11, 12, 13, 14)
	add[int16](g, "v", "obs", []int64{6}, grid.Chunks(2), map[string]any{"_FillValue": 3}, 1, 2, 3, 4, 5, 6)
	add(g, "w", "obs", []int64{6}, grid.Chunks(6), nil, "a", "b", "c", "d", "e", "f")
	head := "id:int32 v:list<int16> w:list<string>"
	g.check(false, 1, head, "10 [1,2] [a,b]; 11 [] []", "12 [null] [c]; 13 [4,5,6] [d,e,f]", "14 [] []")
	g.check(false, 0, head, "10 [1,2] [a,b]; 11 [] []; 12 [null] [c]; 13 [4,5,6] [d,e,f]; 14 [] []")
	rows := func(item selection.Item) func(a *zarr.Array) selection.Selection {
		return func(a *zarr.Array) selection.Selection {
			if a.DimensionNames()[0] == "row" {
				return selection.Orthogonal{item}
			}
			return nil
		}
	}
	s, _, err := exported(t.Context(), g.dataset(false, rows(selection.Span(2, 4))), 0)
	if err != nil || fmt.Sprint(s.batches) != "[[12 [null] [c] 13 [4,5,6] [d,e,f]]]" {
		t.Error(s, err)
	}
	for want, d := range map[string]*export.Dataset{
		"go out in their order": g.dataset(false, rows(selection.Stepped(0, 5, 2))),
		"select rows, as --select row=0:10": g.dataset(false, func(a *zarr.Array) selection.Selection {
			if a.DimensionNames()[0] == "obs" {
				return selection.Basic{selection.Span(0, 2)}
			}
			return nil
		}),
	} {
		if _, _, err := exported(t.Context(), d, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestLeftElements notes elements that are in no row, but none of rows that are not
// selected.
func TestLeftElements(t *testing.T) {
	g := newGroup(t)
	add[int64](g, "row_size", "row", []int64{2}, grid.Chunks(2), map[string]any{"sample_dimension": "obs"}, 1, 1)
	add[int16](g, "v", "obs", []int64{4}, grid.Chunks(4), nil, 1, 2, 3, 4)
	notes := g.check(false, 0, "v:list<int16>", "[1]; [2]")
	if want := "v has 2 elements after those of the last row, and they are left out"; len(notes) != 1 || notes[0] != want {
		t.Errorf("notes %q, want %q", notes, want)
	}
	_, notes, err := exported(t.Context(), g.dataset(false, func(a *zarr.Array) selection.Selection {
		if a.DimensionNames()[0] == "row" {
			return selection.Orthogonal{selection.Span(0, 1)}
		}
		return nil
	}), 0)
	if err != nil || len(notes) > 0 {
		t.Errorf("notes %q, %v", notes, err)
	}
}

// TestWholeNumbers checks that decoding keeps integers that are not packed, with nulls.
func TestWholeNumbers(t *testing.T) {
	g := newGroup(t)
	add[int64](g, "a", "x", []int64{3}, grid.Chunks(3), map[string]any{"_FillValue": -1}, 9007199254740993, -1, -9007199254740993)
	add[uint64](g, "b", "x", []int64{3}, grid.Chunks(3), map[string]any{"missing_value": 0}, 1<<64-1, 0, 1<<53+1)
	add[int16](g, "c", "x", []int64{3}, grid.Chunks(3), map[string]any{"_FillValue": 7, "scale_factor": 0.5}, 1, 7, 3)
	add[int8](g, "d", "x", []int64{3}, grid.Chunks(3), map[string]any{"_FillValue": -1, "_Unsigned": "true"}, -2, -1, 3)
	add[int16](g, "e", "x", []int64{3}, grid.Chunks(3), map[string]any{"_FillValue": 7}, -32768, 7, 3)
	g.check(true, 0, "a:int64? b:uint64? c:float64? d:uint8? e:int16?",
		"9007199254740993 ffffffffffffffff 0.5 fe -32768; null null null null null; -9007199254740993 0100000000002000 1.5 03 3")
}

// TestRefused checks what is no table, and what is left.
func TestRefused(t *testing.T) {
	g := newGroup(t)
	g.refuse("no arrays with axes of its own")
	add[int32](g, "a", "x", []int64{2}, grid.Chunks(2), nil, 1, 2)
	add[int32](g, "b", "y", []int64{2}, grid.Chunks(2), nil, 1, 2)
	g.refuse(`share their dimensions; a has the dimensions ["x"] and the shape [2], and b has the dimensions ["y"] and the shape [2]: export them one by one`)

	g = newGroup(t)
	add[complex64](g, "a", "x", []int64{2}, grid.Chunks(2), nil, 1, 2)
	g.refuse("a: elements of type complex64 have no type in tables: export them as npy")

	g = newGroup(t)
	add[int64](g, "m", "x", []int64{2}, grid.Chunks(2), map[string]any{"sample_dimension": "o"}, 1, 1)
	add[int64](g, "n", "x", []int64{2}, grid.Chunks(2), map[string]any{"sample_dimension": "p"}, 0, 1)
	add[int32](g, "a", "o", []int64{2}, grid.Chunks(2), nil, 1, 2)
	add[int32](g, "b", "p", []int64{1}, grid.Chunks(2), nil, 3)
	g.check(false, 0, "a:list<int32> b:list<int32>", "[1] []; [2] [3]")
	add[int64](g, "q", "y", []int64{1}, grid.Chunks(2), map[string]any{"sample_dimension": "z"}, 1)
	g.refuse("ragged sets of several rows")

	g = newGroup(t)
	add[int64](g, "m", "x", []int64{2}, grid.Chunks(2), map[string]any{"sample_dimension": "o"}, 1, 7)
	add[int32](g, "a", "o", []int64{2}, grid.Chunks(2), nil, 1, 2)
	g.refuse("the rows have 8 elements, but a has 2")

	// An axis without elements, and a single element.
	g = newGroup(t)
	add[int32](g, "a", "x y", []int64{0, 2}, grid.Chunks(1, 2), nil)
	g.check(false, 0, "x:int64 y:int64 a:int32")
	g = newGroup(t)
	add[int32](g, "a", "", nil, nil, nil, 7)
	g.check(false, 0, "a:int32", "7")
}

// TestTurned checks that batches end with chunks, whatever the order of a selection.
func TestTurned(t *testing.T) {
	for want, item := range map[string]selection.Item{
		"[[5 4] [3 2 1] [0]]":     selection.Stepped(5, selection.Open, -1),
		"[[0] [2] [4]]":           selection.Stepped(0, 6, 2),
		"[[1 3] [4] [2] [5] [0]]": selection.List(1, 3, 4, 2, 5, 0),
	} {
		g := newGroup(t)
		add[int32](g, "a", "x", []int64{6}, []grid.Cut{grid.Edges(1, 3, 2)}, nil, 0, 1, 2, 3, 4, 5)
		d := g.dataset(false, func(*zarr.Array) selection.Selection { return selection.Orthogonal{item} })
		if s, _, err := exported(t.Context(), d, 1); err != nil || fmt.Sprint(s.batches) != want {
			t.Errorf("%v, %v, want %s", s.batches, err, want)
		}
	}
}

// TestLongChunks checks that a chunk of many rows becomes several batches, with the
// elements of its own rows.
func TestLongChunks(t *testing.T) {
	racing.Skip(t)
	const n = 9 << 16
	g := newGroup(t)
	values := make([]int16, 2*n)
	for i := range values {
		values[i] = int16(i % 1000)
	}
	values[n+3] = -1
	add(g, "a", "x y", []int64{2, n}, grid.Chunks(2, n), map[string]any{"_FillValue": -1}, values...)
	s, _, err := exported(t.Context(), g.dataset(false, nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	row := 0
	for _, rows := range s.batches {
		if len(rows) != n {
			t.Errorf("a batch has %d rows, want %d", len(rows), n)
		}
		for _, text := range rows {
			want := fmt.Sprint(row/n, " ", row%n, " ", row%1000)
			if row == n+3 {
				want = fmt.Sprint(1, " ", 3, " null")
			}
			if text != want {
				t.Fatalf("row %d is %q, want %q", row, text, want)
			}
			row++
		}
	}
	if row != 2*n {
		t.Errorf("%d rows", row)
	}
}

// TestTimes exports moments and durations in every unit.
func TestTimes(t *testing.T) {
	for name, want := range map[string]string{
		"datetime64[Y]": "timestamp[s]? 63072000; null; -31536000", "datetime64[M]": "timestamp[s]? 5097600; null; -2678400",
		"datetime64[D]": "timestamp[s]? 172800; null; -86400", "datetime64[10ns]": "timestamp[ns]? 20; null; -10",
		"timedelta64[W]": "duration[s]? 1209600; null; -604800", "timedelta64[us]": "duration[us]? 2; null; -1",
	} {
		g := newGroup(t)
		unit := strings.Trim(name[len(name)-4:], "64[]")
		factor := 1
		if unit == "10ns" || unit == "0ns" {
			unit, factor = "ns", 10
		}
		typ, err := dtype.DatetimeOf(unit, factor)
		if strings.HasPrefix(name, "timedelta") {
			typ, err = dtype.TimedeltaOf(unit, factor)
		}
		if err != nil {
			t.Fatal(name, unit, err)
		}
		g.create("a", zarr.Spec{Shape: []int64{3}, Type: typ, Chunks: grid.Chunks(3)}, func(a *zarr.Array) error {
			var b []byte
			for _, n := range []int64{2, dtype.NaT, -1} {
				b = binary.NativeEndian.AppendUint64(b, uint64(n))
			}
			return a.WriteBytes(g.Context(), nil, b)
		})
		head, batch, _ := strings.Cut(want, " ")
		g.check(false, 0, "a:"+head, batch)
	}
}

// TestEveryElement compares tables of random arrays with the elements: each is in one
// row, with its coordinates.
func TestEveryElement(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rank := rapid.IntRange(1, 3).Draw(r, "rank")
		spec := zarr.Spec{Type: dtype.Int32}
		sel := selection.Orthogonal{}
		n := 1
		for i := range rank {
			edges := rapid.SliceOfN(rapid.Int64Range(1, 4), 1, 4).Draw(r, "edges")
			extent := int64(0)
			for _, e := range edges {
				extent += e
			}
			n *= int(extent)
			spec.Shape, spec.Chunks = append(spec.Shape, extent), append(spec.Chunks, grid.Edges(edges...))
			spec.DimensionNames = append(spec.DimensionNames, fmt.Sprint("d", i))
			start := rapid.Int64Range(0, extent).Draw(r, "start")
			stop := rapid.Int64Range(start, extent).Draw(r, "stop")
			switch rapid.IntRange(0, 2).Draw(r, "item") {
			case 0:
				sel = append(sel, selection.Stepped(start, stop, rapid.Int64Range(1, 3).Draw(r, "step")))
			case 1:
				sel = append(sel, selection.List(rapid.SliceOfN(rapid.Int64Range(0, extent-1), 1, 5).Draw(r, "list")...))
			default:
				sel = append(sel, selection.Stepped(extent-1, selection.Open, -1))
			}
		}
		at := zarr.At(memstore.New(), "g")
		g, err := at.CreateGroup(t.Context(), nil, nil)
		if err != nil {
			r.Fatal(err)
		}
		a, err := g.At("a").CreateArray(t.Context(), spec, nil)
		if err != nil {
			r.Fatal(err)
		}
		values := make([]int32, n)
		for i := range values {
			values[i] = int32(i)
		}
		if err := zarr.Write(t.Context(), a, nil, values); err != nil {
			r.Fatal(err)
		}
		v, err := a.View(sel)
		if err != nil {
			r.Fatal(err)
		}
		src, err := export.Of(t.Context(), v, false)
		if err != nil {
			r.Fatal(err)
		}
		d, err := export.DatasetWith(t.Context(), "a", src)
		if err != nil {
			r.Fatal(err)
		}
		s, _, err := exported(t.Context(), d, rapid.Int64Range(1, 40).Draw(r, "joined"))
		if err != nil {
			r.Fatal(err)
		}
		want, err := zarr.Read[int32](t.Context(), a, sel)
		if err != nil {
			r.Fatal(err)
		}
		var list []string
		for _, at := range want.Data {
			list = append(list, fmt.Sprint(at))
		}
		var got []string
		for _, rows := range s.batches {
			for _, row := range rows {
				cells := strings.Fields(row)
				got = append(got, cells[len(cells)-1])
				if place := placeOf(cells[:len(cells)-1], spec.Shape); rank > 1 && place != cells[len(cells)-1] {
					r.Fatalf("row %q: its indices are those of element %s", row, place)
				}
			}
		}
		slices.Sort(list)
		slices.Sort(got)
		if !slices.Equal(got, list) {
			r.Fatalf("elements %v, want %v", got, list)
		}
	})
}

// placeOf returns the place of an element in C order.
func placeOf(index []string, shape []int64) string {
	place := int64(0)
	for i, text := range index {
		k, _ := strconv.ParseInt(text, 10, 64) // another text is at another place
		place = place*shape[i] + k
	}
	return fmt.Sprint(place)
}
