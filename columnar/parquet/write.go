// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"varve.dev/zarr/columnar"
)

// Options are how a file is written. The zero value is a good choice.
type Options struct {
	Compression Compression
	// Level is that of Zstandard, from 1 to 22. 0 stands for 3.
	Level int
}

const defaultLevel = 3

// Writer writes a file. It implements [columnar.Writer].
type Writer struct {
	out    io.Writer
	offset int64
	codec  *deflater
	schema *columnar.Schema
	stores []*storage // of the columns
	meta   fileMetadata
	// The page indexes of all row groups come before the footer.
	indexes [][]*encoded
	err     error // of the first failure, after which nothing is written
	closed  bool
}

// NewWriter begins a file of tables with the given schema. It returns an error that wraps
// [columnar.ErrUnsupported] for types that have no place in Parquet. Each batch becomes a
// row group. The memory is that of a batch and its encoded pages.
func NewWriter(w io.Writer, s *columnar.Schema, o Options) (*Writer, error) {
	f := &Writer{out: w, schema: s, meta: fileMetadata{version: 2, createdBy: "varve"}}
	f.meta.schema = []schemaElement{{physical: -1, converted: -1, name: "schema", children: int64(len(s.Fields))}}
	for i := range s.Fields {
		if err := f.addField(&s.Fields[i]); err != nil {
			return nil, fmt.Errorf("parquet: column %q: %w", s.Fields[i].Name, err)
		}
	}
	for _, p := range s.Metadata {
		f.meta.pairs = append(f.meta.pairs, keyValue{p.Key, p.Value})
	}
	var err error
	if f.codec, err = newDeflater(o); err == nil {
		err = f.write([]byte(magic))
	}
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	return f, nil
}

// addField adds a column to the schema.
func (f *Writer) addField(field *columnar.Field) error {
	repetition := func(nullable bool) int64 {
		if nullable {
			return optional
		}
		return required
	}
	t, name, nullable := field.Type, field.Name, field.Nullable
	if t.Kind == columnar.List {
		if t.Element == nil {
			return unsupportedf("a list without a type of elements")
		}
		list := schemaElement{physical: -1, converted: convertedList, logical: logicalType{number: logicalList}, name: name, children: 1}
		list.repetition = repetition(nullable)
		f.meta.schema = append(f.meta.schema, list, schemaElement{physical: -1, converted: -1, name: "list", repetition: repeated, children: 1})
		t, name, nullable = t.Element.Type, "element", t.Element.Nullable
	}
	s, err := newStorage(t)
	if err != nil {
		return err
	}
	s.field.name, s.field.repetition = name, repetition(nullable)
	f.meta.schema = append(f.meta.schema, s.field)
	f.meta.orders = append(f.meta.orders, columnOrder{})
	f.stores = append(f.stores, s)
	return nil
}

func (f *Writer) write(p []byte) error {
	n, err := f.out.Write(p)
	f.offset += int64(n)
	return err
}

var errClosed = errors.New("the file is closed")

// Write writes a batch as a row group. A batch without rows writes nothing. The columns
// are encoded by as many goroutines as there are processors.
func (f *Writer) Write(b *columnar.Batch) error {
	if f.closed {
		return fmt.Errorf("parquet: %w", errClosed)
	}
	if f.err == nil {
		f.err = f.writeBatch(b)
	}
	return f.err
}

