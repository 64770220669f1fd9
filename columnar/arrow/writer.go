// SPDX-License-Identifier: Apache-2.0

package arrow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"
	"varve.dev/zarr/columnar"
)

// alignment is that of bodies and buffers in a file, in bytes.
const alignment = 64

var zeros [alignment]byte

// Writer writes a stream or a file in the IPC format of Arrow. It implements
// [columnar.Writer].
type Writer struct {
	w      io.Writer
	schema *columnar.Schema
	codec  Compression
	file   bool
	at     int64 // bytes that were written
	blocks []block
	err    error
}

// NewStreamWriter writes the schema of a stream. Streams of pipes are best not compressed.
// Types that Arrow lacks, or that [columnar.Type] does not permit, are an error.
func NewStreamWriter(w io.Writer, s *columnar.Schema, c Compression) (*Writer, error) {
	return begin(&Writer{w: w, schema: s, codec: c})
}

// NewFileWriter is [NewStreamWriter] for a file: what it writes is complete, and can be
// read, after Close.
func NewFileWriter(w io.Writer, s *columnar.Schema, c Compression) (*Writer, error) {
	return begin(&Writer{w: w, schema: s, codec: c, file: true})
}

func begin(w *Writer) (*Writer, error) {
	for i := range w.schema.Fields {
		if err := checkField(&w.schema.Fields[i], false); err != nil {
			return nil, fmt.Errorf("column %q: %w", w.schema.Fields[i].Name, err)
		}
	}
	if w.file {
		w.write([]byte(magic + "\x00\x00"))
	}
	b := builder{flatbuffers.NewBuilder(1 << 10)}
	w.message(b, headerSchema, b.schema(w.schema), 0)
	return w, w.err
}

// checkField returns an error for a type that is not written.
func checkField(f *columnar.Field, below bool) error {
	switch t := f.Type; {
	case t.Kind == columnar.List:
		if t.Element == nil || below {
			return fmt.Errorf("%w: a list needs elements that are no lists", columnar.ErrUnsupported)
		}
		return checkField(t.Element, true)
	case t.Kind < columnar.Bool || t.Kind > columnar.List:
		return fmt.Errorf("%w: the type %v", columnar.ErrUnsupported, t)
	case t.Unit > columnar.Nanosecond:
		return fmt.Errorf("%w: the unit of number %d", columnar.ErrUnsupported, t.Unit)
	case t.Kind == columnar.Decimal && (t.Precision < 1 || t.Precision > 38), t.Kind == columnar.FixedBinary && (t.Width < 0 || t.Width > math.MaxInt32):
		return fmt.Errorf("%w: the type %v", columnar.ErrUnsupported, t)
	}
	return nil
}

// write writes some bytes, unless there was an error before.
func (w *Writer) write(p []byte) {
	if w.err == nil && len(p) > 0 {
		var n int
		n, w.err = w.w.Write(p)
		w.at += int64(n)
	}
}

// pad writes zeros up to a multiple of the alignment after some bytes.
func (w *Writer) pad(n int64) { w.write(zeros[:padding(n)]) }

func padding(n int64) int64 { return -n & (alignment - 1) }

// message writes the metadata of a message with a body of some bytes.
func (w *Writer) message(b builder, kind byte, header flatbuffers.UOffsetT, body int64) {
	b.StartObject(5)
	b.PrependInt16Slot(0, version5, -1)
	b.PrependByteSlot(1, kind, 0)
	b.PrependUOffsetTSlot(2, header, 0)
	b.PrependInt64Slot(3, body, -1)
	b.Finish(b.EndObject())
	raw := b.FinishedBytes()
	// The length has the bytes up to the body.
	length := int64(len(raw)) + padding(w.at+8+int64(len(raw)))
	if length > math.MaxInt32 {
		w.err = fmt.Errorf("%w: the metadata has more than 2 GiB", columnar.ErrUnsupported)
	}
	head := []byte{0xff, 0xff, 0xff, 0xff}
	w.write(binary.LittleEndian.AppendUint32(head, uint32(length)))
	w.write(raw)
	w.pad(w.at)
}

