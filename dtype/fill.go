// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
)

// ParseFill returns the element that a fill value in JSON stands for. The element has
// [Type.Size] bytes in host byte order, or any number of bytes if the type has variable
// length. The forms are:
//
//   - bool: true or false;
//   - integers: a JSON number that is an integer, in any spelling, and in range;
//   - floats: a JSON number, rounded to the nearest with ties to even; "NaN", the NaN
//     that the specification of the type names; "Infinity" or "-Infinity"; or "0x" and
//     the bits in hexadecimal, two digits per byte;
//   - complex: an array of two floats, real part first;
//   - raw: an array of Size integers from 0 to 255; for raw_bytes also Size bytes in
//     base64;
//   - string and fixed-length text: a string, which must not be too long for the type;
//   - bytes: base64, or an array of integers from 0 to 255; for null_terminated_bytes at
//     most Size of them;
//   - moments and durations: an integer, or "NaT";
//   - struct: an object with a fill value for every field; or all Size bytes,
//     little-endian, in base64.
//
// Anything else is an error that wraps [ErrInvalid]. A number that is too large for a
// float type becomes an infinity if the type has one.
//
// Sources: zarr-specs v3 core, "Fill value"; zarr-extensions, "data-types".
func (t Type) ParseFill(json []byte) ([]byte, error) {
	text := trim(string(json))
	elem := make([]byte, t.size)
	ok := false
	if t.Variable() {
		elem, ok = t.parseVariable(text)
	} else {
		ok = t.parse(elem, text)
	}
	if !ok {
		return nil, fmt.Errorf("%w: fill value %s of %s: expected %s", ErrInvalid, excerpt(text), t, t.expected())
	}
	return elem, nil
}

// Default returns the fill value of an array that has none: zero, empty text, or NaT. All
// bytes of a struct are zero, also those of times, as in zarr-python 3.4.1.
func (t Type) Default() []byte {
	elem := make([]byte, t.size)
	if t.kind == KindDatetime || t.kind == KindTimedelta {
		// The bits of NaT.
		byteorder.Store(elem, 1<<63)
	}
	return elem
}

// parse sets elem to the value of text. It returns false if text is not a value of t.
func (t Type) parse(elem []byte, text string) bool {
	switch t.kind {
	case KindBool:
		if text == "true" {
			elem[0] = 1
		}
		return text == "true" || text == "false"
	case KindComplex:
		return t.parseArray(elem, text)
	case KindRaw:
		return t.parseArray(elem, text) || t.name == "raw_bytes" && copyExactly(elem, text)
	case KindUTF32:
		s, ok := parseString(text)
		return ok && t.SetText(elem, s)
	case KindTerminated:
		b, ok := parseBytes(text)
		// A longer text does not fit. A shorter one is padded with zeros, which elem has
		// already.
		return ok && copy(elem, b) == len(b)
	case KindStruct:
		return t.parseStruct(elem, text)
	// Other moments and durations are plain numbers.
	case KindDatetime, KindTimedelta:
		if text == `"NaT"` {
			byteorder.Store(elem, 1<<63)
			return true
		}
	}
	return t.parseNumber(elem, text)
}

// parseArray reads a JSON array with one entry for each number of an element. It may
// split at every comma, because no spelling of a number contains one.
func (t Type) parseArray(elem []byte, text string) bool {
	rest, ok := unwrap(text, "[", "]")
	if !ok {
		return false
	}
	for len(elem) > 0 {
		// There must be a comma exactly if more numbers are to follow.
		part, after, more := strings.Cut(rest, ",")
		if more != (len(elem) > t.unit) || !t.parseNumber(elem[:t.unit], trim(part)) {
			return false
		}
		elem, rest = elem[t.unit:], after
	}
	return true
}

// parseNumber reads one of the numbers of an element.
func (t Type) parseNumber(elem []byte, text string) bool {
	var bits uint64
	var ok bool
	switch t.kind {
	case KindInt, KindUint, KindRaw, KindDatetime, KindTimedelta:
		bits, ok = t.parseInteger(text)
	case KindFloat, KindComplex:
		bits, ok = t.format.parse(text)
	}
	if ok {
		byteorder.Store(elem, bits)
	}
	return ok
}

