// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// decimal is an exact JSON number: 0.digits * 10^point. The digits neither begin nor end
// with 0, and zero has none.
type decimal struct {
	negative bool
	digits   string
	point    int64
}

// maxExponent is the largest exponent kept. No document has that many digits, so a number
// with a larger exponent is out of every range.
const maxExponent = 1 << 40

// parseDecimal reads a number of any length in the grammar of JSON.
func parseDecimal(s string) (d decimal, ok bool) {
	s, d.negative = strings.CutPrefix(s, "-")
	whole, s := cutDigits(s)
	// JSON allows no leading zeros.
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return d, false
	}
	fraction := ""
	if rest, found := strings.CutPrefix(s, "."); found {
		if fraction, s = cutDigits(rest); fraction == "" {
			return d, false
		}
	}
	exponent, ok := parseExponent(s)
	if !ok {
		return d, false
	}
	digits := whole + fraction
	d.digits = strings.TrimLeft(digits, "0")
	// Each leading zero that was removed moves the point to the left.
	d.point = int64(len(whole)-len(digits)+len(d.digits)) + exponent
	d.digits = strings.TrimRight(d.digits, "0")
	// All zeros are equal, whatever their exponents.
	if d.digits == "" {
		d.point = 0
	}
	return d, true
}

// cutDigits splits s after its leading digits.
func cutDigits(s string) (digits, rest string) {
	rest = strings.TrimLeft(s, "0123456789")
	return s[:len(s)-len(rest)], rest
}

// parseExponent reads the exponent at the end of a number. It may be missing.
func parseExponent(s string) (exponent int64, ok bool) {
	if s == "" {
		return 0, true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return 0, false
	}
	digits, negative := strings.CutPrefix(s[1:], "-")
	if !negative {
		digits = strings.TrimPrefix(digits, "+")
	}
	if !isDigits(digits) {
		return 0, false
	}
	// An overflow is an exponent that is too large as well.
	exponent, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || exponent > maxExponent {
		exponent = maxExponent
	}
	if negative {
		exponent = -exponent
	}
	return exponent, true
}

// String formats the number with a small exponent, however the number was spelled.
// [strconv.ParseFloat] would limit a large exponent before it counts the zeros.
func (d decimal) String() string {
	s := "0." + d.digits + "0e" + strconv.FormatInt(d.point, 10)
	if d.negative {
		return "-" + s
	}
	return s
}

// integer returns the magnitude of the number. It returns false if that is not an integer
// or overflows uint64.
func (d decimal) integer() (magnitude uint64, ok bool) {
	zeros := d.point - int64(len(d.digits))
	switch {
	case d.digits == "":
		return 0, true
	// A uint64 has at most 20 digits. The check also bounds the zeros appended below.
	case zeros < 0 || d.point > 20:
		return 0, false
	}
	magnitude, err := strconv.ParseUint(d.digits+strings.Repeat("0", int(zeros)), 10, 64)
	return magnitude, err == nil
}

// compare compares the magnitudes of two numbers.
func (d decimal) compare(e decimal) int {
	if d.digits == "" || e.digits == "" {
		return cmp.Compare(len(d.digits), len(e.digits))
	}
	return cmp.Or(cmp.Compare(d.point, e.point), strings.Compare(d.digits, e.digits))
}

// roundToOdd rounds d to a float32 and sets the last bit if that is not exact. Rounding
// the result again, to a width at least two bits shorter, then gives the same as rounding
// d itself. A number close to the middle of two neighbours cannot land on the middle in
// the first step.
func (d decimal) roundToOdd() float32 {
	x64, _ := strconv.ParseFloat(d.String(), 32)
	x := float32(x64)
	// An odd result needs no change, whether it is exact or not.
	if math.IsInf(x64, 0) || math.Float32bits(x)&1 == 1 {
		return x
	}
	// No float32 has more than 112 significant digits.
	exact, _ := parseDecimal(strconv.FormatFloat(math.Abs(x64), 'e', 112, 64))
	// x is even and may be inexact: if so, take its odd neighbour on the side of d.
	towards := math.Copysign(0, x64)
	switch d.compare(exact) {
	case 0:
		return x
	case 1:
		towards = math.Copysign(math.Inf(1), x64)
	}
	return math.Nextafter32(x, float32(towards))
}
