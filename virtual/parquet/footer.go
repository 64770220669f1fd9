// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"encoding/binary"

	"github.com/parquet-go/parquet-go/format"
	"varve.dev/zarr/virtual/scan"
)

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
	if f.EncryptionAlgorithm.Value != nil {
		return nil, scan.Unsupportedf("an encrypted file")
	}
	return f, nil
}

// field returns a column of the table, or nil. The table must be flat.
func (f *footer) field(name string) (*format.SchemaElement, error) {
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
