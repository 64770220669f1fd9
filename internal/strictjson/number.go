// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"math"
	"strconv"
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
		return 0, v.Errorf("%w", because(ErrOverflow, "%s does not fit into 64-bit floating point", v.Brief()))
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
		return 0, v.Errorf("%w", because(err, "must be an integer, got %s", v.Brief()))
	case ErrOverflow:
		return 0, v.Errorf("%w", because(err, "%s does not fit into 64 bits", v.Brief()))
	}
	return n, nil
}
