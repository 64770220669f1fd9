// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// screen passes lines of text on to a terminal and escapes control characters.
type screen struct {
	to   io.Writer
	rest []byte // the first bytes of an incomplete character
	text []byte
}

// Write implements [io.Writer].
func (s *screen) Write(p []byte) (int, error) {
	if len(s.rest) == 0 && isPlainText(p) {
		return s.to.Write(p)
	}
	s.rest = append(s.rest, p...)
	s.text = s.text[:0]
	i := 0
	for i < len(s.rest) && utf8.FullRune(s.rest[i:]) {
		r, n := utf8.DecodeRune(s.rest[i:])
		switch {
		case r < ' ' && r != '\n' && r != '\t', isUnsafe(r):
			s.text = fmt.Appendf(s.text, `\u%04x`, r)
		case r == utf8.RuneError: // an invalid byte may be a control character in another encoding
			s.text = utf8.AppendRune(s.text, r)
		default:
			s.text = append(s.text, s.rest[i:i+n]...)
		}
		i += n
	}
	s.rest = s.rest[:copy(s.rest, s.rest[i:])]
	if _, err := s.to.Write(s.text); err != nil {
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
func NewScreen(w io.Writer) io.Writer { return &screen{to: w} }
