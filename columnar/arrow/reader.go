// SPDX-License-Identifier: Apache-2.0

package arrow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"varve.dev/zarr/columnar"
)

// defaultLimit is the memory of a batch unless another limit is given.
const defaultLimit = 1 << 30

// maxMetadata bounds the bytes of what precedes a body.
const maxMetadata = 256 << 20

// magic is at both ends of a file.
const magic = "ARROW1"

// The kinds of messages, as Message.fbs numbers them.
const (
	headerSchema = 1 + iota
	headerDictionary
	headerBatch
)

// dictionary has the values that some columns share.
type dictionary struct {
	layout *layout
	column *columnar.Column // nil before it was read
	bytes  int64            // that it takes
}

// Reader reads a stream or a file in the IPC format of Arrow. It implements
// [columnar.Reader].
type Reader struct {
	schema       columnar.Schema
	fields       []*layout
	dictionaries map[int64]*dictionary
	limit        int64 // of memory, in bytes
	held         int64 // bytes of dictionaries

	src io.Reader // of a stream
	// A file has its messages at these places.
	file   io.ReaderAt
	blocks []block
	rows   []int64

	batch int // number of the next one
	body  []byte
	err   error
}

// block is the place of a message in a file.
type block struct{ at, metadata, body int64 }

// message is the metadata of a message. Its body comes next.
type message struct {
	kind   int
	header table
	body   int64
}

// NewStreamReader reads the schema of a stream. limit bounds the memory of a batch with
// its dictionaries, in bytes; 0 stands for 1 GiB. Errors wrap [columnar.ErrCorrupt] or
// [columnar.ErrUnsupported], or are those of the stream.
func NewStreamReader(src io.Reader, limit int64) (*Reader, error) {
	r := newReader(limit)
	r.src = src
	m, err := r.message(src)
	if err == io.EOF {
		err = fmt.Errorf("%w: the stream is empty", columnar.ErrCorrupt)
	}
	if err == nil && m.kind != headerSchema {
		err = fmt.Errorf("%w: a stream begins with its schema", columnar.ErrCorrupt)
	}
	if err != nil {
		return nil, err
	}
	if err := r.parse(m.header); err != nil {
		return nil, err
	}
	if m.body != 0 {
		_, err = r.read(src, m.body, nil)
	}
	return r, err
}

// NewFileReader reads the footer of a file, and what it says about each batch. limit is
// that of [NewStreamReader].
func NewFileReader(file io.ReaderAt, size, limit int64) (*Reader, error) {
	r := newReader(limit)
	r.file = file
	footer, end, err := r.footer(size)
	if err != nil {
		return nil, err
	}
	if v := footer.number(0, 2, 0); v != version4 && v != version5 {
		return nil, fmt.Errorf("%w: metadata of a version other than 4 and 5", columnar.ErrUnsupported)
	}
	if err := r.parse(footer.below(1)); err != nil {
		return nil, err
	}
	room := end
	dictionaries, err := blocksOf(footer.vector(2, 24), end, &room)
	if err == nil {
		r.blocks, err = blocksOf(footer.vector(3, 24), end, &room)
	}
	if err == nil {
		err = footer.b.err
	}
	if err != nil {
		return nil, err
	}
	for i, b := range dictionaries {
		m, err := r.messageOf(b, headerDictionary)
		if err == nil {
			err = r.addDictionary(m, io.NewSectionReader(file, b.at+b.metadata, b.body))
		}
		if err != nil {
			return nil, fmt.Errorf("dictionary batch %d: %w", i, err)
		}
	}
	for i, b := range r.blocks {
		m, err := r.messageOf(b, headerBatch)
		if err == nil && m.header.number(0, 8, 0) < 0 {
			err = fmt.Errorf("%w: a negative number of rows", columnar.ErrCorrupt)
		}
		if err != nil {
			return nil, fmt.Errorf("record batch %d: %w", i, err)
		}
		r.rows = append(r.rows, m.header.number(0, 8, 0))
	}
	return r, nil
}

