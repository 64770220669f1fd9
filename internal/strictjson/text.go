// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// plain marks the ASCII bytes that stand for themselves within a string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// escapes maps the letter of a two-byte escape to its meaning, or to 0 if there is no
// such escape.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (s *scanner) string(i int) int {
	d := s.data
	for i++; i >= 0; {
		for i < len(d) && plain[d[i]] {
			i++
		}
		switch {
		case i >= len(d):
			return s.fail(len(d), ErrSyntax, "the document ends within a string")
		case d[i] == '"':
			return i + 1
		case d[i] == '\\':
			i = s.escape(i)
		case d[i] < 0x20:
			return s.fail(i, ErrSyntax, "control character %#02x in a string; escape it", d[i])
		default:
			i = s.rune(i)
		}
	}
	return -1
}

func (s *scanner) rune(i int) int {
	r, n := utf8.DecodeRune(s.data[i:])
	if r == utf8.RuneError && n == 1 {
		return s.fail(i, ErrUnicode, "string is not valid UTF-8")
	}
	return i + n
}

func (s *scanner) escape(i int) int {
	c := s.at(i + 1)
	if escapes[c] != 0 {
		return i + 2
	}
	if c != 'u' {
		return s.fail(i, ErrSyntax, "unknown escape in a string")
	}
	r, n := escaped(s.data[i:])
	switch {
	case n == 0:
		return s.fail(i, ErrSyntax, "\\u has to be followed by four hexadecimal digits")
	// Half a pair is no character and has no UTF-8. Other parsers replace it, so that two
	// names may become equal.
	case utf16.IsSurrogate(r) && s.inName:
		s.half = i + 1
	case utf16.IsSurrogate(r):
		return s.failHalf(i)
	}
	return i + n
}

func (s *scanner) failHalf(i int) int {
	return s.fail(i, ErrUnicode, "escape of half a surrogate pair")
}

// escaped returns the rune of the \u escape at the start of b, and the length in bytes:
// 12 for a surrogate pair, 6 for any other escape, 0 if there is none. It returns half a
// pair as it is.
func escaped(b []byte) (rune, int) {
	r, ok := unit(b)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if low, ok := unit(b[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
	}
	return r, 6
}

// unit returns the value of the \uXXXX at the start of b.
func unit(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// unquote returns the text of a valid string with quotes.
func unquote(raw []byte) string { return string(unquoted(raw)) }

// unquoted is unquote without a copy if nothing is escaped.
func unquoted(raw []byte) []byte {
	raw = raw[1 : len(raw)-1 : len(raw)-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return appendUnescaped(nil, raw)
}

// appendUnescaped appends the text of the inside of a valid string.
func appendUnescaped(dst, raw []byte) []byte {
	for len(raw) > 0 {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		raw = raw[i:]
		if c := escapes[raw[1]]; c != 0 {
			dst, raw = append(dst, c), raw[2:]
			continue
		}
		r, n := escaped(raw)
		if raw = raw[n:]; utf16.IsSurrogate(r) {
			dst = append(dst, surrogateByte, 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
		} else {
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

// surrogateByte begins the three bytes of half a surrogate pair; see [Limits.Repeated].
const surrogateByte = 0xed

// AppendQuote appends s as a JSON string. It escapes only quotes, backslashes, control
// characters and the bytes of halves of surrogate pairs. It copies other invalid UTF-8
// unchanged, and [Parse] refuses the result.
func AppendQuote(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == surrogateByte && i+2 < len(s) && s[i+1]&0xe0 == 0xa0 && s[i+2]&0xc0 == 0x80:
			r := 0xd000 | uint(s[i+1]&0x3f)<<6 | uint(s[i+2]&0x3f)
			dst = append(dst, '\\', 'u', hex[r>>12], hex[r>>8&15], hex[r>>4&15], hex[r&15])
			i += 2
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= 0x20:
			dst = append(dst, c)
		default:
			if j := strings.IndexByte("\b\t\n\f\r", c); j >= 0 {
				dst = append(dst, '\\', "btnfr"[j])
				continue
			}
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(dst, '"')
}
