// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"fmt"

	"github.com/parquet-go/parquet-go/format"
	"varve.dev/zarr/internal/kerchunk"
	"varve.dev/zarr/virtual/scan"
)

// table decodes a file of records.
type table struct {
	*footer
	rows         int
	room         int64 // bytes of memory that may still be taken
	records      *kerchunk.Records
	offset, size []int64
	urls         map[string]string // those that are in use, so that equal ones are one

}

// defaultMemory bounds the memory for a file in bytes.
const defaultMemory = 256 << 20

// decode reads a file with at most so many rows.
func decode(file []byte, most int, l kerchunk.Limits) (*kerchunk.Records, error) {
	f, err := readFooter(file)
	if err != nil {
		return nil, err
	}
	// fsspec pads each file to record_size rows. Fewer are fine, more have no place.
	if f.NumRows < 0 || f.NumRows > int64(min(most, kerchunk.MostRecords)) {
		return nil, scan.Corruptf("%d rows, where the references have at most %d in each file", f.NumRows, most)
	}
	t := &table{footer: f, rows: int(f.NumRows), room: l.Generated, urls: map[string]string{}}
	if t.room <= 0 {
		t.room = defaultMemory
	}
	if err := t.checkRows(); err != nil {
		return nil, err
	}
	// 16 bytes for the offset and the size, until the path of a row is known.
	if err := t.reserve((kerchunk.RecordBytes + 16) * int64(t.rows)); err != nil {
		return nil, err
	}
	t.records = kerchunk.NewRecords(t.rows)
	t.offset, t.size = make([]int64, t.rows), make([]int64, t.rows)
	return t.records, t.read()
}

// checkRows returns an error unless the row groups have all rows.
func (t *table) checkRows() error {
	left := t.NumRows
	for i := range t.RowGroups {
		n := t.RowGroups[i].NumRows
		if n < 0 || n > left {
			return scan.Corruptf("a row group of %d rows, where %d are left", n, left)
		}
		left -= n
	}
	if left != 0 {
		return scan.Corruptf("row groups that lack %d of %d rows", left, t.NumRows)
	}
	return nil
}

// reserve takes memory.
func (t *table) reserve(n int64) error {
	if t.room -= n; t.room < 0 {
		return scan.Unsupportedf("the file needs more memory than the limit; write the references with a smaller record_size")
	}
	return nil
}

// read reads the columns. A value that is given comes before a path, so raw is last.
func (t *table) read() error {
	for _, c := range []struct {
		name string
		set  func(c *column) func(row int, v *values) error
	}{
		{"offset", numbers(t.offset)},
		{"size", numbers(t.size)},
		{"path", t.setPath},
		{"raw", t.setRaw},
	} {
		// A column that is missing has only nulls.
		e, err := t.field(c.name)
		if err == nil && e != nil {
			err = t.readColumn(e, c.set)
		}
		if err != nil {
			return fmt.Errorf("column %q: %w", c.name, err)
		}
	}
	return nil
}

// readColumn reads a column of all row groups.
func (t *table) readColumn(e *format.SchemaElement, set func(c *column) func(int, *values) error) error {
	row := 0
	for i := range t.RowGroups {
		g := &t.RowGroups[i]
		c, err := t.column(e, g, t.reserve)
		if err == nil {
			err = c.each(row, int(g.NumRows), set(c))
		}
		if err != nil {
			return err
		}
		row += int(g.NumRows)
	}
	return nil
}

// numbers returns what puts the numbers of a column into a slice. Null stands for 0.
func numbers(dst []int64) func(c *column) func(row int, v *values) error {
	return func(c *column) func(row int, v *values) error {
		return func(row int, v *values) (err error) {
			if c.physical != format.Int64 && c.physical != format.Int32 {
				return scan.Unsupportedf("values of type %v, where integers are needed", c.physical)
			}
			dst[row], err = v.number(c)
			return err
		}
	}
}

// setPath returns what sets the references to files.
func (t *table) setPath(c *column) func(row int, v *values) error {
	return func(row int, v *values) error {
		text, err := t.text(c, v)
		if err != nil {
			return err
		}
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
		x := kerchunk.Reference{URL: url, Offset: t.offset[row], Length: t.size[row]}
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
}

// mostURLs bounds the URLs that are remembered, to keep equal ones once.
const mostURLs = 1 << 11

// setRaw returns what sets the values that are given.
func (t *table) setRaw(c *column) func(row int, v *values) error {
	return func(row int, v *values) error {
		text, err := t.text(c, v)
		if err == nil {
			err = t.reserve(int64(len(text)) + 48)
		}
		if err != nil {
			return err
		}
		data, err := unwrapped(text)
		if err != nil {
			return err
		}
		return t.records.Set(row, kerchunk.Reference{Data: data})
	}
}

// text returns the next text of a column.
func (t *table) text(c *column, v *values) ([]byte, error) {
	if c.physical != format.ByteArray {
		return nil, scan.Unsupportedf("values of type %v, where text is needed", c.physical)
	}
	return v.text()
}