func newReader(limit int64) *Reader {
	if limit <= 0 {
		limit = defaultLimit
	}
	return &Reader{limit: limit, dictionaries: map[int64]*dictionary{}}
}

// footer returns the footer of a file, and where it begins.
func (r *Reader) footer(size int64) (t table, end int64, err error) {
	var first [8]byte
	n, err := r.file.ReadAt(first[:min(max(size, 0), 8)], 0)
	if err != nil && err != io.EOF {
		return t, 0, err
	}
	switch {
	case bytes.HasPrefix(first[:n], []byte("FEA1")):
		return t, 0, fmt.Errorf("%w: it is a Feather file of version 1; read it with pyarrow.feather, and write it again", columnar.ErrUnsupported)
	case !bytes.HasPrefix(first[:n], []byte(magic)):
		return t, 0, fmt.Errorf("%w: it is no Arrow file, which begins with %s", columnar.ErrCorrupt, magic)
	}
	var last [10]byte
	if size < int64(len(first)+len(last)) {
		return t, 0, fmt.Errorf("%w: the file is too short", columnar.ErrCorrupt)
	}
	if _, err := r.file.ReadAt(last[:], size-int64(len(last))); err != nil && err != io.EOF {
		return t, 0, err
	}
	length := int64(int32(binary.LittleEndian.Uint32(last[:])))
	if string(last[4:]) != magic {
		return t, 0, fmt.Errorf("%w: the end of the file is missing: an Arrow file ends with %s", columnar.ErrCorrupt, magic)
	}
	if end = size - int64(len(last)) - length; length <= 0 || end < int64(len(first)) {
		return t, 0, fmt.Errorf("%w: the length of the footer is wrong", columnar.ErrCorrupt)
	}
	if length > min(r.limit, maxMetadata) {
		return t, 0, r.exceeds()
	}
	raw := make([]byte, length)
	if _, err := r.file.ReadAt(raw, end); err != nil && err != io.EOF {
		return t, 0, err
	}
	t = root(raw)
	return t, end, t.b.err
}

// blocksOf returns the places of messages before an end. Together they have at most the
// bytes that are there: otherwise a short file could ask for endless reads.
func blocksOf(v vector, end int64, room *int64) ([]block, error) {
	list := make([]block, v.len)
	for i := range list {
		b := block{v.number(i, 0, 8), v.number(i, 8, 4), v.number(i, 16, 8)}
		if b.at < 8 || b.metadata < 8 || b.body < 0 || b.at > end-b.metadata || b.body > end-b.metadata-b.at || b.metadata+b.body > *room {
			return nil, fmt.Errorf("%w: the footer leads out of the file", columnar.ErrCorrupt)
		}
		*room -= b.metadata + b.body
		list[i] = b
	}
	return list, nil
}

// parse takes a schema.
func (r *Reader) parse(t table) (err error) {
	p := parser{dictionaries: r.dictionaries}
	r.fields, r.schema.Metadata, err = p.schema(t)
	r.schema.Fields = p.fields
	return err
}

// Schema returns the columns. The fields of a struct are columns, such as place.lat.
func (r *Reader) Schema() *columnar.Schema { return &r.schema }

// Rows returns the rows of each batch of a file, and nil for a stream.
func (r *Reader) Rows() []int64 {
	if r.file == nil {
		return nil
	}
	return append([]int64{}, r.rows...)
}

// Next returns the next batch, or [io.EOF]. It is valid until the next call. After an
// error, other calls return it again.
func (r *Reader) Next() (b *columnar.Batch, err error) {
	if r.err != nil {
		return nil, r.err
	}
	if r.file == nil {
		b, err = r.nextOfStream()
	} else {
		b, err = r.nextOfFile()
	}
	if err != nil {
		if r.err = err; err != io.EOF {
			r.err = fmt.Errorf("record batch %d: %w", r.batch, err)
		}
		return nil, r.err
	}
	r.batch++
	return b, nil
}

