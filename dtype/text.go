// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
)

// FormatFill returns the canonical fill value of an element as JSON. The element has
// [Type.Size] bytes in host byte order. Integers are decimal. Floats are the shortest
// decimal that reads back as the same bits, with a point or an exponent. A NaN with a
// sign or a payload is hexadecimal. [Type.ParseFill] returns the same bytes again.
//
// FormatFill returns an error that wraps [ErrInvalid] if elem has another length or is
// not a valid element; a bool is 0 or 1, and text is Unicode.
func (t Type) FormatFill(elem []byte) ([]byte, error) {
	switch {
	case t.IsZero():
		return nil, fmt.Errorf("%w: a fill value needs a data type", ErrInvalid)
	case len(elem) != t.size && !t.Variable():
		return nil, fmt.Errorf("%w: a fill value of %s has %s, not %d", ErrInvalid, t, quantity.Count(t.size, "bytes"), len(elem))
	}
	if err := t.Check(elem); err != nil {
		return nil, err
	}
	return t.AppendJSON(nil, elem), nil
}

// Check returns an error that wraps [ErrInvalid] if elems, consecutive elements, has
// bytes that are not elements of t. These are a bool other than 0 and 1, a number of
// fewer than 8 bits whose other bits are wrong, and text that is not UTF-8 or not
// Unicode. Other types have no invalid elements.
func (t Type) Check(elems []byte) error {
	switch t.kind {
	case KindBool:
		for _, b := range elems {
			if b > 1 {
				return fmt.Errorf("%w: a bool is the byte 0 or 1, not %d", ErrInvalid, b)
			}
		}
	case KindInt, KindUint, KindFloat, KindComplex:
		if t.small() {
			return t.checkSmall(elems)
		}
	case KindString:
		if !utf8.Valid(elems) {
			return fmt.Errorf("%w: text %s is not UTF-8", ErrInvalid, excerpt(string(elems)))
		}
	case KindUTF32:
		return checkUTF32(elems)
	case KindStruct:
		for f := range t.eachField() {
			for at := f.Offset; at < len(elems); at += t.size {
				if err := f.Type.Check(elems[at : at+f.Type.size]); err != nil {
					return fmt.Errorf("field %s: %w", excerpt(f.Name), err)
				}
			}
		}
	}
	return nil
}

// AppendJSON appends an element of Size bytes in host byte order, in the form of
// [Type.FormatFill]. It allocates only if dst lacks capacity, and for structs. A bool
// other than 0 is true. Invalid Unicode becomes the replacement character.
func (t Type) AppendJSON(dst, elem []byte) []byte {
	switch t.kind {
	case KindComplex:
		return t.appendList(dst, elem)
	case KindRaw:
		if t.name != "raw_bytes" {
			return t.appendList(dst, elem)
		}
		return appendBase64(dst, elem)
	case KindString:
		return strictjson.AppendQuote(dst, strings.ToValidUTF8(string(elem), "\ufffd"))
	case KindBytes:
		return appendBase64(dst, elem)
	case KindTerminated:
		return appendBase64(dst, trimZeros(elem))
	case KindUTF32:
		var room [256]byte
		return strictjson.AppendQuote(dst, string(appendUTF8(room[:0], elem)))
	case KindStruct:
		return append(dst, t.object(elem)...)
	}
	return t.appendNumber(dst, elem)
}

// appendList appends the numbers of an element as a JSON array.
func (t Type) appendList(dst, elem []byte) []byte {
	dst = append(dst, '[')
	for i := 0; i < t.size; i += t.unit {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = t.appendNumber(dst, elem[i:i+t.unit])
	}
	return append(dst, ']')
}

