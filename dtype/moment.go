// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// layouts are the forms of moments by unit (ISO 8601), as in NumPy.
var layouts = map[string]string{
	"Y": "2006", "M": "2006-01", "W": "2006-01-02", "D": "2006-01-02", "h": "2006-01-02T15", "m": "2006-01-02T15:04",
	"s": "2006-01-02T15:04:05",
}

// appendMoment appends a moment in UTC with the precision of its unit. A moment out of
// range is appended as a number of steps.
func (t Type) appendMoment(dst []byte, n int64) []byte {
	if n == NaT {
		return append(dst, "NaT"...)
	}
	at, ok := t.Moment(n)
	if !ok {
		return t.appendCount(dst, n)
	}
	layout, whole := layouts[t.step.Unit]
	if whole {
		return at.AppendFormat(dst, layout)
	}
	dst = append(at.AppendFormat(dst, layouts["s"]), '.')
	_, fraction, _ := t.moment(n)
	// Write the leading zeros of the fraction.
	for unit := t.step.perSecond() / 10; unit > fraction && unit > 1; unit /= 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, fraction, 10)
}

// appendCount appends a number of steps with its unit: "3 s", "2 x 10 s".
func (t Type) appendCount(dst []byte, n int64) []byte {
	dst = strconv.AppendInt(dst, n, 10)
	if t.step.Factor != 1 {
		dst = strconv.AppendInt(append(dst, " x "...), int64(t.step.Factor), 10)
	}
	return append(append(dst, ' '), t.step.Unit...)
}

// appendDuration appends a duration in its unit. If the product of number and factor
// overflows, it appends the number of steps.
func (t Type) appendDuration(dst []byte, n int64) []byte {
	if n == NaT {
		return append(dst, "NaT"...)
	}
	product := n * int64(t.step.Factor)
	// The product overflowed.
	if n != 0 && product/n != int64(t.step.Factor) {
		return t.appendCount(dst, n)
	}
	dst = strconv.AppendInt(dst, product, 10)
	return append(append(dst, ' '), t.step.Unit...)
}

// parseDuration reads text such as "30 s", which must be a whole number of steps.
func (t Type) parseDuration(elem []byte, text string) bool {
	if text == "NaT" {
		return t.parse(elem, `"NaT"`)
	}
	number, unit, ok := strings.Cut(text, " ")
	if n, err := strconv.ParseInt(number, 10, 64); ok && err == nil && unit == t.step.Unit && n%int64(t.step.Factor) == 0 {
		putBits(elem, uint64(n/int64(t.step.Factor)))
		return true
	}
	return t.parseCount(elem, text)
}

// parseCount reads what appendCount writes.
func (t Type) parseCount(elem []byte, text string) bool {
	number, _, _ := strings.Cut(text, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || string(t.appendCount(nil, n)) != text {
		return false
	}
	putBits(elem, uint64(n))
	return true
}

// parseMoment reads a date that is a whole number of steps.
func (t Type) parseMoment(elem []byte, text string) bool {
	if text == "NaT" {
		return t.parse(elem, `"NaT"`)
	}
	whole, fraction, _ := strings.Cut(strings.TrimSuffix(text, "Z"), ".")
	// Package time parses only years of four digits.
	whole, years := nearYear(whole)
	for _, layout := range [...]string{
		layouts["Y"], layouts["M"], layouts["D"], layouts["h"], layouts["m"], layouts["s"], "2006-01-02 15:04", "2006-01-02 15:04:05",
	} {
		at, err := time.Parse(layout, whole)
		if err != nil {
			continue
		}
		if n, ok := t.numberAt(at.AddDate(years, 0, 0), fraction); ok {
			putBits(elem, uint64(n))
			return true
		}
		return false
	}
	return t.parseCount(elem, text)
}

// nearYear returns the date moved to a year that package time can parse, and the number
// of years it was moved by. That is a multiple of 400 years, after which the calendar
// repeats.
func nearYear(date string) (near string, years int) {
	end := strings.IndexByte(date[min(1, len(date)):], '-') + 1
	if end == 0 {
		end = len(date)
	}
	year, err := strconv.Atoi(date[:end])
	if err != nil || year >= 0 && year <= 9999 {
		return date, 0
	}
	_, rest, _ := floorMulDiv(int64(year), 1, 400)
	return fmt.Sprintf("%04d%s", 2000+rest, date[end:]), year - 2000 - int(rest)
}

// numberAt returns the number of steps for a time in whole seconds and a decimal fraction
// of a second. It returns false if that is not a whole number of steps.
func (t Type) numberAt(at time.Time, fraction string) (n int64, ok bool) {
	// The length of a generic step is unknown.
	if t.step.Unit == "generic" {
		return 0, false
	}
	per, unit := t.step.perSecond(), t.step.seconds()
	whole := at.Unix()
	// Months differ in length, so count them and require the first of a month.
	if t.step.isMonths() {
		whole = int64(at.Year()-1970)*12 + int64(at.Month()-1)
		if at.Day() != 1 || at.Hour() != 0 || at.Minute() != 0 || at.Second() != 0 {
			return 0, false
		}
	}
	// digits is the number of decimals of a second that the unit resolves.
	digits := len(strconv.FormatInt(t.step.perSecond(), 10)) - 1
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > digits || fraction != "" && !isDigits(fraction) {
		return 0, false
	}
	ticks := int64(0)
	if fraction != "" {
		ticks, _ = strconv.ParseInt(fraction+strings.Repeat("0", digits-len(fraction)), 10, 64)
	}
	n, rest, ok := floorDiv(whole, per, ticks, unit*int64(t.step.Factor))
	if t.step.Unit == "W" && t.step.Factor == 1 {
		rest = 0 // any day stands for its week
	}
	return n, ok && rest == 0
}
