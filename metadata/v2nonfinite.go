package metadata

import (
	"bytes"
)

// nonFinite has the numbers that JSON does not have but Python's json module writes, and the texts in place of which they are
// read: spelled with an escape, as nobody else spells them, so that they can be told apart when they are written again.
// Longer ones come first where one is part of another.
var nonFinite = [...]struct{ bare, quoted []byte }{
	{[]byte("-Infinity"), []byte(`"\u002dInfinity"`)},
	{[]byte("Infinity"), []byte(`"\u0049nfinity"`)},
	{[]byte("NaN"), []byte(`"\u004eaN"`)},
}

// quoteNonFinite returns a copy of a document with texts in place of bare non-finite numbers, and whether there were any.
// A document without them is returned as it is, valid or not.
func quoteNonFinite(raw []byte) (out []byte, found bool) {
	if !bytes.Contains(raw, []byte("NaN")) && !bytes.Contains(raw, []byte("Infinity")) {
		return raw, false
	}
	for i := 0; i < len(raw); {
		n := textLength(raw[i:])
		if n == 0 {
			n = 1
			for _, f := range nonFinite {
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

// quoteFill returns a copy of a document with texts in place of bare non-finite numbers, as fill values are to be spelled, and whether there
// were any. Elsewhere such a text is refused.
func quoteFill(raw []byte) (out []byte, found bool) {
	out, found = quoteNonFinite(raw)
	for _, f := range nonFinite {
		out = bytes.ReplaceAll(out, f.quoted, append(append([]byte{'"'}, f.bare...), '"'))
	}
	return out, found
}

// textLength returns the bytes of the JSON text that doc begins with, quotes included, 0 where it begins with none. A text without
// an end has the rest of the document.
func textLength(doc []byte) int {
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

// bareNonFinite undoes quoteNonFinite. A text is one only where it stands for itself, with nothing escaped before its quote.
func bareNonFinite(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`"\u00`)) {
		return raw
	}
	var out []byte
	for i := 0; i < len(raw); {
		n := max(1, textLength(raw[i:]))
		piece := raw[i : i+n]
		for _, f := range nonFinite {
			if bytes.Equal(piece, f.quoted) && !isName(raw[i+n:]) {
				piece = f.bare
			}
		}
		out = append(out, piece...)
		i += n
	}
	return out
}

// isName reports whether what follows a text, or a word, makes it the name of a member.
func isName(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}
