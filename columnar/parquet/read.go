// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"varve.dev/zarr/columnar"
)

// Limits bound what a reader takes.
type Limits struct {
	// Memory bounds the bytes in memory: the metadata of the file, and the stored and
	// decoded pages of one row group. 0 stands for 1 GiB.
	Memory int64
}

const defaultMemory = 1 << 30

// arrowSchema is the name of a schema of Arrow that some writers add. It says how their
// columns were in memory, and would be wrong in another file.
const arrowSchema = "ARROW:schema"

// Reader reads a file. It implements [columnar.Reader].
type Reader struct {
	file   io.ReaderAt
	pages  int64 // where the footer begins
	unread atomic.Int64
	memory int64
	meta   fileMetadata
	leaves []*leaf
	chosen []int // numbers of the leaves that are read
	schema columnar.Schema
	group  int // the next one
}

// NewReader reads the metadata of a file of so many bytes. Without names all columns are
// read, and with names those, in the order of the file. The name of a column in a struct
// has a point before each part but the first.
//
// Errors wrap [columnar.ErrCorrupt] or [columnar.ErrUnsupported], or come from r.
func NewReader(r io.ReaderAt, size int64, l Limits, names ...string) (*Reader, error) {
	if l.Memory <= 0 {
		l.Memory = defaultMemory
	}
	f := &Reader{file: r, memory: l.Memory}
	err := f.readFooter(size)
	if err == nil {
		err = f.choose(names)
	}
	if err == nil {
		err = f.checkGroups()
	}
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	for _, k := range f.meta.pairs {
		if k.key == arrowSchema {
			continue
		}
		f.schema.Metadata = append(f.schema.Metadata, columnar.Pair{Key: k.key, Value: k.value})
	}
	return f, nil
}

// readFooter reads the metadata at the end of a file.
func (f *Reader) readFooter(size int64) error {
	const guess = 64 << 10 // the footer is mostly smaller, and needs no second request then
	if size < int64(len(magic)+tail) {
		return corruptf("%d bytes, which are no file of Parquet", size)
	}
	end := make([]byte, min(size, guess))
	if err := f.readAt(end, size-int64(len(end))); err != nil {
		return err
	}
	switch last := string(end[len(end)-len(magic):]); {
	case last == magicEncrypted:
		return unsupportedf("an encrypted file")
	case last != magic || int64(len(end)) == size && string(end[:len(magic)]) != magic:
		return corruptf("%d bytes that do not begin and end with %q", size, magic)
	}
	n := int64(binary.LittleEndian.Uint32(end[len(end)-tail:]))
	switch {
	case n > size-int64(len(magic)+tail):
		return corruptf("a footer of %d bytes in a file of %d", n, size)
	case n > f.memory:
		return unsupportedf("a footer of %d bytes, where the limit of the memory is %d", n, f.memory)
	}
	f.pages = size - int64(tail) - n
	f.unread.Store(f.pages)
	footer := end[:len(end)-tail]
	if int64(len(footer)) >= n {
		footer = footer[int64(len(footer))-n:]
	} else {
		footer = make([]byte, n)
		if err := f.readAt(footer, f.pages); err != nil {
			return err
		}
	}
	// A sound footer takes ten times as much memory, and one without row groups thirty
	// times.
	const most = 64
	b := newBudget(min(f.memory, 1<<20+most*n), ", which is much for its length, or the limit")
	_, err := unmarshal(footer, &f.meta, b)
	if err == nil {
		f.leaves, err = leaves(f.meta.schema, b)
	}
	if err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	f.memory -= b.all - b.left.Load()
	// An encrypted footer has another magic. With a plain one, columns may be encrypted.
	if f.meta.encrypted {
		return unsupportedf("an encrypted file")
	}
	return nil
}

func (f *Reader) readAt(p []byte, at int64) error {
	n, err := f.file.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		return corruptf("a file that ends at byte %d, within what the footer says", at+int64(n))
	}
	return err
}

// choose sets the columns to read, and the schema.
func (f *Reader) choose(names []string) error {
	missing := slices.Clone(names)
	for i, l := range f.leaves {
		name := l.field.Name
		if len(names) > 0 {
			if !slices.Contains(names, name) {
				continue
			}
			k := slices.Index(missing, name)
			if k < 0 {
				return corruptf("two columns %q", name)
			}
			missing = slices.Delete(missing, k, k+1)
		}
		if l.err != nil {
			return fmt.Errorf("column %q: %w; leave the column out", name, l.err)
		}
		f.chosen = append(f.chosen, i)
		f.schema.Fields = append(f.schema.Fields, l.field)
	}
	if len(missing) > 0 {
		return corruptf("there is no column %q", missing[0])
	}
	return nil
}