// Write writes a record batch. It returns an error, and writes nothing, if the columns
// are not those of the schema, if a field that is not nullable has nulls, or if the
// elements of a text or a list have more than 2³¹ - 1 bytes or elements.
func (w *Writer) Write(b *columnar.Batch) error {
	if w.err != nil {
		return w.err
	}
	e := encoder{codec: w.codec}
	if len(b.Columns) != len(w.schema.Fields) {
		return fmt.Errorf("record batch %d has another number of columns than the schema: %d", len(w.blocks), len(b.Columns))
	}
	for i := range b.Columns {
		f := &w.schema.Fields[i]
		if b.Columns[i].Rows != b.Rows {
			return fmt.Errorf("record batch %d: column %q has another number of rows: %d", len(w.blocks), f.Name, b.Columns[i].Rows)
		}
		if err := e.column(f, &b.Columns[i], 0, b.Rows); err != nil {
			return fmt.Errorf("record batch %d: column %q: %w", len(w.blocks), f.Name, err)
		}
	}
	at := w.at
	w.message(e.metadata(int64(b.Rows)))
	start := w.at
	for _, p := range e.buffers {
		w.write(p)
		w.pad(int64(len(p)))
	}
	w.blocks = append(w.blocks, block{at, start - at, w.at - start})
	return w.err
}

// Close writes the end of a stream, and the footer of a file. It does not close the file.
func (w *Writer) Close() error {
	w.write([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	if w.file {
		b := builder{flatbuffers.NewBuilder(1 << 10)}
		schema := b.schema(w.schema)
		b.StartVector(24, 0, 8)
		dictionaries := b.EndVector(0)
		b.StartVector(24, len(w.blocks), 8)
		for _, x := range slices.Backward(w.blocks) {
			b.Prep(8, 24)
			b.PrependInt64(x.body)
			b.Pad(4)
			b.PrependInt32(int32(x.metadata))
			b.PrependInt64(x.at)
		}
		blocks := b.EndVector(len(w.blocks))
		b.StartObject(5)
		b.PrependInt16Slot(0, version5, -1)
		b.PrependUOffsetTSlot(1, schema, 0)
		b.PrependUOffsetTSlot(2, dictionaries, 0)
		b.PrependUOffsetTSlot(3, blocks, 0)
		b.Finish(b.EndObject())
		raw := b.FinishedBytes()
		w.write(raw)
		w.write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(raw))), magic...))
	}
	err := w.err
	if err == nil {
		w.err = errors.New("the table is closed")
	}
	return err
}

// encoder makes buffers of columns.
type encoder struct {
	codec   Compression
	nodes   [][2]int64 // rows and nulls
	buffers [][]byte
}

// metadata returns the metadata of the record batch, and the bytes of its body.
func (e *encoder) metadata(rows int64) (b builder, kind byte, header flatbuffers.UOffsetT, body int64) {
	b = builder{flatbuffers.NewBuilder(1 << 10)}
	places := make([][2]int64, len(e.buffers))
	for i, p := range e.buffers {
		places[i] = [2]int64{body, int64(len(p))}
		body += int64(len(p)) + padding(int64(len(p)))
	}
	structures := func(list [][2]int64) flatbuffers.UOffsetT {
		b.StartVector(16, len(list), 8)
		for _, x := range slices.Backward(list) {
			b.PrependInt64(x[1])
			b.PrependInt64(x[0])
		}
		return b.EndVector(len(list))
	}
	nodes, buffers := structures(e.nodes), structures(places)
	compression := flatbuffers.UOffsetT(0)
	if e.codec != Uncompressed {
		b.StartObject(2)
		b.PrependByteSlot(0, byte(e.codec-LZ4), 0xff)
		compression = b.EndObject()
	}
	b.StartObject(5)
	b.PrependInt64Slot(0, rows, -1)
	b.PrependUOffsetTSlot(1, nodes, 0)
	b.PrependUOffsetTSlot(2, buffers, 0)
	b.PrependUOffsetTSlot(3, compression, 0)
	return b, headerBatch, b.EndObject(), body
}

// add adds a buffer.
func (e *encoder) add(raw []byte) error {
	p, err := compress(e.codec, raw)
	e.buffers = append(e.buffers, p)
	return err
}

// errColumn means that a column contradicts itself or its type.
var errColumn = errors.New("the lengths of its parts do not agree")

// column adds the buffers of rows of a column.
func (e *encoder) column(f *columnar.Field, c *columnar.Column, from, to int) error {
	if from < 0 || from > to || to > c.Rows || c.Valid != nil && len(c.Valid) < (c.Rows+7)/8 {
		return errColumn
	}
	if c.Dictionary != nil {
		plain, err := expand(f.Type, c, from, to)
		if err != nil {
			return err
		}
		c, from, to = plain, 0, plain.Rows
	}
	if err := e.validity(f, c, from, to); err != nil {
		return err
	}
	switch t := f.Type; t.Kind {
	case columnar.String, columnar.Binary, columnar.List:
		return e.variable(t, c, from, to)
	case columnar.Bool:
		if len(c.Data) != c.Rows {
			return errColumn
		}
		packed := make([]byte, (to-from+7)/8)
		for i, b := range c.Data[from:to] {
			if b != 0 {
				packed[i>>3] |= 1 << (i & 7)
			}
		}
		return e.add(packed)
	case columnar.Time:
		if len(c.Data) == 8*c.Rows && timeWidth(t.Unit) == 4 {
			return e.times(c, from, to)
		}
	}
	width := f.Type.Bytes()
	if len(c.Data) != c.Rows*width {
		return errColumn
	}
	return e.add(c.Data[from*width : to*width])
}

