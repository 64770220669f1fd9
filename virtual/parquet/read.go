// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"varve.dev/zarr/columnar"
	"varve.dev/zarr/columnar/parquet"
	"varve.dev/zarr/internal/kerchunk"
	"varve.dev/zarr/virtual/scan"
)

// table decodes a file of records.
type table struct {
	schema  *columnar.Schema
	room    int64 // bytes of memory for records that may still be taken
	records *kerchunk.Records
	first   int               // the row with which the batch begins
	urls    map[string]string // those that are in use, so that equal ones are one
}

// defaultMemory bounds the memory for a file in bytes.
const defaultMemory = 256 << 20

// The columns of a file. One that is missing has only nulls.
const (
	offsetColumn = "offset"
	sizeColumn   = "size"
	pathColumn   = "path"
	rawColumn    = "raw"
)

// decode reads a file with at most so many rows.
func decode(file []byte, most int, l kerchunk.Limits) (*kerchunk.Records, error) {
	if l.Generated <= 0 {
		l.Generated = defaultMemory
	}
	open := func(names ...string) (*parquet.Reader, error) {
		return parquet.NewReader(bytes.NewReader(file), int64(len(file)), parquet.Limits{Memory: l.Generated / 2}, names...)
	}
	r, err := open()
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, f := range r.Schema().Fields {
		switch f.Name {
		case offsetColumn, sizeColumn, pathColumn, rawColumn:
			names = append(names, f.Name)
		}
	}
	if len(names) > 0 {
		if r, err = open(names...); err != nil {
			return nil, err
		}
	}
	rows := int64(0)
	for _, n := range r.Rows() {
		// fsspec pads each file to record_size rows. Fewer are fine, more have no place.
		if rows += n; rows > int64(min(most, kerchunk.MostRecords)) {
			return nil, scan.Corruptf("%d rows, where the references have at most %d in each file", rows, most)
		}
	}
	t := &table{schema: r.Schema(), room: l.Generated / 2, urls: map[string]string{}}
	if err := t.reserve(kerchunk.RecordBytes * rows); err != nil {
		return nil, err
	}
	t.records = kerchunk.NewRecords(int(rows))
	for len(names) > 0 {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = t.add(b)
		}
		if err != nil {
			return nil, err
		}
		t.first += b.Rows
	}
	return t.records, nil
}

// reserve takes memory.
func (t *table) reserve(n int64) error {
	if t.room -= n; t.room < 0 {
		return scan.Unsupportedf("the file needs more memory than the limit; write the references with a smaller record_size")
	}
	return nil
}

// add adds the rows of a batch. A value that is given comes before a path.
func (t *table) add(b *columnar.Batch) error {
	offset, err := t.numbers(b, offsetColumn)
	if err != nil {
		return err
	}
	size, err := t.numbers(b, sizeColumn)
	if err != nil {
		return err
	}
	for _, name := range []string{pathColumn, rawColumn} {
		f, c := t.column(b, name)
		if c == nil {
			continue
		}
		for i := range b.Rows {
			// Some writers have any type for a column of nulls.
			if !c.IsValid(i) {
				continue
			}
			if f.Type.Kind != columnar.String && f.Type.Kind != columnar.Binary {
				return scan.Unsupportedf("column %q: values of type %v, where text is needed", name, f.Type)
			}
			text := textAt(c, i)
			if name == rawColumn {
				err = t.setRaw(t.first+i, text)
			} else {
				err = t.setPath(t.first+i, kerchunk.Reference{Offset: offset(i), Length: size(i)}, text)
			}
			if err != nil {
				return fmt.Errorf("column %q: row %d: %w", name, t.first+i, err)
			}
		}
	}
	return nil
}

// column returns a column of a batch, or nil.
func (t *table) column(b *columnar.Batch, name string) (*columnar.Field, *columnar.Column) {
	for i := range t.schema.Fields {
		if f := &t.schema.Fields[i]; f.Name == name {
			return f, &b.Columns[i]
		}
	}
	return nil, nil
}

// numbers returns what returns the number of a row. Null stands for 0.
func (t *table) numbers(b *columnar.Batch, name string) (func(row int) int64, error) {
	f, c := t.column(b, name)
	if c == nil {
		return func(int) int64 { return 0 }, nil
	}
	size, integers := f.Type.Bytes(), f.Type.Kind == columnar.Int64 || f.Type.Kind == columnar.Int32
	for i := 0; i < b.Rows && !integers; i++ {
		if c.IsValid(i) {
			return nil, scan.Unsupportedf("column %q: values of type %v, where integers are needed", name, f.Type)
		}
	}
	return func(row int) int64 {
		switch {
		case !c.IsValid(row):
			return 0
		case size == 4:
			return int64(int32(binary.LittleEndian.Uint32(c.Data[4*row:])))
		}
		return int64(binary.LittleEndian.Uint64(c.Data[8*row:]))
	}, nil
}

// textAt returns the text of a row.
func textAt(c *columnar.Column, row int) []byte {
	if c.Dictionary != nil {
		return textAt(c.Dictionary, int(c.Index[row]))
	}
	return c.Data[c.Offsets[row]:c.Offsets[row+1]]
}

// setPath sets a reference to a file.
func (t *table) setPath(row int, x kerchunk.Reference, text []byte) error {
	url, ok := t.urls[string(text)]
	if !ok {
		if err := t.reserve(int64(len(text)) + 48); err != nil {
			return err
		}
		// Rows that follow each other mostly have the same file. Older ones are not
		// needed.
		if len(t.urls) == mostURLs {
			clear(t.urls)
		}
		url = string(text)
		t.urls[url] = url
	}
	x.URL = url
	switch {
	case url == "":
		return scan.Corruptf("an empty path")
	case x.Length < 0:
		return scan.Corruptf("%d bytes at %d", x.Length, x.Offset)
	case x.Offset == 0 && x.Length == 0:
		// fsspec writes zeros for a reference without a range.
		x.Length = kerchunk.Whole
	}
	return t.records.Set(row, x)
}

// mostURLs bounds the URLs that are remembered, to keep equal ones once.
const mostURLs = 1 << 11

// setRaw sets a value that is given.
func (t *table) setRaw(row int, text []byte) error {
	if err := t.reserve(int64(len(text)) + 48); err != nil {
		return err
	}
	data, err := unwrapped(text)
	if err != nil {
		return err
	}
	return t.records.Set(row, kerchunk.Reference{Data: data})
}
