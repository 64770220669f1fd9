package output

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// screen passes lines of text on to a terminal, where characters that it would obey
// are escaped.
type screen struct {
	to   io.Writer
	rest []byte // the beginning of a character that is not there as a whole
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
		case r == utf8.RuneError: // a byte that is no character may be a control of another encoding
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

// isPlainText reports whether a text is lines of printable ASCII, as nearly all are.
func isPlainText(text []byte) bool {
	for _, c := range text {
		if c < ' ' && c != '\n' || c >= 0x7f {
			return false
		}
	}
	return true
}

// NewScreen returns a writer that passes text on to w.
func NewScreen(w io.Writer) io.Writer { return &screen{to: w} }
