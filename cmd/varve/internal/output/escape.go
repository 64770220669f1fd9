package output

import (
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"
)

// AppendSafe appends a JSON document, in which characters that JSON permits as they are
// but that could take over a terminal are escaped: it says the same. They occur in
// strings alone.
func AppendSafe(dst, document []byte) []byte {
	from := 0
	for i := 0; i < len(document); {
		c := document[i]
		if c < utf8.RuneSelf && c != 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRune(document[i:])
		if isUnsafe(r) {
			dst = fmt.Appendf(append(dst, document[from:i]...), `\u%04x`, r)
			from = i + n
		}
		i += n
	}
	return append(dst, document[from:]...)
}

// Safe is AppendSafe to memory of its own, unless nothing is to be escaped.
func Safe(document []byte) []byte {
	if !slices.ContainsFunc(document, func(c byte) bool { return c >= 0x7f }) {
		return document
	}
	return AppendSafe(nil, document)
}

// isUnsafe reports whether a character controls a terminal, or the order in which others
// are shown.
func isUnsafe(r rune) bool {
	return r == 0x7f || r >= 0x80 && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}
