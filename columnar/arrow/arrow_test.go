// SPDX-License-Identifier: Apache-2.0

package arrow_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/columnar"
	"varve.dev/zarr/columnar/arrow"
)

// values returns the elements of rows of a column as text, and "null".
func values(t columnar.Type, c *columnar.Column, from, to int64) (list []string) {
	for i := from; i < to; i++ {
		col, k := c, i
		if c.Dictionary != nil && c.IsValid(int(i)) {
			col, k = c.Dictionary, int64(c.Index[i])
		}
		width := int64(t.Bytes())
		switch {
		case !c.IsValid(int(i)):
			list = append(list, "null")
		case t.Kind == columnar.List:
			list = append(list, fmt.Sprint(values(t.Element.Type, col.Elements, col.Offsets[k], col.Offsets[k+1])))
		case t.Kind == columnar.String || t.Kind == columnar.Binary:
			list = append(list, fmt.Sprintf("%x", col.Data[col.Offsets[k]:col.Offsets[k+1]]))
		default:
			list = append(list, fmt.Sprintf("%x", col.Data[k*width:(k+1)*width]))
		}
	}
	return list
}

// table returns what a table has, as text.
func table(r columnar.Reader) (text string, err error) {
	var b strings.Builder
	for _, f := range r.Schema().Fields {
		fmt.Fprintln(&b, f.Name, f.Type, f.Nullable, f.Metadata)
	}
	for {
		batch, err := r.Next()
		if err == io.EOF {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
		fmt.Fprintln(&b, "rows:", batch.Rows)
		for i, f := range r.Schema().Fields {
			fmt.Fprintln(&b, values(f.Type, &batch.Columns[i], 0, int64(batch.Rows)))
		}
	}
}

// memory is a table in memory.
type memory struct {
	schema  columnar.Schema
	batches []*columnar.Batch
	at      int
}

func (m *memory) Schema() *columnar.Schema { return &m.schema }
func (m *memory) Rows() []int64            { return nil }
func (m *memory) Next() (*columnar.Batch, error) {
	if m.at == len(m.batches) {
		return nil, io.EOF
	}
	m.at++
	return m.batches[m.at-1], nil
}

func drawType(t *rapid.T, lists bool) columnar.Type {
	last := columnar.List
	if !lists {
		last--
	}
	typ := columnar.Type{Kind: columnar.Kind(rapid.IntRange(1, int(last)).Draw(t, "kind"))}
	switch typ.Kind {
	case columnar.Timestamp:
		typ.UTC = rapid.Bool().Draw(t, "utc")
		fallthrough
	case columnar.Duration, columnar.Time:
		typ.Unit = columnar.Unit(rapid.IntRange(0, 3).Draw(t, "unit"))
	case columnar.FixedBinary:
		typ.Width = rapid.IntRange(0, 9).Draw(t, "width")
	case columnar.Decimal:
		typ.Precision, typ.Scale = rapid.IntRange(1, 38).Draw(t, "precision"), rapid.IntRange(-3, 38).Draw(t, "scale")
	case columnar.List:
		f := drawField(t, "item", false)
		typ.Element = &f
	}
	return typ
}

func drawField(t *rapid.T, name string, lists bool) columnar.Field {
	f := columnar.Field{Name: name, Type: drawType(t, lists), Nullable: rapid.Bool().Draw(t, "nullable")}
	if rapid.IntRange(0, 3).Draw(t, "described") == 0 {
		f.Metadata = []columnar.Pair{{Key: "units", Value: "m"}, {Key: "", Value: ""}}
	}
	return f
}

func drawColumn(t *rapid.T, f columnar.Field, rows int) (c columnar.Column) {
	typ := f.Type
	if typ.Kind != columnar.List && rapid.IntRange(0, 4).Draw(t, "dictionary") == 0 {
		d := drawColumn(t, columnar.Field{Type: typ}, rapid.IntRange(1, 4).Draw(t, "unique"))
		for d.Dictionary != nil {
			d = *d.Dictionary
		}
		c = columnar.Column{Rows: rows, Dictionary: &d}
		for range rows {
			c.Index = append(c.Index, uint32(rapid.IntRange(0, d.Rows-1).Draw(t, "index")))
		}
	} else if typ.Bytes() > 0 || typ.Kind == columnar.FixedBinary {
		c = columnar.Column{Rows: rows, Data: rapid.SliceOfN(rapid.Byte(), rows*typ.Bytes(), rows*typ.Bytes()).Draw(t, "data")}
		for i := range c.Data {
			if typ.Kind == columnar.Bool {
				c.Data[i] &= 1
			} else if typ.Kind == columnar.Time && i%8 > 2 { // of a day
				c.Data[i] = 0
			}
		}
	} else {
		c = columnar.Column{Rows: rows, Offsets: []int64{int64(rapid.IntRange(0, 3).Draw(t, "first"))}}
		for range rows {
			c.Offsets = append(c.Offsets, c.Offsets[len(c.Offsets)-1]+int64(rapid.IntRange(0, 5).Draw(t, "length")))
		}
		end := int(c.Offsets[rows]) + rapid.IntRange(0, 2).Draw(t, "rest")
		if typ.Kind == columnar.List {
			e := drawColumn(t, *typ.Element, end)
			c.Elements = &e
		} else {
			c.Data = bytes.Repeat([]byte("ab"), end)[:end]
		}
	}
	if f.Nullable && rapid.Bool().Draw(t, "nulls") {
		c.Valid = rapid.SliceOfN(rapid.Byte(), (rows+7)/8, (rows+7)/8+1).Draw(t, "valid")
	}
	return c
}

func drawTable(t *rapid.T) *memory {
	m := &memory{}
	for i := range rapid.IntRange(0, 6).Draw(t, "columns") {
		m.schema.Fields = append(m.schema.Fields, drawField(t, fmt.Sprint("c", i), true))
	}
	if rapid.Bool().Draw(t, "described") {
		m.schema.Metadata = []columnar.Pair{{Key: "k", Value: "v"}}
	}
	for range rapid.IntRange(0, 3).Draw(t, "batches") {
		b := &columnar.Batch{Rows: rapid.IntRange(0, 20).Draw(t, "rows")}
		for _, f := range m.schema.Fields {
			b.Columns = append(b.Columns, drawColumn(t, f, b.Rows))
		}
		m.batches = append(m.batches, b)
	}
	return m
}

// write returns a table as a file or a stream.
func write(t interface{ Fatal(...any) }, m *memory, file bool, c arrow.Compression) []byte {
	var out bytes.Buffer
	begin := arrow.NewStreamWriter
	if file {
		begin = arrow.NewFileWriter
	}
	w, err := begin(&out, &m.schema, c)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range m.batches {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// open opens what begins with the magic of files, or a stream.
func open(raw []byte, limit int64) (*arrow.Reader, error) {
	if bytes.HasPrefix(raw, []byte("ARROW1")) {
		return arrow.NewFileReader(bytes.NewReader(raw), int64(len(raw)), limit)
	}
	return arrow.NewStreamReader(bytes.NewReader(raw), limit)
}

func openFile(raw []byte) (*arrow.Reader, error) {
	return arrow.NewFileReader(bytes.NewReader(raw), int64(len(raw)), 0)
}

// TestRoundTrip writes random tables, and reads them again.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawTable(t)
		file, c := rapid.Bool().Draw(t, "file"), arrow.Compression(rapid.IntRange(0, 2).Draw(t, "compression"))
		raw := write(t, m, file, c)
		want, err := table(m)
		if err != nil {
			t.Fatal(err)
		}
		r, err := open(raw, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(r.Schema().Metadata, m.schema.Metadata) {
			t.Fatal(r.Schema().Metadata)
		}
		var rows []int64
		for _, b := range m.batches {
			rows = append(rows, int64(b.Rows))
		}
		if file != (r.Rows() != nil) || file && !slices.Equal(r.Rows(), rows) {
			t.Fatal(r.Rows(), rows)
		}
		if got, err := table(r); err != nil || got != want {
			t.Fatalf("%v\ngot\n%s\nwant\n%s", err, got, want)
		}
		if _, err := r.Next(); err != io.EOF {
			t.Fatal(err)
		}
	})
}

// TestAlignment looks whether all bodies of a file begin at a multiple of 64 bytes.
func TestAlignment(t *testing.T) {
	m := &memory{schema: columnar.Schema{Fields: []columnar.Field{{Name: "x", Type: columnar.Type{Kind: columnar.Int64}}}}}
	data := bytes.Repeat([]byte("abcdefgh"), 3)
	for range 3 {
		m.batches = append(m.batches, &columnar.Batch{Rows: 3, Columns: []columnar.Column{{Rows: 3, Data: data}}})
	}
	raw := write(t, m, true, arrow.Uncompressed)
	for at, n := 0, 0; n < 3; n++ {
		i := bytes.Index(raw[at:], data)
		if at += i + 1; i < 0 || (at-1)%64 != 0 {
			t.Errorf("batch %d is at %d", n, at-1)
		}
	}
}

// TestWriterRefuses has tables that contradict themselves.
func TestWriterRefuses(t *testing.T) {
	kind := func(k columnar.Kind) columnar.Type { return columnar.Type{Kind: k} }
	item := &columnar.Field{Name: "item", Type: kind(columnar.Int8)}
	list := columnar.Type{Kind: columnar.List, Element: item}
	for _, typ := range []columnar.Type{{}, kind(99), kind(columnar.List), kind(columnar.Decimal), {Kind: columnar.Timestamp, Unit: 9},
		{Kind: columnar.List, Element: &columnar.Field{Type: list}}, {Kind: columnar.FixedBinary, Width: -1}} {
		_, err := arrow.NewFileWriter(io.Discard, &columnar.Schema{Fields: []columnar.Field{{Name: "odd", Type: typ}}}, 0)
		if !errors.Is(err, columnar.ErrUnsupported) || !strings.Contains(err.Error(), `"odd"`) {
			t.Errorf("%v: %v", typ, err)
		}
	}
	unique := columnar.Column{Rows: 1, Data: make([]byte, 1)}
	for _, c := range []struct {
		typ    columnar.Type
		column columnar.Column
		want   string
	}{
		{kind(columnar.Int8), columnar.Column{Rows: 2, Data: make([]byte, 1)}, "agree"},
		{kind(columnar.Bool), columnar.Column{Rows: 2, Data: make([]byte, 1)}, "agree"},
		{kind(columnar.Int8), columnar.Column{Rows: 1, Data: make([]byte, 1)}, "rows: 1"},
		{kind(columnar.Int8), columnar.Column{Rows: 2, Data: make([]byte, 2), Valid: []byte{}}, "agree"},
		{kind(columnar.Int8), columnar.Column{Rows: 2, Data: make([]byte, 2), Valid: []byte{1}}, "nulls: 1"},
		{kind(columnar.String), columnar.Column{Rows: 2, Data: make([]byte, 2), Offsets: []int64{0, 1}}, "agree"},
		{kind(columnar.String), columnar.Column{Rows: 2, Data: make([]byte, 2), Offsets: []int64{0, 2, 1}}, "agree"},
		{kind(columnar.String), columnar.Column{Rows: 2, Data: make([]byte, 2), Offsets: []int64{0, 1, 3}}, "agree"},
		{kind(columnar.String), columnar.Column{Rows: 2, Data: make([]byte, 2), Offsets: []int64{-1, 1, 2}}, "agree"},
		{list, columnar.Column{Rows: 2, Offsets: []int64{0, 1, 2}}, "agree"},
		{list, columnar.Column{Rows: 2, Offsets: []int64{0, 1, 2}, Elements: &columnar.Column{Rows: 1, Data: make([]byte, 1)}}, "agree"},
		{list, columnar.Column{Rows: 2, Offsets: []int64{0, 1 << 31, 1 << 31}, Elements: &columnar.Column{Rows: 1 << 31}}, "write fewer rows"},
		{kind(columnar.Int8), columnar.Column{Rows: 2, Index: []uint32{0, 1}, Dictionary: &unique}, "agree"},
		{kind(columnar.Int8), columnar.Column{Rows: 2, Index: []uint32{0}, Dictionary: &unique}, "agree"},
		{kind(columnar.String), columnar.Column{Rows: 2, Index: []uint32{0, 0}, Dictionary: &columnar.Column{Rows: 1, Offsets: []int64{1, 0}}}, "agree"},
		{kind(columnar.Time), columnar.Column{Rows: 2, Data: bytes.Repeat([]byte{255}, 16)}, "row 0"},
	} {
		var out bytes.Buffer
		w, err := arrow.NewStreamWriter(&out, &columnar.Schema{Fields: []columnar.Field{{Name: "odd", Type: c.typ}}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		n := out.Len()
		err = w.Write(&columnar.Batch{Rows: 2, Columns: []columnar.Column{c.column}})
		if err == nil || !strings.Contains(err.Error(), `batch 0: column "odd"`) || !strings.Contains(err.Error(), c.want) || out.Len() != n {
			t.Errorf("%v, want %q", err, c.want)
		}
		if err := errors.Join(w.Write(&columnar.Batch{}), w.Close()); err == nil {
			t.Error("a batch without columns was written")
		}
	}
}

// full is a file whose space ends after some bytes.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	n := min(len(p), f.left)
	if f.left -= n; n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// TestFullDisk lets each byte of a file be the last one.
func TestFullDisk(t *testing.T) {
	s := &columnar.Schema{Fields: []columnar.Field{{Name: "x", Type: columnar.Type{Kind: columnar.Int8}}}}
	b := &columnar.Batch{Rows: 1, Columns: []columnar.Column{{Rows: 1, Data: []byte{1}}}}
	size := len(write(t, &memory{schema: *s, batches: []*columnar.Batch{b}}, true, 0))
	for left := range size + 1 {
		w, err := arrow.NewFileWriter(&full{left}, s, 0)
		if err == nil {
			err = w.Write(b)
		}
		if err == nil {
			err = w.Close()
		}
		if (err == nil) != (left == size) {
			t.Fatalf("%d of %d bytes: %v", left, size, err)
		}
	}
}

// TestLimit reads tables that need more memory than they may have.
func TestLimit(t *testing.T) {
	m := &memory{schema: columnar.Schema{Fields: []columnar.Field{{Name: "x", Type: columnar.Type{Kind: columnar.Bool}}}}}
	m.batches = []*columnar.Batch{{Rows: 1 << 20, Columns: []columnar.Column{{Rows: 1 << 20, Data: make([]byte, 1<<20)}}}}
	for _, c := range []arrow.Compression{arrow.Uncompressed, arrow.LZ4, arrow.Zstd} {
		raw := write(t, m, false, c)
		for limit, ok := range map[int64]bool{1 << 16: false, 1 << 20: false, 2 << 20: true} {
			r, err := open(raw, limit)
			if err == nil {
				_, err = r.Next()
			}
			if (err == nil) != ok || err != nil && (!errors.Is(err, columnar.ErrUnsupported) || !strings.Contains(err.Error(), "smaller batches")) {
				t.Errorf("limit %d: %v", limit, err)
			}
		}
	}
}

// TestOtherFiles has files that are no tables, or of other forms.
func TestOtherFiles(t *testing.T) {
	m := &memory{schema: columnar.Schema{Fields: []columnar.Field{{Name: "x", Type: columnar.Type{Kind: columnar.Int8}}}}}
	file, stream := write(t, m, true, 0), write(t, m, false, 0)
	asFile := func(raw []byte) error {
		_, err := openFile(raw)
		return err
	}
	asStream := func(raw []byte) error {
		_, err := arrow.NewStreamReader(bytes.NewReader(raw), 0)
		return err
	}
	for name, c := range map[string]struct {
		err, is error
		want    string
	}{
		"feather 1":       {asFile([]byte("FEA1aaaaaaaaaaaaaaaaaaaaaaaa")), columnar.ErrUnsupported, "version 1"},
		"feather stream":  {asStream([]byte("FEA1aaaaaaaaaaaaaaaaaaaaaaaa")), columnar.ErrUnsupported, "no stream"},
		"file as stream":  {asStream(file), columnar.ErrUnsupported, "no stream"},
		"stream as file":  {asFile(stream), columnar.ErrCorrupt, "begins with"},
		"empty file":      {asFile(nil), columnar.ErrCorrupt, "begins with"},
		"short file":      {asFile(file[:12]), columnar.ErrCorrupt, "too short"},
		"torn file":       {asFile(file[:len(file)-1]), columnar.ErrCorrupt, "end of the file is missing"},
		"empty stream":    {asStream(nil), columnar.ErrCorrupt, "empty"},
		"torn stream":     {asStream(stream[:30]), columnar.ErrCorrupt, "middle of a message"},
		"negative length": {asStream([]byte{255, 255, 255, 255, 0, 0, 0, 128}), columnar.ErrCorrupt, "length of a message"},
		"long metadata":   {asStream([]byte{255, 255, 255, 255, 0, 0, 0, 64}), columnar.ErrUnsupported, "more memory"},
	} {
		if !errors.Is(c.err, c.is) || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	// Before version 0.15 a message began with its length.
	old := stream[4:]
	if err := asStream(old); err != nil {
		t.Error(err)
	}
}
