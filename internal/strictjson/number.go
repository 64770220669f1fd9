// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

func (s *scanner) number(i int) int {
	d, first := s.data, i
	if d[i] == '-' {
		first++
	}
	end := digits(d, first)
	switch {
	case end == first:
		// This may be -Infinity, for which unexpected has a message of its own.
		if s.at(end) == 'I' {
			return s.unexpected(i, "a value")
		}
		return s.unexpected(end, "a digit")
	case d[first] == '0' && end > first+1:
		return s.fail(i, ErrSyntax, "number with a leading zero")
	case end < len(d) && (d[end] == '.' || d[end]|0x20 == 'e'):
		return s.fraction(end)
	}
	return end
}

// fraction scans what may follow the digits of the integral part.
func (s *scanner) fraction(i int) int {
	if s.data[i] == '.' {
		end := digits(s.data, i+1)
		if end == i+1 {
			return s.unexpected(end, "a digit")
		}
		i = end
	}
	if s.at(i)|0x20 != 'e' {
		return i
	}
	i++
	if c := s.at(i); c == '+' || c == '-' {
		i++
	}
	end := digits(s.data, i)
	if end == i {
		return s.unexpected(end, "a digit")
	}
	return end
}

// decimal is a parsed number. Its digits are a slice of the input, which may contain the
// point. The value is 0.DIGITS times ten to the power of point.
type decimal struct {
	negative bool
	digits   []byte
	point    int64
}

// maxExponent is larger than the digits of any document could compensate, and far from
// overflow.
const maxExponent = math.MaxInt64 / 4

func newDecimal(raw []byte) decimal {
	var d decimal
	if raw[0] == '-' {
		d.negative, raw = true, raw[1:]
	}
	whole := digits(raw, 0)
	d.digits, d.point = raw, int64(whole)
	end := whole
	if end < len(raw) && raw[end] == '.' {
		end = digits(raw, end+1)
	}
	d.digits = raw[:end]
	if end < len(raw) {
		d.point += exponent(raw[end+1:])
	}
	return d
}

// exponent returns the value of an optional sign and digits, clamped to maxExponent.
func exponent(b []byte) int64 {
	negative := b[0] == '-'
	if negative || b[0] == '+' {
		b = b[1:]
	}
	n := int64(0)
	for _, c := range b {
		// Clamp instead of failing: zero may have any exponent.
		if n = n*10 + int64(c-'0'); n > maxExponent/10 {
			n = maxExponent / 10
		}
	}
	if negative {
		return -n
	}
	return n
}

// integer returns the value if it is integral and fits.
func (d decimal) integer() (int64, error) {
	n, at, significant := uint64(0), int64(0), false // at counts digits without the point
	for _, c := range d.digits {
		if c == '.' {
			continue
		}
		at++
		// Leading zeros do not count towards the limit of 19 digits.
		if !significant && c == '0' {
			continue
		}
		// The first digit that is not 0 has at least 19 digits after it. No int64 is that
		// large.
		if !significant && d.point-at >= 19 {
			return 0, ErrOverflow
		}
		significant = true
		if at > d.point && c != '0' {
			return 0, ErrFraction
		}
		if at <= d.point {
			n = n*10 + uint64(c-'0')
		}
	}
	// Append the zeros of a positive exponent. The check above bounds their number.
	for ; significant && at < d.point; at++ {
		n *= 10
	}
	return signed(n, d.negative)
}

func signed(n uint64, negative bool) (int64, error) {
	switch {
	case n <= math.MaxInt64 && negative:
		return -int64(n), nil
	case n <= math.MaxInt64:
		return int64(n), nil
	case negative && n == 1<<63:
		return math.MinInt64, nil
	}
	return 0, ErrOverflow
}

// Float64 returns the float64 nearest to a number. If the number is beyond the largest
// float64, the error wraps [ErrOverflow].
func (v Value) Float64() (float64, error) {
	if v.Kind() != Number {
		return 0, v.not(Number)
	}
	f, err := strconv.ParseFloat(string(v.Raw()), 64)
	if err != nil {
		return 0, v.Errorf("%w", reasonf(ErrOverflow, "%s does not fit into 64-bit floating point", v.Brief()))
	}
	return f, nil
}

// Int64 returns an integral number, which may be spelled as 4.0 or 4e2. The error wraps
// [ErrFraction] for a fraction, [ErrOverflow] for a number beyond 64 bits, and [ErrKind]
// for anything else.
func (v Value) Int64() (int64, error) {
	if v.doc != nil {
		if n, ok := eightDigits(v.doc.data[v.start:], int(v.end-v.start)); ok {
			return n, nil
		}
	}
	return v.integer()
}