func (r *Reader) nextOfFile() (*columnar.Batch, error) {
	if r.batch == len(r.blocks) {
		return nil, io.EOF
	}
	b := r.blocks[r.batch]
	m, err := r.messageOf(b, headerBatch)
	if err != nil {
		return nil, err
	}
	out, err := r.decode(m, io.NewSectionReader(r.file, b.at+b.metadata, b.body))
	if err == nil && int64(out.Rows) != r.rows[r.batch] {
		err = fmt.Errorf("%w: the file was changed while it was read", columnar.ErrCorrupt)
	}
	return out, err
}

func (r *Reader) nextOfStream() (*columnar.Batch, error) {
	for {
		m, err := r.message(r.src)
		if err != nil {
			return nil, err
		}
		switch m.kind {
		case headerBatch:
			return r.decode(m, r.src)
		case headerDictionary:
			if err := r.addDictionary(m, r.src); err != nil {
				return nil, fmt.Errorf("the dictionary before it: %w", err)
			}
		default:
			return nil, fmt.Errorf("%w: a message that is no record batch or dictionary", columnar.ErrCorrupt)
		}
	}
}

// messageOf returns the message at a place of the file.
func (r *Reader) messageOf(b block, kind int) (message, error) {
	m, err := r.message(io.NewSectionReader(r.file, b.at, b.metadata))
	if err == io.EOF {
		err = fmt.Errorf("%w: the footer leads to the end of a stream", columnar.ErrCorrupt)
	}
	if err == nil && (m.kind != kind || m.body > b.body) {
		err = fmt.Errorf("%w: the footer leads to another message", columnar.ErrCorrupt)
	}
	return m, err
}

// message reads the metadata of a message. It returns io.EOF at the end of a stream.
func (r *Reader) message(src io.Reader) (m message, err error) {
	var word [4]byte
	if _, err := io.ReadFull(src, word[:]); err != nil {
		return m, torn(err, io.EOF)
	}
	// Before version 0.15 nothing precedes the length.
	if length := binary.LittleEndian.Uint32(word[:]); length == math.MaxUint32 {
		if _, err := io.ReadFull(src, word[:]); err != nil {
			return m, torn(err, nil)
		}
	} else if bytes.HasPrefix(word[:], []byte("ARRO")) || bytes.HasPrefix(word[:], []byte("FEA1")) {
		return m, fmt.Errorf("%w: it is an Arrow file, and no stream", columnar.ErrUnsupported)
	}
	length := int64(int32(binary.LittleEndian.Uint32(word[:])))
	switch {
	case length == 0:
		return m, io.EOF
	case length < 0:
		return m, fmt.Errorf("%w: the length of a message is wrong", columnar.ErrCorrupt)
	case length > min(r.limit, maxMetadata):
		return m, r.exceeds()
	}
	raw, err := r.read(src, length, nil)
	if err != nil {
		return m, err
	}
	t := root(raw)
	if v := t.number(0, 2, 0); t.b.err == nil && v != version4 && v != version5 {
		return m, fmt.Errorf("%w: metadata of a version other than 4 and 5", columnar.ErrUnsupported)
	}
	m = message{int(t.number(1, 1, 0)), t.below(2), t.number(3, 8, 0)}
	if t.b.err == nil && m.body < 0 {
		t.b.fail("a body has a negative length")
	}
	return m, t.b.err
}

// torn returns the error for a message that ends too early. whole is that for one which
// has not begun.
func torn(err, whole error) error {
	if err == io.EOF && whole != nil {
		return whole
	}
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends in the middle of a message", columnar.ErrCorrupt)
	}
	return err
}

// exceeds returns the error for what needs too much memory.
func (r *Reader) exceeds() error {
	return fmt.Errorf("%w: it needs more memory than the limit of %d MiB: write it in smaller batches", columnar.ErrUnsupported, r.limit>>20)
}

