// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"encoding/binary"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"varve.dev/zarr/virtual/scan"
)

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
	return scan.Unsupportedf("a structure with a value of type %d", t)
}

// list goes over the elements of a list.
func (w *walker) list(depth int) error {
	head, err := w.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
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
