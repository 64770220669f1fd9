// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// Units define the numbers of a time coordinate: a length of time, counted from an
// epoch in a calendar. The zero value has no length, and its conversions fail.
type Units struct {
	calendar Calendar
	length   int64 // nanoseconds
	origin   Instant
}

// Number is the type of coordinate values.
type Number interface{ int64 | float64 }

// ParseUnits parses the units of a time coordinate in CF metadata (section 4.4, which
// follows UDUNITS): "days since 1950-01-01", "hours since 1900-01-01 00:00:0.0", "s since
// 2000-01-01T06:00Z". Units are weeks, days, hours, minutes, seconds, milliseconds,
// microseconds and nanoseconds. The moment has the form of [ParseInstant]. Months and
// years have no fixed length; they are accepted only in the calendar [Days360].
//
// Errors wrap [ErrInvalid], or [ErrUnsupported] for months and years.
func ParseUnits(text string, c Calendar) (Units, error) {
	words := strings.Fields(text)
	if len(words) < 3 || !strings.EqualFold(words[1], "since") {
		return Units{}, invalid("units %q: write them like \"days since 1950-01-01\"", clip(text))
	}
	length, err := parseLength(words[0], c)
	if err != nil {
		return Units{}, err
	}
	origin, err := ParseInstant(strings.Join(words[2:], " "), c)
	return Units{c, length, origin}, err
}

// lengths lists the units of time with fixed lengths.
var lengths = []struct {
	nanos int64
	short string
	names []string // other names
}{
	{7 * dayNanos, "w", []string{"weeks", "week", "wk"}},
	{dayNanos, "d", []string{"days", "day"}},
	{3600e9, "h", []string{"hours", "hour", "hrs", "hr"}},
	{60e9, "min", []string{"minutes", "minute", "mins"}},
	{1e9, "s", []string{"seconds", "second", "secs", "sec"}},
	{1e6, "ms", []string{"milliseconds", "millisecond", "millisecs", "millisec", "msecs", "msec"}},
	{1e3, "us", []string{"microseconds", "microsecond", "microsecs", "microsec", "µs", "μs"}},
	{1, "ns", []string{"nanoseconds", "nanosecond", "nanosecs", "nanosec", "nsecs", "nsec"}},
}

// fixed returns the length of a unit in nanoseconds, or 0 if no unit with a fixed length
// has that name.
func fixed(name string) int64 {
	for _, l := range lengths {
		same := func(n string) bool { return strings.EqualFold(n, name) }
		if same(l.short) || slices.ContainsFunc(l.names, same) {
			return l.nanos
		}
	}
	return 0
}

// months returns the number of months of a unit, or 0 if it is not made of months.
func months(name string) int64 {
	switch strings.ToLower(name) {
	case "months", "month", "mon", "mo":
		return 1
	case "years", "year", "yrs", "yr", "y":
		return 12
	}
	return 0
}

// parseLength returns the length of a unit in nanoseconds.
func parseLength(name string, c Calendar) (int64, error) {
	if n := fixed(name); n > 0 {
		return n, nil
	}
	switch m := months(name); {
	case m == 0:
		return 0, invalid("unit of time %q; use weeks, days, hours, minutes, seconds or parts of seconds", clip(name))
	case c != Days360:
		return 0, fmt.Errorf("%w: %q have no fixed length in the calendar %v; count days or hours", ErrUnsupported, name, c)
	default:
		return m * 30 * dayNanos, nil
	}
}

// Calendar returns the calendar that the units count in.
func (u Units) Calendar() Calendar { return u.calendar }

// Origin returns the instant of the number 0.
func (u Units) Origin() Instant { return u.origin }

// Length returns the time from one number to the next.
func (u Units) Length() time.Duration { return time.Duration(u.length) }

// At returns the instant for an integer. The error wraps [ErrInvalid] if u is zero, and
// [ErrOverflow] otherwise.
func (u Units) At(v int64) (Instant, error) {
	if u.length == 0 {
		return Instant{}, errNoUnits
	}
	t, ok := u.origin.plus(v, u.length)
	if !ok {
		return t, fmt.Errorf("%w: value %d", ErrOverflow, v)
	}
	return t, nil
}

