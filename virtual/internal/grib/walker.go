// SPDX-License-Identifier: Apache-2.0

package grib

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"varve.dev/zarr/virtual/scan"
)

const (
	headBytes    = 16 // of section 0
	endBytes     = 4  // of section 8
	sectionBytes = 5  // length and number of a section
	// mostSection are the bytes of a section that are read. Lists that follow the
	// templates are longer.
	mostSection = 256
	// mostBetween are the bytes between messages, and before the first one, that are
	// searched for the next one.
	mostBetween = 64 << 10
)

// message is what fields are read from: the sections of a message that apply to the next
// field. Sections may be cut.
type message struct {
	at, size   int64 // in the file
	discipline byte
	field      int // number of the field in the message
	identity   []byte
	grid       []byte
	product    []byte
	packing    []byte
}

// walker walks through the messages of a file.
type walker struct {
	file  *scan.File
	visit func(m *message) error // is called for every field
	old   int                    // messages of edition 1
	first int64                  // where the first of these is
	// skipped are the damaged messages that were passed over.
	skipped []scan.Omission
}

// refusal says why messages of edition 1 are refused.
func (w *walker) refusal() error {
	return scan.Unsupportedf("grib: %d messages of edition 1, the first at %d", w.old, w.first)
}

func (w *walker) walk() error {
	at, err := w.next(0)
	for err == nil && at >= 0 {
		var size int64
		if size, err = w.message(at); err == nil {
			at, err = w.next(at + size)
		}
	}
	return err
}

// find returns where the first message begins in some bytes, -1 if there is none. The
// headings of bulletins may have the word GRIB, too.
func find(b []byte) int {
	for at := 0; ; at += len("GRIB") {
		i := bytes.Index(b[at:], []byte("GRIB"))
		if at += i; i < 0 || len(b)-at < headBytes {
			return -1
		}
		if b[at+7] == 1 || b[at+7] == 2 {
			return at
		}
	}
}

// next returns where the next message begins, -1 if there is none. Bulletins have their
// headings before messages, and tapes are padded.
func (w *walker) next(at int64) (int64, error) {
	left := w.file.Size() - at
	if left < headBytes {
		return -1, nil
	}
	b, err := w.file.Bytes(at, 4)
	if err != nil || string(b) == "GRIB" {
		return at, err
	}
	if b, err = w.file.Bytes(at, min(left, mostBetween)); err != nil {
		return 0, err
	}
	if i := find(b); i >= 0 {
		w.skip(at, b[:i])
		return at + int64(i), nil
	}
	if left > mostBetween {
		return 0, scan.Corruptf("grib: %d bytes from %d on are no message", mostBetween, at)
	}
	w.skip(at, b)
	return -1, nil
}

// skip passes over bytes at an offset that are no message. If they end like one, its
// beginning is damaged.
func (w *walker) skip(at int64, b []byte) {
	if bytes.Contains(b, []byte("7777")) {
		w.skipped = append(w.skipped, scan.Omission{
			Path: fmt.Sprintf("at %d", at), Reason: scan.Corruptf("grib: %d bytes which end like a message, and do not begin like one", len(b)),
		})
	}
}

// message reads the headers of a message (section 0) and returns its size.
func (w *walker) message(at int64) (int64, error) {
	head, err := w.file.Bytes(at, headBytes)
	if err != nil {
		return 0, err
	}
	size := uint64(0)
	switch head[7] {
	case 1:
		size = uint64(head[4])<<16 | uint64(head[5])<<8 | uint64(head[6])
		if w.old++; w.old == 1 {
			w.first = at
		}
	case 2:
		size = binary.BigEndian.Uint64(head[8:])
	default:
		return 0, scan.Corruptf("grib: the message at %d has the edition %d", at, head[7])
	}
	if size < headBytes+endBytes || size > uint64(w.file.Size()-at) {
		return 0, scan.Corruptf("grib: the message at %d has %d bytes, in a file of %d", at, size, w.file.Size())
	}
	end, err := w.file.Bytes(at+int64(size)-endBytes, endBytes)
	if err != nil {
		return 0, err
	}
	if string(end) != "7777" {
		return 0, scan.Corruptf("grib: the message at %d ends with %q", at, end)
	}
	if head[7] == 2 {
		err = w.sections(&message{at: at, size: int64(size), discipline: head[6]})
	}
	return int64(size), err
}

// sections reads sections 1 to 6 of a message. A field ends with section 7.
func (w *walker) sections(m *message) error {
	at, end := m.at+headBytes, m.at+m.size-endBytes
	for at < end {
		head, err := w.file.Bytes(at, sectionBytes)
		if err != nil {
			return err
		}
		n := int64(binary.BigEndian.Uint32(head))
		if n < sectionBytes || n > end-at {
			return scan.Corruptf("grib: section %d at %d has %d bytes, the message ends at %d", head[4], at, n, end)
		}
		if err := w.section(m, head[4], at, min(n, mostSection)); err != nil {
			return err
		}
		at += n
	}
	if m.field == 0 {
		return scan.Corruptf("grib: the message at %d has no field", m.at)
	}
	return nil
}

func (w *walker) section(m *message, number byte, at, n int64) (err error) {
	switch number {
	case 1:
		m.identity, err = w.file.Bytes(at, n)
	case 3:
		m.grid, err = w.file.Bytes(at, n)
	case 4:
		m.product, err = w.file.Bytes(at, n)
	case 5:
		m.packing, err = w.file.Bytes(at, n)
	case 2, 6:
	case 7:
		if err = m.check(); err == nil {
			err = w.visit(m)
		}
		m.field++
	default:
		err = scan.Corruptf("grib: a section %d at %d", number, at)
	}
	return err
}

// check refuses fields without a section, or with too short ones.
func (m *message) check() error {
	for _, s := range []struct {
		number, least int
		bytes         []byte
	}{{1, 21, m.identity}, {3, 14, m.grid}, {4, 11, m.product}, {5, 11, m.packing}} {
		if len(s.bytes) < s.least {
			return m.corruptf("section %d has %d bytes", s.number, len(s.bytes))
		}
	}
	return nil
}

// corruptf returns a [scan.ErrCorrupt] that names the field.
func (m *message) corruptf(format string, args ...any) error {
	return scan.Corruptf("grib: field %d of the message at %d: %s", m.field, m.at, fmt.Sprintf(format, args...))
}

// unsupportedf returns a [scan.ErrUnsupported] that names the field.
func (m *message) unsupportedf(format string, args ...any) error {
	return scan.Unsupportedf("grib: field %d of the message at %d: %s", m.field, m.at, fmt.Sprintf(format, args...))
}