// read reads some bytes, into the memory of others. A stream may say that it has more
// than it has, so memory grows with what arrives.
func (r *Reader) read(src io.Reader, n int64, into []byte) ([]byte, error) {
	if n > r.limit {
		return nil, r.exceeds()
	}
	into = into[:0]
	for int64(len(into)) < n {
		step := int(min(n-int64(len(into)), int64(max(len(into), 1<<20))))
		into = slices.Grow(into, step)
		m, err := io.ReadFull(src, into[len(into):len(into)+step])
		if into = into[:len(into)+m]; err != nil {
			return nil, torn(err, nil)
		}
	}
	return into, nil
}

// decode reads the body of a record batch, and returns its columns.
func (r *Reader) decode(m message, src io.Reader) (*columnar.Batch, error) {
	var err error
	if m.body > r.limit-r.held {
		return nil, r.exceeds()
	}
	if r.body, err = r.read(src, m.body, r.body); err != nil {
		return nil, err
	}
	d := newDecoder(r, m.header, r.body)
	out := &columnar.Batch{Rows: d.rows, Columns: make([]columnar.Column, 0, len(r.schema.Fields))}
	for _, l := range r.fields {
		if err := d.field(l, nil, &out.Columns); err != nil {
			return nil, fmt.Errorf("column %q: %w", l.field.Name, err)
		}
	}
	return out, d.end()
}

// addDictionary reads a dictionary, or more values of one.
func (r *Reader) addDictionary(m message, src io.Reader) error {
	id, delta := m.header.number(0, 8, 0), m.header.number(2, 1, 0) != 0
	d := r.dictionaries[id]
	switch {
	case m.header.b.err != nil:
		return m.header.b.err
	case d == nil:
		return fmt.Errorf("%w: no column has the dictionary of number %d", columnar.ErrCorrupt, id)
	case d.column != nil && !delta && r.file != nil:
		return fmt.Errorf("%w: the dictionary of column %q comes twice, which only streams may", columnar.ErrCorrupt, d.layout.field.Name)
	case !delta:
		r.held, d.bytes, d.column = r.held-d.bytes, 0, nil
	}
	if m.body > r.limit-r.held {
		return r.exceeds()
	}
	body, err := r.read(src, m.body, nil)
	if err != nil {
		return err
	}
	x := newDecoder(r, m.header.below(1), body)
	var list []columnar.Column
	if err = x.field(d.layout, nil, &list); err == nil {
		err = x.end()
	}
	if err != nil {
		return fmt.Errorf("of column %q: %w", d.layout.field.Name, err)
	}
	used := r.limit - r.held - x.room
	r.held, d.bytes = r.held+used, d.bytes+used
	if d.column == nil {
		d.column = &list[0]
		return nil
	}
	d.extend(&list[0])
	return nil
}

// extend adds values, in place: batches before have shorter slices of the same memory.
// A null of a dictionary stays one here, and is resolved by the columns.
func (d *dictionary) extend(more *columnar.Column) {
	c := *d.column
	if c.Valid != nil || more.Valid != nil {
		for i := range more.Rows {
			c.Valid = setBit(c.Valid, c.Rows, i, more.IsValid(i))
		}
	}
	if c.Offsets != nil {
		first, base := c.Offsets[c.Rows], more.Offsets[0]
		for _, o := range more.Offsets[1:] {
			c.Offsets = append(c.Offsets, first+o-base)
		}
		if first < int64(len(c.Data)) { // what comes after the last value
			c.Data = c.Data[:first:first]
		}
		more.Data = more.Data[base:more.Offsets[more.Rows]]
	}
	c.Data = append(c.Data, more.Data...)
	c.Rows += more.Rows
	d.column = &c
}

// setBit appends bit i after those of some rows. A bitmap of nil has ones.
func setBit(valid []byte, rows, i int, bit bool) []byte {
	if at := rows + i; valid == nil {
		valid = bytes.Repeat([]byte{0xff}, (at+7)/8)
	} else if at>>3 < len(valid) {
		valid = valid[:at>>3+1]
	}
	at := rows + i
	if at>>3 == len(valid) {
		valid = append(valid, 0)
	}
	valid[at>>3] &^= 1 << (at & 7)
	if bit {
		valid[at>>3] |= 1 << (at & 7)
	}
	return valid
}