// integer is the general case of Int64. It takes O(len) time and no memory, whatever the
// exponent is.
func (v Value) integer() (int64, error) {
	if v.Kind() != Number {
		return 0, v.not(Number)
	}
	n, err := newDecimal(v.Raw()).integer()
	switch err {
	case ErrFraction:
		return 0, v.Errorf("%w", reasonf(err, "must be an integer, got %s", v.Brief()))
	case ErrOverflow:
		return 0, v.Errorf("%w", reasonf(err, "%s does not fit into 64 bits", v.Brief()))
	}
	return n, nil
}

// The functions in this file process eight digits at a time. Grids contain millions of
// short numbers whose lengths no branch predictor can guess. Counting digits with
// arithmetic takes a third of the time.

const (
	ones     = 0x0101010101010101
	zeros    = 0x3030303030303030 // '0' eight times
	toHigh   = 0x7676767676767676 // carries every byte above 9 into the high bit
	highBits = 0x8080808080808080
)

func isDigit(c byte) bool { return c-'0' < 10 }

// digits returns the offset of the first byte at or after i that is not a digit.
func digits(d []byte, i int) int {
	for ; len(d)-i >= 8; i += 8 {
		if n := countDigits(binary.LittleEndian.Uint64(d[i:]) ^ zeros); n < 8 {
			return i + n
		}
	}
	// Fewer than eight bytes are left, or none.
	for i < len(d) && isDigit(d[i]) {
		i++
	}
	return i
}

// countDigits returns how many of the low bytes of x, from the lowest one, are at most 9.
func countDigits(x uint64) int { return bits.TrailingZeros64((x+toHigh|x)&highBits) / 8 }

// eightDigits parses the n digits, 1 to 8, at the start of d. It returns false if they
// are not all digits, or if d has fewer than eight bytes.
func eightDigits(d []byte, n int) (int64, bool) {
	if len(d) < 8 || n > 8 || n < 1 {
		return 0, false
	}
	// The first digit is in the lowest byte. It is worth the most.
	x := binary.LittleEndian.Uint64(d) ^ zeros
	if countDigits(x) < n {
		return 0, false
	}
	x <<= 8 * (8 - n) // leading zeros; neighbours are then joined, twice
	// Join neighbouring digits to numbers below 100 in every other byte.
	x = x*10 + x>>8
	// Then scale these numbers by powers of 100 and add them, two in each multiplication.
	const even = 0x000000ff000000ff
	x = (x&even)*(100+1000000<<32) + (x>>16&even)*(1+10000<<32)
	return int64(x >> 32), true
}

// plainBytes advances from i while the next eight bytes are typical of lists of numbers.
// At the result, or in the seven bytes after it, is a quote, a bracket, a letter or the
// end.
func plainBytes(d []byte, i int) int {
	const (
		quotes  = '"' * ones
		letters = 0xc0 * ones // brackets and letters have one of these bits; digits, signs, commas and white space have none
	)
	for ; len(d)-i >= 8; i += 8 {
		x := binary.LittleEndian.Uint64(d[i:])
		y := x ^ quotes
		// The second term has a high bit for every zero byte of y, that is for every
		// quote.
		if (x&letters)|((y-ones)&^y&highBits) != 0 {
			break
		}
	}
	return i
}

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
			return s.cutOff(i, "within a string")
		case d[i] == '"':
			return i + 1
		case d[i] == '\\':
			i = s.escape(i)
		case d[i] < 0x20 && len(s.rest(i)) == 0:
			return s.cutOff(i, "within a string")
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
	if r == utf8.RuneError && n == 1 && !utf8.FullRune(s.rest(i)) {
		return s.cutOff(i, "within a character")
	}
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
	if c != 'u' && len(s.rest(i)) == 1 {
		return s.cutOff(i, "within a string")
	}
	if c != 'u' {
		return s.fail(i, ErrSyntax, "unknown escape in a string")
	}
	r, n := escaped(s.data[i:])
	switch {
	case n == 0 && s.endsWithin(i+2, 4), n == 6 && utf16.IsSurrogate(r) && s.endsWithin(i+6, 6):
		return s.cutOff(i, "within a string")
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

// endsWithin reports whether the document ends before byte i+n, within an escape.
func (s *scanner) endsWithin(i, n int) bool {
	rest := s.rest(i)
	return len(rest) < n && len(bytes.TrimLeft(rest, "0123456789abcdefABCDEF\\u")) == 0
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
