// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/checked"
)

// NaT is the number of a moment or duration that is not a time.
const NaT = math.MinInt64

// Step is the step in which a moment or duration counts: Factor times Unit.
type Step struct {
	// Unit is "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as" or
	// "generic".
	Unit   string
	Factor int32 // at least 1
}

// units lists the units of time of NumPy. "μs" is another spelling of "us".
var units = [...]string{"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic"}

const unitNames = "Y, M, W, D, h, m, s, ms, us, ns, ps, fs, as and generic"

func newStep(unit string, factor int64) (Step, bool) {
	// There are two code points for the micro sign, U+03BC and U+00B5.
	if unit == "μs" || unit == "µs" {
		unit = "us"
	}
	ok := slices.Contains(units[:], unit) && factor >= 1 && factor <= math.MaxInt32
	return Step{unit, int32(factor)}, ok
}

// String returns the step in the form that NumPy uses: "D", "10us".
func (s Step) String() string {
	if s.Factor == 1 {
		return s.Unit
	}
	return strconv.Itoa(int(s.Factor)) + s.Unit
}

// DatetimeOf returns the type of moments, counted from the beginning of 1970 in UTC in
// steps of factor times unit, such as "ns" (zarr-extensions, "numpy.datetime64"). It
// returns an error that wraps [ErrInvalid] if the unit is unknown, or if factor is below
// 1 or above 2^31-1.
func DatetimeOf(unit string, factor int) (Type, error) {
	return timedOf("numpy.datetime64", unit, factor)
}

// TimedeltaOf returns the type of durations, counted in steps of factor times unit
// (zarr-extensions, "numpy.timedelta64"). Errors are those of [DatetimeOf].
func TimedeltaOf(unit string, factor int) (Type, error) {
	return timedOf("numpy.timedelta64", unit, factor)
}

func timedOf(name, unit string, factor int) (Type, error) {
	step, ok := newStep(unit, int64(factor))
	if !ok {
		return Type{}, fmt.Errorf("%w: %s of %d %s; units are %s, factors from 1 to 2^31-1", ErrInvalid, name, factor, excerpt(unit), unitNames)
	}
	return timed(name, step), nil
}

func timed(name string, s Step) Type {
	k := KindDatetime
	if name == "numpy.timedelta64" {
		k = KindTimedelta
	}
	return Type{name: name, kind: k, size: 8, unit: 8, step: s}
}

// Step returns the step in which a moment or duration counts. It returns the zero
// Step for other types.
func (t Type) Step() Step { return t.step }

// perSecond returns the number of units in a second, or 1 for units of a second or more.
func (s Step) perSecond() int64 {
	switch s.Unit {
	case "ms":
		return 1e3
	case "us":
		return 1e6
	case "ns":
		return 1e9
	case "ps":
		return 1e12
	case "fs":
		return 1e15
	case "as":
		return 1e18
	}
	return 1
}

// seconds returns the number of seconds in a unit, or of months for units of months. It
// returns 1 for shorter units.
func (s Step) seconds() int64 {
	switch s.Unit {
	case "Y":
		return 12
	case "W":
		return 7 * 24 * 3600
	case "D":
		return 24 * 3600
	case "h":
		return 3600
	case "m":
		return 60
	}
	return 1
}

// Moment returns the time for the number n of a moment, in UTC and rounded down to
// nanoseconds. It returns false for NaT, for a generic unit, and for times more than
// about 200 million years from 1970.
func (t Type) Moment(n int64) (at time.Time, ok bool) {
	whole, fraction, ok := t.moment(n)
	if !ok {
		return time.Time{}, false
	}
	if t.step.isMonths() {
		// 200 million years are more months than an int of 32 bits holds.
		start := time.Date(1970, time.January, 1, 0, 0, 0, 0, time.UTC)
		return start.AddDate(int(whole/12), int(whole%12), 0), true
	}
	if per := t.step.perSecond(); per > 1e9 {
		fraction /= per / 1e9
	} else {
		fraction *= 1e9 / per
	}
	return time.Unix(whole, fraction).UTC(), true
}

// isMonths reports whether the unit counts months rather than seconds.
func (s Step) isMonths() bool { return s.Unit == "Y" || s.Unit == "M" }

// mostSeconds is the largest distance from 1970 for which Moment returns a time. Package
// time is exact within it.
const mostSeconds = 1 << 53

