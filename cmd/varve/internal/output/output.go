// SPDX-License-Identifier: Apache-2.0

// Package output writes JSON documents, and other output, to standard output.
//
// [WriteJSON] writes a struct member by member, so a document may be longer than memory.
// [Withheld] holds output back until it is complete. Characters that could take over a
// terminal are escaped.
package output

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"unicode/utf8"

	"varve.dev/zarr/internal/strictjson"
)

// Buffer calls print with a buffered writer to out. It flushes the buffer even if print
// fails.
func Buffer(out io.Writer, print func(w *bufio.Writer) error) error {
	w := bufio.NewWriterSize(out, 1<<16)
	return cmp.Or(print(w), w.Flush())
}

// Withheld calls print with a writer to out that holds back up to 16 MiB. A shorter
// document appears only when it is complete, and not at all if print fails. A longer
// one appears as it is written, so an error leaves it truncated.
func Withheld(out io.Writer, print func(w *bufio.Writer) error) error {
	h := &holder{out: out}
	w := bufio.NewWriterSize(h, 1<<16)
	if err := cmp.Or(print(w), w.Flush()); err != nil {
		return err
	}
	return h.flush()
}

// mostWithheld bounds the bytes of a document that are held back.
const mostWithheld = 16 << 20

// holder buffers up to mostWithheld bytes, and then passes everything on.
type holder struct {
	out    io.Writer
	held   []byte
	isOpen bool // everything is passed on
}

func (h *holder) Write(p []byte) (int, error) {
	if !h.isOpen && len(h.held)+len(p) <= mostWithheld {
		h.held = append(h.held, p...)
		return len(p), nil
	}
	if err := h.flush(); err != nil {
		return 0, err
	}
	return h.out.Write(p)
}

// flush passes on the bytes that are held.
func (h *holder) flush() error {
	_, err := h.out.Write(h.held)
	h.held, h.isOpen = nil, true
	return err
}

// WriteJSON writes v as a document in canonical layout, with more members after those of
// v.
func WriteJSON(w io.Writer, v any, more ...Member) error {
	b := bufio.NewWriterSize(NewScreen(w), 1<<16)
	var err error
	if object := reflect.Indirect(reflect.ValueOf(v)); object.Kind() == reflect.Struct {
		err = writeMembers(b, object, more...)
	} else {
		err = writeText(b, v, more...)
	}
	if err != nil {
		return err // a short document has not appeared at all
	}
	return b.Flush()
}

// writeText is WriteJSON for a map or a list, which it encodes as a whole first.
func writeText(w *bufio.Writer, v any, more ...Member) error {
	text, err := Encoded(v)
	if err != nil {
		return err
	}
	for _, m := range more {
		if text, err = m.appendTo(text); err != nil {
			return err
		}
	}
	if err := strictjson.WriteIndent(w, text, 0); err != nil {
		return err
	}
	return w.WriteByte('\n')
}

// Text returns a text or a list of numbers as JSON.
func Text(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null") // neither kind of value fails
	}
	return b
}

// Present returns a pointer to s, or nil for the empty text.
func Present(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Safe returns a document with the escapes of [strictjson.AppendSafe], or document itself
// if it needs none.
func Safe(document []byte) []byte {
	if !slices.ContainsFunc(document, func(c byte) bool { return c >= 0x7f }) {
		return document
	}
	return strictjson.AppendSafe(nil, document)
}

// screen passes lines of text on to a terminal and escapes control characters.
type screen struct {
	out        io.Writer
	incomplete []byte // the first bytes of an incomplete character
	text       []byte
}

// Write implements [io.Writer].
func (s *screen) Write(p []byte) (int, error) {
	if len(s.incomplete) == 0 && isPlainText(p) {
		return s.out.Write(p)
	}
	s.incomplete = append(s.incomplete, p...)
	s.text = s.text[:0]
	i := 0
	for i < len(s.incomplete) && utf8.FullRune(s.incomplete[i:]) {
		r, n := utf8.DecodeRune(s.incomplete[i:])
		switch {
		case r < ' ' && r != '\n' && r != '\t', strictjson.IsUnsafe(r):
			s.text = fmt.Appendf(s.text, `\u%04x`, r)
		case r == utf8.RuneError: // an invalid byte may be a control character in another encoding
			s.text = utf8.AppendRune(s.text, r)
		default:
			s.text = append(s.text, s.incomplete[i:i+n]...)
		}
		i += n
	}
	s.incomplete = s.incomplete[:copy(s.incomplete, s.incomplete[i:])]
	if _, err := s.out.Write(s.text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// isPlainText reports whether text consists of printable ASCII and newlines only, as
// nearly all text does.
func isPlainText(text []byte) bool {
	for _, c := range text {
		if c < ' ' && c != '\n' || c >= 0x7f {
			return false
		}
	}
	return true
}

// NewScreen returns a writer that escapes control characters and writes to w.
func NewScreen(w io.Writer) io.Writer { return &screen{out: w} }
