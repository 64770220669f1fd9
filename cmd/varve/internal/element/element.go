// SPDX-License-Identifier: Apache-2.0

// Package element formats elements of any data type for people.
package element

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/packed"
)

// longestWord is the number of characters of a text that a block of values prints. export
// prints texts whole.
const longestWord = 60

// Text returns the function that formats elements of a type for people, as NumPy does:
// True and False, text in quotes, structs in parentheses.
func Text(t dtype.Type) func(elem []byte) string {
	switch t.Kind() {
	case dtype.KindBool:
		return boolText
	case dtype.KindString: // not copied, because it may be long
		return func(elem []byte) string { return quoted(unsafe.String(unsafe.SliceData(elem), len(elem))) }
	case dtype.KindUTF32:
		return func(elem []byte) string { return quoted(string(t.AppendText(nil, elem))) }
	case dtype.KindBytes, dtype.KindTerminated:
		return func(elem []byte) string { return "b" + quotedBytes(packed.TrimPadding(t, elem)) }
	case dtype.KindStruct:
		return structText(t)
	}
	return func(elem []byte) string { return string(t.AppendText(nil, elem)) }
}

// boolText returns a bool as NumPy prints it.
func boolText(elem []byte) string {
	if elem[0] != 0 {
		return "True"
	}
	return "False"
}

// structText is Text for structs.
func structText(t dtype.Type) func(elem []byte) string {
	fields := t.Fields()
	parts := make([]func([]byte) string, len(fields))
	for i, f := range fields {
		parts[i] = Text(f.Type)
	}
	return func(elem []byte) string {
		texts := make([]string, len(fields))
		for i, f := range fields {
			texts[i] = parts[i](elem[f.Offset : f.Offset+f.Type.Size()])
		}
		return "(" + strings.Join(texts, ", ") + ")"
	}
}

// quoted returns a text in quotes, as Python does. It escapes characters that are not
// printable, because a terminal could interpret them.
func quoted(text string) string {
	quote := quoteOf(strings.Contains(text, "'"), strings.Contains(text, `"`))
	var b strings.Builder
	b.WriteByte(quote)
	shown := 0
	for _, r := range text {
		if shown++; shown > longestWord {
			b.WriteString("…")
			break
		}
		if r == rune(quote) || r == '\\' {
			b.WriteByte('\\')
		}
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	b.WriteByte(quote)
	return b.String()
}

// quotedBytes returns bytes in the quotes of Python. Bytes that are not ASCII are
// hexadecimal.
func quotedBytes(text []byte) string {
	quote := quoteOf(bytes.ContainsRune(text, '\''), bytes.ContainsRune(text, '"'))
	b := []byte{quote}
	for i, c := range text {
		if i == longestWord {
			b = append(b, "…"...)
			break
		}
		switch {
		case c == quote || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c > '~' || c >= utf8.RuneSelf:
			b = fmt.Appendf(b, `\x%02x`, c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, quote))
}

// quoteOf returns the quote that Python uses for a text with these quotes inside.
func quoteOf(single, double bool) byte {
	if single && !double {
		return '"'
	}
	return '\''
}
