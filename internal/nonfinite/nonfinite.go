// SPDX-License-Identifier: Apache-2.0

// Package nonfinite reads JSON in which other programs have written a bare NaN or
// Infinity, as Python's json module does. Strings stand for these numbers while a
// document is parsed, and become the numbers again when it is written.
package nonfinite

import (
	"bytes"
	"slices"
)

// numbers lists the numbers that Python's json module writes although JSON does not
// have them, each with the string that replaces it while it is parsed. These strings have
// an escape that is not needed, so that they are recognised when the document is written
// again. A document from outside may have such a string too, as text: [Text]
// replaces it first. Longer numbers come first where one contains another.
var numbers = [...]struct{ bare, quoted []byte }{
	{[]byte("-Infinity"), []byte(`"\u002dInfinity"`)},
	{[]byte("Infinity"), []byte(`"\u0049nfinity"`)},
	{[]byte("NaN"), []byte(`"\u004eaN"`)},
}

// Admit returns JSON from outside as it is kept here: text is plain, and bare non-finite
// numbers are strings. It must see a document only once, because the strings of a
// document that was admitted would become text.
func Admit(raw []byte) []byte {
	raw, _ = Quote(Text(raw))
	return raw
}

// Text returns JSON in which every string is text. A string that happens to look
// like the stand-in for a bare NaN or Infinity is replaced by an
// equal one. Use it for JSON that did not go through [Admit], and for JSON that goes to
// other programs.
func Text(raw []byte) []byte {
	for _, f := range numbers {
		// The replacement is also equal after an escaped quote.
		if bytes.Contains(raw, f.quoted) {
			raw = bytes.ReplaceAll(raw, f.quoted, slices.Concat([]byte{'"'}, f.bare, []byte{'"'}))
		}
	}
	return raw
}

// Quote returns a copy of a document with strings in place of bare non-finite
// numbers. If there are none, it returns the document itself and false. The document need
// not be valid.
func Quote(raw []byte) (out []byte, found bool) {
	if !bytes.Contains(raw, []byte("NaN")) && !bytes.Contains(raw, []byte("Infinity")) {
		return raw, false
	}
	for i := 0; i < len(raw); {
		n := TextLength(raw[i:])
		// Not a string: look for a number at this byte.
		if n == 0 {
			n = 1
			for _, f := range numbers {
				// A word before a colon is not a value.
				if bytes.HasPrefix(raw[i:], f.bare) && !isName(raw[i+len(f.bare):]) {
					out, found = append(out, f.quoted...), true
					i += len(f.bare)
					n = 0
					break
				}
			}
		}
		out = append(out, raw[i:i+n]...)
		i += n
	}
	return out, found
}

// TextLength returns the length in bytes of the JSON string at the start of doc,
// including its quotes. It returns 0 if there is none. A string without an end takes the
// rest of the document.
func TextLength(doc []byte) int {
	if doc[0] != '"' {
		return 0
	}
	for i := 1; i < len(doc); i++ {
		switch doc[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(doc)
}

// Bare undoes [Quote]. It only replaces whole strings that are not the
// name of a member.
func Bare(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`"\u00`)) {
		return raw
	}
	var out []byte
	for i := 0; i < len(raw); {
		n := max(1, TextLength(raw[i:]))
		piece := raw[i : i+n]
		for _, f := range numbers {
			if bytes.Equal(piece, f.quoted) && !isName(raw[i+n:]) {
				piece = f.bare
			}
		}
		out = append(out, piece...)
		i += n
	}
	return out
}

// isName reports whether the string or word before rest is the name of a member.
func isName(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}
