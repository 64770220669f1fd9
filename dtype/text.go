package dtype

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// ParseText returns the element that a text from a command line or a table stands for: Size bytes in host byte order.
// Besides the forms of [Type.ParseFill] it reads all that [Type.AppendText] writes, but for structs, and floats without quotes:
// NaN, nan, Infinity, -Infinity, inf, -inf, 0x7fc00001. Text stands for itself, quoted or not. Moments are dates as in ISO 8601, in
// UTC, as far as their unit tells them apart; they may be quoted as well, and so may durations. Anything else wraps [ErrInvalid].
func (t Type) ParseText(text string) ([]byte, error) {
	elem := make([]byte, t.size)
	trimmed := trim(text)
	ok := false
	switch t.kind {
	case String:
		return t.parseWord(text)
	case Bytes:
		elem, ok = parseHexBytes(trimmed)
		if !ok {
			elem, ok = t.parseVariable(trimmed)
		}
	case UTF32, Terminated:
		word, err := t.parseWord(text)
		ok = err == nil && t.setText(elem, string(word))
	case Datetime:
		ok = t.parseMoment(elem, unquoted(trimmed)) || t.parse(elem, trimmed)
	case Timedelta:
		ok = t.parseDuration(elem, unquoted(trimmed)) || t.parse(elem, trimmed)
	default:
		json, quoted := t.quote(trimmed)
		ok = quoted && t.parse(elem, json) || t.parseHex(elem, trimmed)
	}
	if !ok {
		return nil, fmt.Errorf("%w: value %s of %s: expected %s", ErrInvalid, excerpt(text), t, t.expectedText())
	}
	return elem, nil
}

// unquoted returns what is between the quotes of a text that has them.
func unquoted(text string) string {
	if inner, ok := unwrap(text, `"`, `"`); ok {
		return inner
	}
	return text
}

// expectedText is expected for text that is no JSON.
func (t Type) expectedText() string {
	switch t.kind {
	case Datetime:
		return "a moment in UTC that is a whole number of steps, as 2006-01-02 or 2006-01-02T15:04:05, " + t.expected()
	case Timedelta:
		return fmt.Sprintf("a duration, as \"%s\", %s", t.appendCount(nil, int64(t.step.Factor)), t.expected())
	}
	return t.expected()
}

// quote turns a text into the JSON of a fill value.
func (t Type) quote(text string) (json string, ok bool) {
	switch t.kind {
	case Float:
		return quoteFloat(text), true
	case Complex:
		re, im, ok := splitComplex(text)
		return "[" + quoteFloat(re) + "," + quoteFloat(im) + "]", ok
	}
	return text, true
}

// quoteFloat adds the quotes that JSON needs around floats that are no decimal.
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

// signOfSecond returns the index of the last sign that is neither the first byte nor the sign of an exponent, or -1.
func signOfSecond(text string) int {
	for i := len(text) - 1; i > 0; i-- {
		isSign := text[i] == '+' || text[i] == '-'
		if isSign && text[i-1] != 'e' && text[i-1] != 'E' {
			return i
		}
	}
	return -1
}

// parseHex reads the bytes of a raw element as "0x" and two digits each.
func (t Type) parseHex(elem []byte, text string) bool {
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok || t.kind != Raw || len(digits) != 2*t.size {
		return false
	}
	_, err := hex.Decode(elem, []byte(digits))
	return err == nil
}