var errNoUnits = invalid("units without a length; make them with ParseUnits")

// AtFloat returns the instant for a number, to the nanosecond. A fraction such as 1/24 of
// a day has no exact float64. AtFloat therefore returns a whole second, millisecond or
// microsecond if there is one within the precision of the number. The error wraps
// [ErrInvalid] if the number is not finite or u is zero, and [ErrOverflow] otherwise.
func (u Units) AtFloat(v float64) (Instant, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Instant{}, invalid("time %v", v)
	}
	// The conversion to int64 must not overflow.
	if math.Abs(v) >= 1<<63 {
		return Instant{}, fmt.Errorf("%w: value %v", ErrOverflow, v)
	}
	whole, fraction := math.Modf(v)
	t, err := u.At(int64(whole))
	if err != nil || fraction == 0 {
		return t, err
	}
	// The fraction is less than one unit, so this does not overflow.
	nanos := int64(math.Round(fraction * float64(u.length)))
	t, ok := t.shift(nanos/dayNanos, nanos%dayNanos)
	if !ok {
		return t, fmt.Errorf("%w: value %v", ErrOverflow, v)
	}
	return t.snap(u.precision(v)), nil
}

// precision returns the possible error of a computed number in nanoseconds: two units in
// its last place.
func (u Units) precision(v float64) float64 {
	v = math.Abs(v)
	return 2 * (math.Nextafter(v, math.Inf(1)) - v) * float64(u.length)
}

// Count returns the integer for an instant. The error wraps [ErrInvalid] if the instant
// lies between two integers, and [ErrOverflow] if the integer overflows int64.
func (u Units) Count(t Instant) (int64, error) {
	switch err := t.check(); {
	case err != nil:
		return 0, err
	case u.length == 0:
		return 0, errNoUnits
	}
	sign, from, to := int64(1), u.origin, t
	if t.Compare(u.origin) < 0 {
		sign, from, to = -1, t, u.origin
	}
	hi, lo := to.since(from)
	// If hi is not below the divisor, the quotient exceeds 64 bits.
	n, rest := uint64(math.MaxUint64), uint64(0)
	if hi < uint64(u.length) {
		n, rest = bits.Div64(hi, lo, uint64(u.length))
	}
	// -2^63 is an int64, 2^63 is not.
	if n > 1<<63 || n == 1<<63 && sign > 0 {
		return 0, fmt.Errorf("%w: %s as a number", ErrOverflow, u.calendar.Text(t))
	}
	if rest != 0 {
		return 0, invalid("%s is not a whole number of %v", u.calendar.Text(t), u.Length())
	}
	return sign * int64(n), nil
}

// CountFloat returns the number for an instant as the nearest float64, or nearly so. It
// returns NaN if u is zero or the instant is out of range.
func (u Units) CountFloat(t Instant) float64 {
	if u.length == 0 || t.check() != nil {
		return math.NaN()
	}
	if n, err := u.Count(t); err == nil {
		return float64(n)
	}
	days, nanos := t.Day-u.origin.Day, t.Nano-u.origin.Nano
	// Convert days and nanoseconds separately: their sum would lose precision.
	if u.length >= dayNanos {
		return (float64(days) + float64(nanos)/float64(dayNanos)) / float64(u.length/dayNanos)
	}
	perDay := dayNanos / u.length // every shorter unit divides a day
	return float64(days)*float64(perDay) + float64(nanos)/float64(u.length)
}

// at converts a value of either type. precision is the possible error in nanoseconds.
func instantOf[T Number](u Units, v T) (t Instant, precision float64, err error) {
	switch v := any(v).(type) {
	case int64:
		t, err = u.At(v)
	case float64:
		t, err = u.AtFloat(v)
		precision = u.precision(v)
	}
	return t, precision, err
}