// AppendText appends an element of Size bytes in host byte order as text for people: 1.5,
// nan, -inf, 1.0+2.0j, true, 0x0a0b, 2024-02-29T12:00, 10 s, (1, 2.5). Text is appended
// as it is, and every NaN is nan. AppendText allocates only if dst lacks capacity, and
// for structs. [Type.ParseText] reads the result, except for structs, years without a
// month and null-terminated bytes.
func (t Type) AppendText(dst, elem []byte) []byte {
	switch t.kind {
	case KindFloat:
		return t.format.appendText(dst, byteorder.Load(elem))
	case KindComplex:
		return t.appendComplex(dst, elem)
	case KindRaw, KindBytes:
		return hex.AppendEncode(append(dst, "0x"...), elem)
	case KindString:
		return append(dst, elem...)
	case KindUTF32:
		return appendUTF8(dst, elem)
	case KindTerminated:
		return appendPrintable(dst, trimZeros(elem))
	case KindDatetime:
		return t.appendMoment(dst, int64(byteorder.Load(elem)))
	case KindTimedelta:
		return t.appendDuration(dst, int64(byteorder.Load(elem)))
	case KindStruct:
		return append(dst, t.tuple(elem)...)
	}
	return t.appendNumber(dst, elem)
}

func (t Type) appendComplex(dst, elem []byte) []byte {
	w := t.format
	dst = w.appendText(dst, byteorder.Load(elem[:t.unit]))
	n := len(dst)
	dst = append(dst, '+')
	dst = w.appendText(dst, byteorder.Load(elem[t.unit:]))
	// The sign of the imaginary part replaces the plus.
	if dst[n+1] == '-' {
		dst = append(dst[:n], dst[n+1:]...)
	}
	return append(dst, 'j')
}

// appendNumber appends one of the numbers of an element as JSON.
func (t Type) appendNumber(dst, elem []byte) []byte {
	if t.IsZero() {
		return dst
	}
	bits := byteorder.Load(elem)
	switch t.kind {
	case KindBool:
		return strconv.AppendBool(dst, bits != 0)
	case KindInt, KindDatetime, KindTimedelta:
		// Shift the sign of the number into that of an int64.
		unused := 64 - 8*t.unit
		return strconv.AppendInt(dst, int64(bits<<unused)>>unused, 10)
	case KindFloat, KindComplex:
		return t.format.appendJSON(dst, bits)
	}
	return strconv.AppendUint(dst, bits, 10)
}

// ParseText returns the element that a text from a command line or a table stands for.
// The element has [Type.Size] bytes in host byte order. ParseText reads everything that
// [Type.ParseFill] reads, as the same element, so that a fill value can be copied from
// metadata. The quotes of a string may be omitted. It also reads these forms:
//
//   - text: anything that is not a JSON string stands for itself;
//   - floats: nan, inf, -inf; complex numbers such as 1+2j;
//   - bytes and raw types: "0x" and two digits per byte;
//   - moments: an ISO 8601 date in UTC that is a whole number of steps. A bare integer is
//     a number of steps, as in metadata, so a year alone needs quotes or a month;
//   - durations: a number with its unit, such as 30 s.
//
// ParseText reads what [Type.AppendText] writes, with three exceptions: structs, years
// alone, and null-terminated bytes, which are base64 or hexadecimal here. Anything else
// is an error that wraps [ErrInvalid].
func (t Type) ParseText(text string) ([]byte, error) {
	// Any text is a value, even one that looks like JSON of another kind.
	if t.kind == KindString {
		return parseWord(text)
	}
	// Try the forms of metadata first: they mean the same here, even if other forms
	// match.
	trimmed := trim(text)
	elem, err := t.ParseFill([]byte(trimmed))
	if err == nil {
		return elem, nil
	}
	// Then try the forms that metadata does not have.
	elem, ok := make([]byte, t.size), false
	switch t.kind {
	case KindBytes, KindTerminated, KindRaw, KindStruct:
		elem, ok = t.parseEncoded(trimmed)
	case KindUTF32:
		word, err := parseWord(text)
		ok = err == nil && t.SetText(elem, string(word))
	case KindDatetime:
		ok = t.parseMoment(elem, unquoted(trimmed))
	case KindTimedelta:
		ok = t.parseDuration(elem, unquoted(trimmed))
	default:
		json, quoted := t.quote(trimmed)
		ok = quoted && t.parse(elem, json)
	}
	if !ok {
		return nil, fmt.Errorf("%w: value %s of %s: expected %s", ErrInvalid, excerpt(text), t, t.expectedText(text))
	}
	return elem, nil
}