// moment returns the whole seconds, or months, from 1970 to a moment. fraction is the
// remainder in units of [Step.perSecond].
func (t Type) moment(n int64) (whole, fraction int64, ok bool) {
	// A generic unit has no known length.
	if n == NaT || t.kind != KindDatetime || t.step.Unit == "generic" {
		return 0, 0, false
	}
	most := int64(mostSeconds)
	if t.step.isMonths() {
		most = 12 * 200_000_000
	}
	whole, fraction, ok = floorMulDiv(n, int64(t.step.Factor)*t.step.seconds(), t.step.perSecond())
	return whole, fraction, ok && -most <= whole && whole <= most
}

// floorMulDiv returns n*m/d rounded down, and the remainder, which is not negative. It
// returns false if the result overflows.
func floorMulDiv(n, m, d int64) (q, r int64, ok bool) { return floorDiv(n, m, 0, d) }

// floorDiv returns (n*m+more)/d rounded down, and the remainder. more must be from 0 to
// m-1. It returns false if the result overflows or is [NaT].
func floorDiv(n, m, more, d int64) (q, r int64, ok bool) {
	// The negation is right even for the smallest int64.
	magnitude := uint64(n)
	if n < 0 {
		magnitude = -magnitude
	}
	hi, lo := bits.Mul64(magnitude, uint64(m))
	var carry uint64
	// Divide the magnitude in 128 bits, so that the product cannot overflow. The
	// magnitude of a negative sum is smaller by more.
	if n < 0 {
		lo, carry = bits.Sub64(lo, uint64(more), 0)
		hi -= carry
	} else {
		lo, carry = bits.Add64(lo, uint64(more), 0)
		hi += carry
	}
	if hi >= uint64(d) {
		return 0, 0, false
	}
	uq, ur := bits.Div64(hi, lo, uint64(d))
	if uq > math.MaxInt64 {
		return 0, 0, false
	}
	q, r = int64(uq), int64(ur)
	if n < 0 {
		q = -q
		// Rounding the magnitude down rounds a negative quotient up.
		if r > 0 {
			q, r = q-1, d-r
		}
	}
	return q, r, q != NaT
}

// NumberOf returns the number for a time in a moment, rounded down. It returns false
// for a generic unit, and if the number overflows.
func (t Type) NumberOf(at time.Time) (n int64, ok bool) {
	if t.kind != KindDatetime || t.step.Unit == "generic" {
		return 0, false
	}
	at = at.UTC()
	whole, fraction := at.Unix(), int64(at.Nanosecond())
	per := t.step.perSecond()
	switch {
	// Months differ in length, so count them by the calendar.
	case t.step.isMonths():
		whole, fraction = int64(at.Year()-1970)*12+int64(at.Month()-1), 0
	case per > 1e9:
		fraction *= per / 1e9
	default:
		fraction /= 1e9 / per
	}
	n, _, ok = floorDiv(whole, per, fraction, int64(t.step.Factor)*t.step.seconds())
	return n, ok && n != NaT
}

// Duration returns the duration for the number n of a duration. It returns false for
// NaT, for months, years and generic units, and if the duration overflows or is not a
// whole number of nanoseconds.
func (t Type) Duration(n int64) (d time.Duration, ok bool) {
	s := t.step
	if n == NaT || t.kind != KindTimedelta || s.isMonths() || s.Unit == "generic" {
		return 0, false
	}
	per := s.perSecond()
	if per <= 1e9 {
		one, ok := checked.Product(int64(s.Factor), s.seconds(), 1e9/per)
		if !ok {
			// A single step overflows a time.Duration.
			return 0, n == 0
		}
		nanoseconds, _, ok := floorMulDiv(n, one, 1)
		return time.Duration(nanoseconds), ok
	}
	q, r, ok := floorMulDiv(n, int64(s.Factor), per/1e9)
	return time.Duration(q), ok && r == 0
}

// NumberOfDuration returns the number for a duration in a duration. It returns false
// if the duration is not a whole number of steps, or if its number is that of NaT.
func (t Type) NumberOfDuration(d time.Duration) (n int64, ok bool) {
	s := t.step
	if t.kind != KindTimedelta || s.isMonths() || s.Unit == "generic" {
		return 0, false
	}
	per := s.perSecond()
	if per > 1e9 {
		q, r, ok := floorMulDiv(int64(d), per/1e9, int64(s.Factor))
		return q, ok && r == 0 && q != NaT
	}
	one, ok := checked.Product(int64(s.Factor), s.seconds(), 1e9/per)
	if !ok {
		// A single step overflows a time.Duration.
		return 0, d == 0
	}
	n = int64(d) / one
	return n, int64(d)%one == 0 && n != NaT
}

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
		byteorder.Store(elem, uint64(n/int64(t.step.Factor)))
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
	byteorder.Store(elem, uint64(n))
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
			byteorder.Store(elem, uint64(n))
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
