// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// AppendSafe appends a JSON document to dst and escapes characters that could take over a
// terminal. They occur in strings only, so the document means the same.
func AppendSafe(dst, document []byte) []byte {
	from := 0
	for i := 0; i < len(document); {
		c := document[i]
		// JSON itself escapes the control characters of ASCII except DEL.
		if c < utf8.RuneSelf && c != 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRune(document[i:])
		if IsUnsafe(r) {
			dst = fmt.Appendf(append(dst, document[from:i]...), `\u%04x`, r)
			from = i + n
		}
		i += n
	}
	return append(dst, document[from:]...)
}

// IsUnsafe reports whether a character controls a terminal or the direction of text.
func IsUnsafe(r rune) bool {
	return r == 0x7f || r >= 0x80 && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}