// validity adds the rows of a field, and the bitmap of those that have a value.
func (e *encoder) validity(f *columnar.Field, c *columnar.Column, from, to int) error {
	n, nulls := to-from, 0
	var valid []byte
	for i := from; c.Valid != nil && i < to; i++ {
		if !c.IsValid(i) {
			nulls++
		}
	}
	if nulls > 0 {
		if !f.Nullable {
			return fmt.Errorf("it has nulls, and its field is not nullable; nulls: %d", nulls)
		}
		valid = make([]byte, (n+7)/8)
		for i := range n {
			if c.IsValid(from + i) {
				valid[i>>3] |= 1 << (i & 7)
			}
		}
	}
	e.nodes = append(e.nodes, [2]int64{int64(n), int64(nulls)})
	return e.add(valid)
}

// variable adds the offsets of elements of any length, which begin with 0, and the
// elements.
func (e *encoder) variable(t columnar.Type, c *columnar.Column, from, to int) error {
	if len(c.Offsets) != c.Rows+1 {
		return errColumn
	}
	first, last, end := c.Offsets[from], c.Offsets[to], int64(len(c.Data))
	if t.Kind == columnar.List {
		if c.Elements == nil {
			return errColumn
		}
		end = int64(c.Elements.Rows)
	}
	if first < 0 || last > end || last < first {
		return errColumn
	}
	if last-first > math.MaxInt32 {
		return fmt.Errorf("%w: the elements of a batch may have 2³¹ - 1 bytes or elements in all: write fewer rows at a time; they have: %d", columnar.ErrUnsupported, last-first)
	}
	raw, before := make([]byte, 0, 4*(to-from+1)), first
	for _, o := range c.Offsets[from : to+1] {
		if o < before || o > last {
			return errColumn
		}
		raw, before = binary.LittleEndian.AppendUint32(raw, uint32(o-first)), o
	}
	if err := e.add(raw); err != nil {
		return err
	}
	if t.Kind == columnar.List {
		return e.column(t.Element, c.Elements, int(first), int(last))
	}
	return e.add(c.Data[first:last])
}

// times adds coarse times of day, which have 4 bytes.
func (e *encoder) times(c *columnar.Column, from, to int) error {
	raw := make([]byte, 0, 4*(to-from))
	for i := from; i < to; i++ {
		n := int64(binary.LittleEndian.Uint64(c.Data[8*i:]))
		if !c.IsValid(i) {
			n = 0
		}
		if n < 0 || n > math.MaxInt32 {
			return fmt.Errorf("row %d is no time of a day", i)
		}
		raw = binary.LittleEndian.AppendUint32(raw, uint32(n))
	}
	return e.add(raw)
}

// expand returns rows of a column with a value in each row.
func expand(t columnar.Type, c *columnar.Column, from, to int) (*columnar.Column, error) {
	d, width := c.Dictionary, t.Bytes()
	variable := t.Kind == columnar.String || t.Kind == columnar.Binary
	if len(c.Index) != c.Rows || t.Kind == columnar.List || variable && len(d.Offsets) != d.Rows+1 || !variable && len(d.Data) != d.Rows*width {
		return nil, errColumn
	}
	out := &columnar.Column{Rows: to - from, Valid: make([]byte, (to-from+7)/8)}
	if variable {
		out.Offsets = make([]int64, 1, to-from+1)
	}
	for i := from; i < to; i++ {
		k := int(c.Index[i])
		valid := c.IsValid(i)
		if valid {
			out.Valid[(i-from)>>3] |= 1 << ((i - from) & 7)
		}
		switch {
		case valid && k >= d.Rows:
			return nil, errColumn
		case !variable && valid:
			out.Data = append(out.Data, d.Data[k*width:(k+1)*width]...)
		case !variable:
			out.Data = append(out.Data, make([]byte, width)...)
		case valid:
			a, b := d.Offsets[k], d.Offsets[k+1]
			if a < 0 || b < a || b > int64(len(d.Data)) {
				return nil, errColumn
			}
			out.Data = append(out.Data, d.Data[a:b]...)
		}
		if variable {
			out.Offsets = append(out.Offsets, int64(len(out.Data)))
		}
	}
	return out, nil
}