func (f *Writer) writeBatch(b *columnar.Batch) error {
	if len(b.Columns) != len(f.schema.Fields) {
		return fmt.Errorf("parquet: a batch of %d columns for a schema of %d", len(b.Columns), len(f.schema.Fields))
	}
	if b.Rows == 0 {
		return nil
	}
	columns := make([]*encoded, len(b.Columns))
	err := parallel(len(columns), func(i int) error {
		field, c := &f.schema.Fields[i], &b.Columns[i]
		err := checkColumn(&field.Type, c, b.Rows)
		if err == nil {
			columns[i], err = f.encode(i, c)
		}
		if err != nil {
			return fmt.Errorf("parquet: row group %d, column %q: %w", len(f.meta.groups), field.Name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	g := rowGroup{rows: int64(b.Rows), offset: f.offset}
	for i, e := range columns {
		m := &e.meta
		m.path = []string{f.schema.Fields[i].Name}
		if f.schema.Fields[i].Type.Kind == columnar.List {
			m.path = append(m.path, "list", "element")
		}
		if m.dataOffset > 0 { // a dictionary comes first
			m.dictionaryOffset = f.offset
		}
		m.dataOffset += f.offset
		for k := range e.place.pages {
			e.place.pages[k].offset += f.offset
		}
		for _, p := range e.pages {
			if err := f.write(p); err != nil {
				return fmt.Errorf("parquet: %w", err)
			}
		}
		e.pages = nil
		g.bytes += m.uncompressed
		g.compressed += m.compressed
		g.columns = append(g.columns, columnChunk{columnMetadata: *m})
	}
	f.meta.rows += g.rows
	f.meta.groups = append(f.meta.groups, g)
	f.indexes = append(f.indexes, columns)
	return nil
}

// encode encodes a column.
func (f *Writer) encode(i int, c *columnar.Column) (*encoded, error) {
	field := &f.schema.Fields[i]
	e := &encoder{storage: f.stores[i], nullable: field.Nullable, codec: f.codec}
	if field.Type.Kind == columnar.List {
		e.list, e.inNull = true, field.Type.Element.Nullable
	}
	return e.encode(c)
}

// checkColumn returns an error for a column that is not of its type or does not have all
// rows.
func checkColumn(t *columnar.Type, c *columnar.Column, rows int) error {
	switch {
	case c.Rows != rows:
		return fmt.Errorf("it has %d rows, and the batch %d", c.Rows, rows)
	case c.Valid != nil && len(c.Valid) < (rows+7)/8:
		return fmt.Errorf("its bitmap has %d bytes for %d rows", len(c.Valid), rows)
	case c.Dictionary != nil:
		if t.Kind == columnar.List {
			return fmt.Errorf("a dictionary of lists")
		}
		if len(c.Index) != rows {
			return fmt.Errorf("it has %d numbers of a dictionary for %d rows", len(c.Index), rows)
		}
		for i, x := range c.Index {
			if int64(x) >= int64(c.Dictionary.Rows) && c.IsValid(i) {
				return fmt.Errorf("row %d has value %d of a dictionary of %d", i, x, c.Dictionary.Rows)
			}
		}
		if c.Dictionary.Dictionary != nil {
			return fmt.Errorf("a dictionary of a dictionary")
		}
		return checkColumn(t, c.Dictionary, c.Dictionary.Rows)
	case t.Bytes() > 0:
		if int64(len(c.Data)) < int64(rows)*int64(t.Bytes()) {
			return fmt.Errorf("it has %d bytes for %d rows of type %v", len(c.Data), rows, *t)
		}
		return nil
	}
	most := len(c.Data)
	if t.Kind == columnar.List {
		if c.Elements == nil {
			return fmt.Errorf("lists without elements")
		}
		most = c.Elements.Rows
		if err := checkColumn(&t.Element.Type, c.Elements, most); err != nil {
			return fmt.Errorf("elements: %w", err)
		}
	}
	if len(c.Offsets) != rows+1 {
		return fmt.Errorf("it has %d offsets for %d rows", len(c.Offsets), rows)
	}
	before := int64(0)
	for i, x := range c.Offsets {
		if x < before || x > int64(most) {
			return fmt.Errorf("offset %d is %d, where %d are before it and %d at the end", i, x, before, most)
		}
		before = x
	}
	return checkText(t.Kind, c)
}

// Close writes the page indexes and the footer. It does not close the file.
func (f *Writer) Close() error {
	if f.closed {
		return fmt.Errorf("parquet: %w", errClosed)
	}
	f.closed = true
	if f.err != nil {
		return f.err
	}
	if f.err = f.finish(); f.err != nil {
		f.err = fmt.Errorf("parquet: %w", f.err)
	}
	return f.err
}

func (f *Writer) finish() error {
	// All column indexes come first, then all offset indexes, for readers that read them
	// in one piece.
	for _, columns := range []bool{true, false} {
		var all []byte
		for g, group := range f.indexes {
			for i, e := range group {
				c := &f.meta.groups[g].columns[i]
				begin := len(all)
				if !columns {
					all = marshal(all, &e.place)
					c.offsetIndex, c.offsetLength = f.offset+int64(begin), int64(len(all)-begin)
				} else if e.paged {
					all = marshal(all, &e.index)
					c.columnIndex, c.columnLength = f.offset+int64(begin), int64(len(all)-begin)
				}
			}
		}
		if err := f.write(all); err != nil {
			return err
		}
	}
	footer := marshal(nil, &f.meta)
	n, err := int32Of(len(footer), "a footer")
	if err != nil {
		return err
	}
	// A file ends with the metadata, their length in 4 bytes, and the magic.
	footer = binary.LittleEndian.AppendUint32(footer, uint32(n))
	return f.write(append(footer, magic...))
}
