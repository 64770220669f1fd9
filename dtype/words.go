// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"varve.dev/zarr/internal/strictjson"
)

// parseJSON reads one JSON value.
func parseJSON(text string) (strictjson.Value, bool) {
	v, err := strictjson.Parse([]byte(text), strictjson.Limits{Size: int64(len(text))})
	return v, err == nil
}

// parseString reads a JSON string.
func parseString(text string) (string, bool) {
	v, ok := parseJSON(text)
	if !ok {
		return "", false
	}
	s, err := v.Str()
	return s, err == nil
}

// parseVariable reads an element of variable length.
func (t Type) parseVariable(text string) ([]byte, bool) {
	if t.kind == KindBytes {
		return parseBytes(text)
	}
	s, ok := parseString(text)
	return []byte(s), ok
}

// parseBytes reads bytes in base64 or as an array of integers.
func parseBytes(text string) ([]byte, bool) {
	if !strings.HasPrefix(text, "[") {
		s, ok := parseString(text)
		if !ok {
			return nil, false
		}
		// DecodeString skips line breaks even in strict mode.
		b, err := base64.StdEncoding.Strict().DecodeString(s)
		return b, err == nil && !strings.ContainsAny(s, "\r\n")
	}
	v, ok := parseJSON(text)
	if !ok {
		return nil, false
	}
	b := make([]byte, 0, v.Len())
	for _, e := range v.Elements() {
		n, err := e.Int64()
		if err != nil || n < 0 || n > 255 {
			return nil, false
		}
		b = append(b, byte(n))
	}
	return b, true
}

// copyExactly sets elem to bytes in base64, of which there must be exactly as many.
func copyExactly(elem []byte, text string) bool {
	b, ok := parseBytes(text)
	return ok && len(b) == len(elem) && copy(elem, b) == len(b)
}

func appendBase64(dst, b []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), b), '"')
}

// parseUTF32 sets elem to the text of a JSON string.
func (t Type) parseUTF32(elem []byte, text string) bool {
	s, ok := parseString(text)
	return ok && t.setText(elem, s)
}

// SetText sets elem, an element of fixed-length text or null-terminated bytes, to a text
// padded with zeros. It returns false if the text is too long.
func (t Type) SetText(elem []byte, text string) bool { return t.setText(elem, text) }

// AppendWord appends the text of an element of fixed length without its padding.
// Null-terminated bytes need not be valid text.
func (t Type) AppendWord(dst, elem []byte) []byte {
	if t.kind == KindUTF32 {
		return appendUTF8(dst, elem)
	}
	return append(dst, t.TrimPadding(elem)...)
}

// TrimPadding returns an element without its padding, the zeros at the end of
// null-terminated bytes. Elements of other types are returned unchanged.
func (t Type) TrimPadding(elem []byte) []byte {
	if t.kind == KindTerminated {
		return trimZeros(elem)
	}
	return elem
}

// setText sets an element of fixed length to a text padded with zeros.
func (t Type) setText(elem []byte, s string) bool {
	clear(elem)
	if t.kind == KindTerminated {
		return copy(elem, s) == len(s)
	}
	if utf8.RuneCountInString(s) > len(elem)/4 {
		return false
	}
	at := 0
	for _, r := range s {
		binary.NativeEndian.PutUint32(elem[at:], uint32(r))
		at += 4
	}
	return true
}

// appendUTF8 appends an element of fixed-length text without its padding. Invalid code
// points become the replacement character.
func appendUTF8(dst, elem []byte) []byte {
	end := len(elem)
	for end >= 4 && binary.NativeEndian.Uint32(elem[end-4:]) == 0 {
		end -= 4
	}
	for at := 0; at < end; at += 4 {
		r := binary.NativeEndian.Uint32(elem[at:])
		dst = utf8.AppendRune(dst, rune(min(r, utf8.MaxRune+1)))
	}
	return dst
}

// checkUTF32 returns an error for numbers that are not code points.
func checkUTF32(elems []byte) error {
	for at := 0; at < len(elems); at += 4 {
		if r := binary.NativeEndian.Uint32(elems[at:]); r > utf8.MaxRune || !utf8.ValidRune(rune(r)) {
			return fmt.Errorf("%w: %#x is no code point of Unicode", ErrInvalid, r)
		}
	}
	return nil
}

// trimZeros removes the zeros at the end.
func trimZeros(elem []byte) []byte {
	for len(elem) > 0 && elem[len(elem)-1] == 0 {
		elem = elem[:len(elem)-1]
	}
	return elem
}

// appendPrintable appends bytes that are text unchanged, and all others in hexadecimal.
func appendPrintable(dst, b []byte) []byte {
	if utf8.Valid(b) && !isHexWord(string(b)) {
		return append(dst, b...)
	}
	return hex.AppendEncode(append(dst, "0x"...), b)
}

// isHexWord reports whether a text looks like bytes in hexadecimal.
func isHexWord(s string) bool { return strings.HasPrefix(s, "0x") }

// parseHexBytes reads bytes as "0x" and two digits each.
func parseHexBytes(text string) ([]byte, bool) {
	digits, ok := strings.CutPrefix(text, "0x")
	b, err := hex.DecodeString(digits)
	return b, ok && err == nil
}

// parseWord reads text that stands for itself or is a JSON string.
func parseWord(text string) ([]byte, error) {
	if strings.HasPrefix(text, `"`) {
		if s, ok := parseString(text); ok {
			return []byte(s), nil
		}
	}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("%w: text %s is not UTF-8", ErrInvalid, excerpt(text))
	}
	return []byte(text), nil
}

// parseStruct reads an object with a value for every field, or all bytes in little-endian
// order and base64.
func (t Type) parseStruct(elem []byte, text string) bool {
	v, ok := parseJSON(text)
	if !ok {
		return false
	}
	if v.Kind() == strictjson.String {
		if !copyExactly(elem, text) {
			return false
		}
		if !LittleEndian() {
			t.Swap(elem, elem)
		}
		return t.Check(elem) == nil
	}
	if v.Kind() != strictjson.Object {
		return false
	}
	fields := make(map[string]Field)
	for h := t.fields; h != noFields; h = h.Value().next {
		fields[h.Value().Name] = h.Value().Field
	}
	for name, m := range v.Members() {
		f, ok := fields[name]
		if !ok || !f.Type.parse(elem[f.Offset:f.Offset+f.Type.size], string(m.Raw())) {
			return false
		}
	}
	return v.Len() == len(fields) // so no field is missing
}

// object returns an element of a struct as a JSON object. It allocates its own memory, so
// that other types need no allocation.
func (t Type) object(elem []byte) []byte {
	dst := []byte{'{'}
	for h := t.fields; h != noFields; h = h.Value().next {
		f := h.Value().Field
		if f.Offset > 0 {
			dst = append(dst, ',')
		}
		dst = append(strictjson.AppendQuote(dst, f.Name), ':')
		dst = append(dst, f.Type.AppendJSON(nil, elem[f.Offset:f.Offset+f.Type.size])...)
	}
	return append(dst, '}')
}

// tuple returns an element of a struct as text for people.
func (t Type) tuple(elem []byte) []byte {
	dst := []byte{'('}
	for h := t.fields; h != noFields; h = h.Value().next {
		f := h.Value().Field
		if f.Offset > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(dst, f.Type.AppendText(nil, elem[f.Offset:f.Offset+f.Type.size])...)
	}
	return append(dst, ')')
}