// parseInteger reads an integer in the range of the type, as two's complement.
func (t Type) parseInteger(text string) (bits uint64, ok bool) {
	d, ok := parseDecimal(text)
	if !ok {
		return 0, false
	}
	magnitude, ok := d.integer()
	low, high := t.limits()
	switch {
	case !ok:
		return 0, false
	case d.negative:
		// The negation wraps around: two's complement.
		return -magnitude, magnitude <= low
	}
	return magnitude, magnitude <= high
}

// limits returns the magnitudes of the smallest and the largest integer.
func (t Type) limits() (low, high uint64) {
	// Only integers have a number of bits. Moments and raw bytes use all bits of a unit.
	width := t.bits
	if width == 0 {
		width = 8 * t.unit
	}
	high = 1<<width - 1
	if t.kind == KindInt || t.kind == KindDatetime || t.kind == KindTimedelta {
		high >>= 1
		low = high + 1
	}
	return low, high
}

// expected describes the fill values of t for error messages.
func (t Type) expected() string {
	switch t.kind {
	case KindBool:
		return "true or false"
	case KindInt:
		low, high := t.limits()
		return fmt.Sprintf("an integer from -%d to %d", low, high)
	case KindUint:
		_, high := t.limits()
		return fmt.Sprintf("an integer from 0 to %d", high)
	case KindFloat:
		return t.expectedFloat()
	case KindComplex:
		return "an array of two parts, each " + t.expectedFloat()
	case KindRaw:
		if t.name == "raw_bytes" {
			return fmt.Sprintf("%s in base64, or an array of as many integers from 0 to 255", quantity.Count(t.size, "bytes"))
		}
		return fmt.Sprintf("an array of %s from 0 to 255", quantity.Count(t.size, "integers"))
	case KindString:
		return "a string"
	case KindBytes:
		return "a string in base64, or an array of integers from 0 to 255"
	case KindUTF32:
		return fmt.Sprintf("a string of at most %s", quantity.Count(t.size/4, "code points"))
	case KindTerminated:
		return fmt.Sprintf("a string in base64 of at most %s", quantity.Count(t.size, "bytes"))
	case KindDatetime, KindTimedelta:
		return `an integer of 64 bits, or "NaT"`
	case KindStruct:
		return t.expectedStruct()
	}
	return "a data type first"
}

// expectedStruct shows an object with the fields of t, unless that is too long to be
// read.
func (t Type) expectedStruct() string {
	text := "an object with a value for each field"
	if example := t.AppendJSON(nil, t.Default()); len(example) <= 200 {
		return text + ", as " + string(example)
	}
	return text
}

func (t Type) expectedFloat() string {
	words := ""
	if _, ok := t.format.nan(); ok {
		words += `"NaN", `
	}
	if _, ok := t.format.inf(); ok {
		words += `"Infinity", "-Infinity", `
	}
	digits := quantity.Count(2*t.unit, "hexadecimal digits")
	if words == "" { // numbers that are larger have no infinity to become
		largest := t.format.appendFinite(nil, t.format.sign()-1)
		return fmt.Sprintf(`a number from -%s to %s, or "0x" and %s`, largest, largest, digits)
	}
	return fmt.Sprintf(`a number, %sor "0x" and %s`, words, digits)
}

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

// SetText sets elem, an element of fixed-length text or null-terminated bytes, to a text
// padded with zeros. It returns false if the text is too long.
func (t Type) SetText(elem []byte, text string) bool {
	clear(elem)
	if t.kind == KindTerminated {
		return copy(elem, text) == len(text)
	}
	if utf8.RuneCountInString(text) > len(elem)/4 {
		return false
	}
	at := 0
	for _, r := range text {
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
	if utf8.Valid(b) && !strings.HasPrefix(string(b), "0x") {
		return append(dst, b...)
	}
	return hex.AppendEncode(append(dst, "0x"...), b)
}

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
	// zarr-python writes the bytes of the whole element, little-endian.
	if v.Kind() == strictjson.String {
		if !copyExactly(elem, text) {
			return false
		}
		if !byteorder.Little() {
			t.Swap(elem, elem)
		}
		return t.Check(elem) == nil
	}
	if v.Kind() != strictjson.Object {
		return false
	}
	fields := make(map[string]Field)
	for h := t.fields; h != noFields; h = h.Value().rest {
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
	for f := range t.eachField() {
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
	for f := range t.eachField() {
		if f.Offset > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(dst, f.Type.AppendText(nil, elem[f.Offset:f.Offset+f.Type.size])...)
	}
	return append(dst, ')')
}
