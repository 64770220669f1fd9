// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"varve.dev/zarr/internal/strictjson"
)

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
		ok = err == nil && t.setText(elem, string(word))
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
