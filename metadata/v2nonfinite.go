package metadata

import (
	"bytes"
)

// nonFinite lists the numbers that Python's json module writes although JSON does not
// have them, each with the string that replaces it while it is parsed. These strings have
// an escape that no other program writes, so that they are recognised when the document
// is written again. Longer numbers come first where one contains another.
var nonFinite = [...]struct{ bare, quoted []byte }{
	{[]byte("-Infinity"), []byte(`"\u002dInfinity"`)},
	{[]byte("Infinity"), []byte(`"\u0049nfinity"`)},
	{[]byte("NaN"), []byte(`"\u004eaN"`)},
}

// quoteNonFinite returns a copy of a document with strings in place of bare non-finite
// numbers. If there are none, it returns the document itself and false. The document need
// not be valid.
func quoteNonFinite(raw []byte) (out []byte, found bool) {
	if !bytes.Contains(raw, []byte("NaN")) && !bytes.Contains(raw, []byte("Infinity")) {
		return raw, false
	}
	for i := 0; i < len(raw); {
		n := textLength(raw[i:])
		// Not a string: look for a number at this byte.
		if n == 0 {
			n = 1
			for _, f := range nonFinite {
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

// quoteFill is quoteNonFinite with strings in the form of fill values. Elsewhere such a
// string is refused.
func quoteFill(raw []byte) (out []byte, found bool) {
	out, found = quoteNonFinite(raw)
	for _, f := range nonFinite {
		out = bytes.ReplaceAll(out, f.quoted, append(append([]byte{'"'}, f.bare...), '"'))
	}
	return out, found
}

// textLength returns the length in bytes of the JSON string at the start of doc,
// including its quotes. It returns 0 if there is none. A string without an end takes the
// rest of the document.
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

// bareNonFinite undoes quoteNonFinite. It only replaces whole strings that are not the
// name of a member.
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

// isName reports whether the string or word before rest is the name of a member.
func isName(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}
