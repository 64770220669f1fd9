// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"varve.dev/zarr/internal/kerchunk"
	"varve.dev/zarr/virtual/scan"

	// So that the package is all that a program has to import.
	_ "varve.dev/zarr/virtual"
)

func init() { kerchunk.RegisterParquet(Format{}) }

// Format reads and writes files of records. It is a [kerchunk.RecordFormat].
type Format struct{}

// Decode implements [kerchunk.RecordFormat]. The memory for pages and records is bounded
// by l.Generated.
func (Format) Decode(file []byte, most int, l kerchunk.Limits) (*kerchunk.Records, error) {
	r, err := decode(file, most, l)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	return r, nil
}

// Append implements [kerchunk.RecordFormat].
func (Format) Append(dst []byte, r *kerchunk.Records) ([]byte, error) {
	out, err := appendFile(dst, r)
	if err != nil {
		return dst, fmt.Errorf("parquet: %w", err)
	}
	return out, nil
}

const (
	magic = "PAR1"
	// tail is the size of what follows the footer: its length and the magic.
	tail = 4 + len(magic)
	// mostFooter bounds the footer in bytes.
	mostFooter = 1 << 20
)

// footer is the metadata of a file, and the part of the file with the pages.
type footer struct {
	format.FileMetaData
	pages  []byte // from the start of the file on
	unread int64  // bytes of pages that may still be read
}

// spend counts bytes of a page that is read. No two columns share bytes of pages, so the
// time for pages is bounded by the size of the file, also if they have no rows.
func (f *footer) spend(n int) error {
	if f.unread -= int64(n); f.unread < 0 {
		return scan.Corruptf("columns or row groups share bytes of pages")
	}
	return nil
}

// readFooter reads the metadata at the end of a file.
func readFooter(file []byte) (*footer, error) {
	if len(file) < len(magic)+tail || string(file[:4]) != magic || string(file[len(file)-4:]) != magic {
		return nil, scan.Corruptf("%d bytes that do not begin and end with %q", len(file), magic)
	}
	end := len(file) - tail
	n := binary.LittleEndian.Uint32(file[end:])
	switch {
	case int64(n) > int64(end-len(magic)):
		return nil, scan.Corruptf("a footer of %d bytes in a file of %d", n, len(file))
	case n > mostFooter:
		return nil, scan.Unsupportedf("a footer of %d bytes; at most %d are read", n, mostFooter)
	}
	f := &footer{pages: file[:end-int(n)], unread: int64(end) - int64(n)}
	if _, err := unmarshal(file[end-int(n):end], &f.FileMetaData); err != nil {
		return nil, err
	}
	// An encrypted footer has the magic PARE. With a plain one, columns may be encrypted.
	if f.EncryptionAlgorithm.Value != nil {
		return nil, scan.Unsupportedf("an encrypted file")
	}
	return f, nil
}

// field returns a column of the table, or nil. The table must be flat.
func (f *footer) field(name string) (*format.SchemaElement, error) {
	// The first element is the root. A table is flat if all others are its children.
	if len(f.Schema) == 0 || int64(f.Schema[0].NumChildren.V) != int64(len(f.Schema)-1) {
		return nil, scan.Unsupportedf("a table that is not flat")
	}
	var found *format.SchemaElement
	for i := range f.Schema[1:] {
		if e := &f.Schema[i+1]; e.Name == name {
			if found != nil {
				return nil, scan.Corruptf("two columns %q", name)
			}
			found = e
		}
	}
	if found != nil && found.RepetitionType.V == format.Repeated {
		return nil, scan.Unsupportedf("column %q has lists", name)
	}
	return found, nil
}

const (
	// mostDepth bounds the nesting of structures; those of files are at most seven deep.
	mostDepth = 16
	// mostElements bounds the elements of all lists of a structure.
	mostElements = 1 << 14
)

// unmarshal decodes a structure of Thrift's compact protocol at the start of data into v.
// It returns the length of the structure in bytes.
//
// The library trusts the length of a list and follows any nesting. So the bytes are
// walked through first.
func unmarshal(data []byte, v any) (int, error) {
	w := walker{data: data}
	if err := w.structure(0); err != nil {
		return 0, err
	}
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), data[:w.at], v); err != nil {
		return 0, scan.Corruptf("%v", err)
	}
	return w.at, nil
}

// walker goes through a structure without decoding it.
type walker struct {
	data     []byte
	at       int
	elements int
}

func (w *walker) errEnd() error {
	return scan.Corruptf("a structure goes beyond its end at byte %d", w.at)
}

// skip goes over n bytes.
func (w *walker) skip(n uint64) error {
	if n > uint64(len(w.data)-w.at) {
		return w.errEnd()
	}
	w.at += int(n)
	return nil
}

func (w *walker) byte() (byte, error) {
	if w.at == len(w.data) {
		return 0, w.errEnd()
	}
	w.at++
	return w.data[w.at-1], nil
}

func (w *walker) varint() (uint64, error) {
	x, n := binary.Uvarint(w.data[w.at:])
	if n <= 0 {
		return 0, w.errEnd()
	}
	w.at += n
	return x, nil
}

// structure goes over the fields of a structure.
func (w *walker) structure(depth int) error {
	if depth > mostDepth {
		return scan.Unsupportedf("structures more than %d deep", mostDepth)
	}
	for {
		head, err := w.byte()
		if err != nil || head == 0 {
			return err
		}
		// The upper bits are the difference to the number of the field before, if it is
		// small.
		if head>>4 == 0 { // the number of the field follows
			if _, err := w.varint(); err != nil {
				return err
			}
		}
		// A boolean field has its value in its type.
		if t := thrift.Type(head & 15); t != thrift.TRUE && t != thrift.FALSE {
			if err := w.value(t, depth); err != nil {
				return err
			}
		}
	}
}

// value goes over a value of a type.
func (w *walker) value(t thrift.Type, depth int) error {
	switch t {
	case thrift.TRUE, thrift.FALSE, thrift.I8:
		// A boolean in a list takes a byte, unlike one in a structure.
		return w.skip(1)
	case thrift.I16, thrift.I32, thrift.I64:
		_, err := w.varint()
		return err
	case thrift.DOUBLE:
		return w.skip(8)
	case thrift.UUID:
		return w.skip(16)
	case thrift.BINARY:
		n, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case thrift.LIST, thrift.SET:
		return w.list(depth)
	case thrift.STRUCT:
		return w.structure(depth + 1)
	}
	// Maps are the only other type, and the metadata of Parquet have none.
	return scan.Unsupportedf("a structure with a value of type %d", t)
}

// list goes over the elements of a list.
func (w *walker) list(depth int) error {
	head, err := w.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	// The length of longer lists follows as a varint.
	if n == 15 {
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	if n > mostElements || w.elements+int(n) > mostElements {
		return scan.Unsupportedf("a structure with more than %d elements in its lists", mostElements)
	}
	if depth > mostDepth {
		return scan.Unsupportedf("structures more than %d deep", mostDepth)
	}
	w.elements += int(n)
	for range n {
		if err := w.value(thrift.Type(head&15), depth+1); err != nil {
			return err
		}
	}
	return nil
}
