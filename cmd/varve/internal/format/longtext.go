// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bufio"
	"bytes"
	"unicode/utf8"
	"unsafe"

	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/strictjson"
)

// longText is the number of bytes of a text that are written at a time. Control
// characters take six times as many bytes in JSON, and a text may be as long as a block.
const longText = 64 << 10

// isLong reports whether an element is a text that is written in parts.
func isLong(t dtype.Type, elem []byte) bool {
	return t.Kind() == dtype.KindString && len(elem) > longText
}

// writeLongJSON writes a text as a JSON string, part by part.
func writeLongJSON(w *bufio.Writer, text []byte) error {
	var spelled, safe []byte // reused for all parts
	w.WriteByte('"')         // the error of a bufio.Writer stays until the next call
	for len(text) > 0 {
		n := partOf(text)
		if part := text[:n]; utf8.Valid(part) {
			spelled = strictjson.AppendQuote(spelled[:0], unsafe.String(unsafe.SliceData(part), n))
		} else {
			spelled = dtype.String.AppendJSON(spelled[:0], part)
		}
		safe = output.AppendSafe(safe[:0], spelled[1:len(spelled)-1])
		if _, err := w.Write(safe); err != nil {
			return err
		}
		text = text[n:]
	}
	return w.WriteByte('"')
}

// writeLongCell writes a text as a cell of CSV, part by part, with the quotes of
// appendCell.
func writeLongCell(w *bufio.Writer, text []byte) error {
	if !needsQuotes(text) {
		_, err := w.Write(text)
		return err
	}
	w.WriteByte('"') // the error of a bufio.Writer stays until the next call
	for len(text) > 0 {
		n := partOf(text)
		if _, err := w.Write(bytes.ReplaceAll(text[:n], []byte{'"'}, []byte(`""`))); err != nil {
			return err
		}
		text = text[n:]
	}
	return w.WriteByte('"')
}

// partOf returns the number of bytes of the next part. It ends between characters if the
// text is valid UTF-8.
func partOf(text []byte) int {
	if len(text) <= longText {
		return len(text)
	}
	for n := longText; n > longText-utf8.UTFMax; n-- {
		if utf8.RuneStart(text[n]) {
			return n
		}
	}
	return longText
}