// checkGroups returns an error unless the row groups have all rows and columns.
func (f *Reader) checkGroups() error {
	left := f.meta.rows
	for i := range f.meta.groups {
		g := &f.meta.groups[i]
		if g.rows < 0 || g.rows > left {
			return corruptf("row group %d has %d rows, where %d are left", i, g.rows, left)
		}
		if g.rows > math.MaxInt { // of 32 bits
			return unsupportedf("row group %d has %d rows", i, g.rows)
		}
		if left -= g.rows; len(g.columns) != len(f.leaves) {
			return corruptf("row group %d has another number of columns than the schema: %d and %d", i, len(g.columns), len(f.leaves))
		}
	}
	if left != 0 {
		return corruptf("row groups that lack rows: %d of %d", left, f.meta.rows)
	}
	return nil
}

// Schema returns the schema of the columns that are read.
func (f *Reader) Schema() *columnar.Schema { return &f.schema }

// Rows returns the rows of each row group.
func (f *Reader) Rows() []int64 {
	rows := make([]int64, len(f.meta.groups))
	for i := range rows {
		rows[i] = f.meta.groups[i].rows
	}
	return rows
}

// Next reads the next row group. The columns are decoded by as many goroutines as there
// are processors.
func (f *Reader) Next() (*columnar.Batch, error) {
	if f.group == len(f.meta.groups) {
		return nil, io.EOF
	}
	g := &f.meta.groups[f.group]
	b := &columnar.Batch{Rows: int(g.rows), Columns: make([]columnar.Column, len(f.chosen))}
	memory := newBudget(f.memory, ", the limit of the memory; raise it, select fewer columns, or write smaller row groups")
	err := parallel(len(f.chosen), func(i int) error {
		l := f.leaves[f.chosen[i]]
		c, err := f.column(l, &g.columns[f.chosen[i]], int(g.rows), memory)
		if err != nil {
			return fmt.Errorf("parquet: row group %d, column %q: %w", f.group, l.field.Name, err)
		}
		b.Columns[i] = c
		return nil
	})
	if err != nil {
		return nil, err
	}
	f.group++
	return b, nil
}

// parallel calls f for each number below n, and returns the first error by number.
func parallel(n int, f func(i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && !failed.Load(); i = int(next.Add(1)) - 1 {
				if errs[i] = f(i); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// column reads a column of a row group.
func (f *Reader) column(l *leaf, c *columnChunk, rows int, b *budget) (columnar.Column, error) {
	m := &c.columnMetadata
	switch {
	case c.file != "":
		return columnar.Column{}, unsupportedf("it is in another file, %q", c.file)
	case c.encrypted || !c.known:
		return columnar.Column{}, unsupportedf("it is encrypted")
	case m.physical != l.physical || !slices.Equal(m.path, l.path):
		return columnar.Column{}, corruptf("its place has another column, %q", strings.Join(m.path, "."))
	}
	begin := m.dataOffset
	// The dictionary comes before the data pages, to which the offset leads.
	if m.dictionaryOffset > 0 {
		begin = min(begin, m.dictionaryOffset)
	}
	if begin < 0 || begin > f.pages || m.compressed < 0 || m.compressed > f.pages-begin {
		return columnar.Column{}, corruptf("%d bytes at %d, before the footer at %d", m.compressed, begin, f.pages)
	}
	// No two columns share bytes of pages. So the size of the file bounds the time for
	// pages, also if they have no rows.
	if f.unread.Add(-m.compressed) < 0 {
		return columnar.Column{}, corruptf("columns or row groups share bytes of pages")
	}
	if err := b.reserve(m.compressed); err != nil {
		return columnar.Column{}, err
	}
	data := make([]byte, m.compressed)
	if err := f.readAt(data, begin); err != nil {
		return columnar.Column{}, err
	}
	k := &chunk{leaf: l, codec: m.codec, rows: rows, data: data, offset: begin, budget: b}
	if err := k.scan(m.values); err != nil {
		return columnar.Column{}, err
	}
	column, err := k.read()
	// The column has copies of what was stored.
	b.release(m.compressed)
	return column, err
}