// parseEncoded reads bytes as "0x" and two digits each, or a JSON string without its
// quotes. A shell removes the quotes of a value that is copied from metadata.
func (t Type) parseEncoded(text string) ([]byte, bool) {
	if b, ok := parseHexBytes(text); ok && t.kind != KindStruct {
		if t.kind == KindBytes {
			return b, true
		}
		elem := make([]byte, t.size)
		return elem, copy(elem, b) == len(b) && (t.kind == KindTerminated || len(b) == t.size)
	}
	// A shell has probably removed the quotes.
	elem, err := t.ParseFill(strictjson.AppendQuote(nil, text))
	return elem, err == nil
}

// unquoted returns the text between quotes, or the text itself if it has none.
func unquoted(text string) string {
	if inner, ok := unwrap(text, `"`, `"`); ok {
		return inner
	}
	return text
}

// expectedText is expected for the forms that only ParseText reads. If a type needs its
// encoded form, the message gives that form of the text.
func (t Type) expectedText(text string) string {
	switch t.kind {
	case KindDatetime:
		return "a moment in UTC that is a whole number of steps, as 2006-01-02 or 2006-01-02T15:04:05, " + t.expected()
	case KindTimedelta:
		return fmt.Sprintf("a duration, as \"%s\", %s", t.appendCount(nil, int64(t.step.Factor)), t.expected())
	case KindTerminated:
		text = unquoted(text)
		if len(text) > t.size || !utf8.ValidString(text) {
			return t.expected() + `, or "0x" and two digits a byte`
		}
		return fmt.Sprintf(`%s, or "0x" and two digits a byte; the text %s is %s or 0x%x`, t.expected(), text, appendBase64(nil, []byte(text)), text)
	case KindBytes:
		return t.expected() + `, or "0x" and two digits a byte`
	}
	return t.expected()
}

// quote converts a text to the JSON of a fill value.
func (t Type) quote(text string) (json string, ok bool) {
	switch t.kind {
	case KindFloat:
		return quoteFloat(text), true
	case KindComplex:
		re, im, ok := splitComplex(text)
		return "[" + quoteFloat(re) + "," + quoteFloat(im) + "]", ok
	}
	return text, true
}

// quoteFloat adds the quotes that JSON needs around floats that are not decimal.
func quoteFloat(text string) string {
	switch text {
	case "nan", "NaN":
		return `"NaN"`
	case "inf", "Infinity":
		return `"Infinity"`
	case "-inf", "-Infinity":
		return `"-Infinity"`
	}
	if strings.HasPrefix(text, "0x") {
		return `"` + text + `"`
	}
	return text
}

// splitComplex returns the parts of "[1,2]" or "1+2j".
func splitComplex(text string) (re, im string, ok bool) {
	if inner, ok := unwrap(text, "[", "]"); ok {
		re, im, ok = strings.Cut(inner, ",")
		return trim(re), trim(im), ok
	}
	// Otherwise the text is a Python literal. Its second sign separates the parts.
	text, ok = strings.CutSuffix(text, "j")
	i := signOfSecond(text)
	if !ok || i < 0 {
		return "", "", false
	}
	return text[:i], strings.TrimPrefix(text[i:], "+"), true
}

// signOfSecond returns the index of the last sign that is neither the first byte nor part
// of an exponent, or -1.
func signOfSecond(text string) int {
	for i := len(text) - 1; i > 0; i-- {
		isSign := text[i] == '+' || text[i] == '-'
		// In 1e-5+2j the first sign belongs to an exponent.
		if isSign && text[i-1] != 'e' && text[i-1] != 'E' {
			return i
		}
	}
	return -1
}
