// SPDX-License-Identifier: Apache-2.0

// Package cf implements the public package cf, and has what only this module needs of
// the CF conventions: it compares attributes and axes of arrays, compares elements with
// values of a condition, and finds coordinates that are out of order.
package cf

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/dtype"
)

// Decoding converts the stored numbers of an array to the values that they encode. The
// results have the same types as in xarray 2026.9:
//
//   - Numbers that count from an epoch ("days since 1950-01-01") become datetime64, and
//     strings if datetime64 lacks days of their calendar.
//   - Numbers with a unit of time ("hours") become timedelta64.
//   - Scaled numbers become float64.
//   - Other numbers with a missing value become floating-point numbers of the narrowest
//     type that holds them all. Missing elements become NaN.
//   - The attribute dtype "bool" makes booleans, and _Unsigned changes the sign.
//
// A Decoding is immutable. Several goroutines may use it at once.
type Decoding struct {
	*Packing
	units  Units
	typ    dtype.Type
	put    func(dst, elem []byte, value float64)
	word   func(elem []byte, value float64) string // instead of put, if the result is text
	format func(made []byte) string                // nil for the format of typ

	fits func(elem []byte) bool // whether datetime64 has the time of an element
	text *Decoding              // converts to text if it does not
}

// DecodingOf returns the decoding of an array, or nil if its elements need none. If an
// attribute is malformed, the error wraps [zarr.ErrInvalidArgument]. DecodingOf may
// open the other arrays of the group: bounds have the units of their coordinate
// ([UnitsIn]).
func DecodingOf(ctx context.Context, a *zarr.Array) (*Decoding, error) {
	u, err := UnitsIn(ctx, a)
	if err != nil {
		return nil, err
	}
	return NewDecoding(ctx, a, u)
}

// NewDecoding is like [DecodingOf] for numbers with the given units.
func NewDecoding(ctx context.Context, a *zarr.Array, u Units) (*Decoding, error) {
	if !IsNumeric(a.Type()) {
		return nil, nil
	}
	p, err := packingOf(ctx, a, u)
	if err != nil {
		return nil, err
	}
	d := &Decoding{Packing: p, units: u}
	if TextAttribute(a, "dtype") == "bool" {
		d.booleans()
		return d, nil
	}
	if t, ok := u.Times(); ok {
		return d, d.times(t)
	}
	if unit, ok := timeUnits[u.Units]; ok {
		return d, d.durations(unit)
	}
	switch {
	case d.scaled || d.masked:
		d.floats()
	case d.stored != a.Type():
		// Only _Unsigned applies, so the bytes are copied as they are.
		d.typ = d.stored
		d.put = func(dst, elem []byte, _ float64) { copy(dst, elem) }
	default:
		return nil, nil
	}
	return d, nil
}

// booleans makes d convert numbers to booleans. xarray stores booleans as int8 and sets
// the attribute dtype to "bool".
func (d *Decoding) booleans() {
	p := *d.Packing
	p.absent, p.filled = nil, nil // no boolean is missing
	d.Packing, d.typ = &p, dtype.Bool
	d.put = func(dst, _ []byte, value float64) {
		dst[0] = 0
		if d.value(value) != 0 {
			dst[0] = 1
		}
	}
}

// floats makes d convert numbers to floating-point numbers.
func (d *Decoding) floats() {
	d.typ = d.floatType()
	put := putFloat(d.typ)
	d.put = func(dst, _ []byte, value float64) { put(dst, d.value(value)) }
	if d.scaled && (d.scale != 1 || d.offset != 0) {
		d.format = func(made []byte) string {
			elem := make([]byte, 8)
			put(elem, rounded(math.Float64frombits(binary.NativeEndian.Uint64(made))))
			return string(d.typ.AppendText(nil, elem))
		}
	}
}

// floatType returns the narrowest floating-point type that holds all stored numbers.
// Scaled numbers become float64.
func (d *Decoding) floatType() dtype.Type {
	switch t := d.stored; {
	case d.scaled:
	case t == dtype.Float32, t == dtype.Of[dtype.Float16]():
		return t
	// float32 holds every integer of 16 bits exactly.
	case !d.isFloat() && t.Size() <= 2:
		return dtype.Float32
	}
	return dtype.Float64
}

// Type returns the data type of decoded elements.
func (d *Decoding) Type() dtype.Type { return d.typ }

// Units returns the units of the numbers.
func (d *Decoding) Units() Units { return d.units }

// Decode decodes the stored elements in src to elements of Type in dst. Both are in
// host byte order. Decode panics if dst has room for fewer elements than src, or if
// Type is a string.
func (d *Decoding) Decode(dst, src []byte) {
	from, to := d.stored.Size(), d.typ.Size()
	for ; len(src) > 0; src, dst = src[from:], dst[to:] {
		elem := src[:from:from]
		d.put(dst[:to:to], elem, d.numberOrNaN(elem))
	}
}

// DecodeText decodes a stored element, if Type is a string.
func (d *Decoding) DecodeText(elem []byte) string { return d.word(elem, d.numberOrNaN(elem)) }

// numberOrNaN returns the stored number of an element, or NaN if it is missing.
func (d *Decoding) numberOrNaN(elem []byte) float64 {
	value := d.number(elem)
	if d.isAbsent(elem, value) {
		return math.NaN()
	}
	return value
}

// Format returns a decoded element as text for people: times as ISO 8601, durations as
// 1d12h. Scaled numbers are rounded to 15 digits where that changes the last bit only: 34
// times 0.0001 is 0.0034, not 0.0034000000000000002.
func (d *Decoding) Format(made []byte) string {
	if d.format == nil {
		return string(d.typ.AppendText(nil, made))
	}
	return d.format(made)
}

// MayOverflow reports whether datetime64 may lack the time of an element, such as 30
// February. Decode turns such a time into NaT. Fits detects it, and AsText returns a
// decoding that keeps it.
func (d *Decoding) MayOverflow() bool { return d.fits != nil }

// Fits reports whether Decode converts all stored elements in src without losing a time.
func (d *Decoding) Fits(src []byte) bool {
	// Only times can be lost.
	if d.fits == nil {
		return true
	}
	for n := d.stored.Size(); len(src) > 0; src = src[n:] {
		if !d.fits(src[:n:n]) {
			return false
		}
	}
	return true
}

// AsText returns a decoding of times to strings, which can represent the days of every
// calendar. For anything but times it returns d itself.
func (d *Decoding) AsText() *Decoding {
	if d.text == nil {
		return d
	}
	return d.text
}

// times makes d convert numbers to times: to datetime64, or to text if the calendar has
// days that datetime64 lacks. datetime64 has no 30th of February, and it is the Gregorian
// calendar also before 1582.
func (d *Decoding) times(t Times) error {
	text := d.dates(t)
	// Text can hold the days of any calendar.
	if !t.IsReal() {
		*d = *text
		return nil
	}
	d.text = text
	unit := d.momentUnit(t)
	var err error
	if d.typ, err = dtype.DatetimeOf(unit.numpy, 1); err != nil {
		return err
	}
	first, last := momentBounds(t.Calendar(), unit)
	number := func(elem []byte) (int64, bool) {
		at, err := t.Instant(d.Packing.Text(elem))
		if err != nil {
			return 0, false
		}
		at = t.round(at)
		return at.Day*int64(24*time.Hour/unit.length) + at.Nano/int64(unit.length), at.Day >= first && at.Day <= last
	}
	d.put = func(dst, elem []byte, value float64) {
		n, ok := number(elem)
		if !ok || math.IsNaN(value) {
			n = dtype.NaT
		}
		binary.NativeEndian.PutUint64(dst, uint64(n))
	}
	d.fits = func(elem []byte) bool {
		_, ok := number(elem)
		return ok || math.IsNaN(d.numberOrNaN(elem))
	}
	return nil
}

// momentUnit returns the coarsest unit of datetime64 that can hold every time of t.
func (d *Decoding) momentUnit(t Times) timeUnit {
	switch {
	case t.Length() < time.Microsecond:
		return timeUnits["nanoseconds"]
	// Whole numbers of whole seconds from a whole second never have a fraction.
	case !d.isFloat() && !d.scaled && t.Length()%time.Second == 0 && t.Origin().Nano%int64(time.Second) == 0:
		return timeUnits["seconds"]
	}
	return timeUnits["microseconds"]
}

// momentBounds returns the first and last day that both datetime64 and a calendar can
// hold, limited to years of four digits.
func momentBounds(c calendar.Calendar, unit timeUnit) (first, last int64) {
	const real = calendar.ProlepticGregorian
	first, _ = real.Number(calendar.Date{Year: 1, Month: 1, Day: 1})
	last, _ = real.Number(calendar.Date{Year: 9999, Month: 12, Day: 31})
	if c == calendar.Standard {
		// Before this day the standard calendar is the Julian one, but datetime64 is
		// Gregorian.
		first, _ = c.Number(calendar.Date{Year: 1582, Month: 10, Day: 15})
	}
	if unit.length < time.Microsecond { // 64 bits hold 292 years of nanoseconds
		days := int64(math.MaxInt64/(24*time.Hour)) - 1 // whole days
		first, last = max(first, -days), min(last, days)
	}
	return first, last
}

// dates returns a decoding of times to text in ISO 8601. A number that is not a time
// stays a number.
func (d *Decoding) dates(t Times) *Decoding {
	text := &Decoding{Packing: d.Packing, units: d.units, typ: dtype.String}
	text.format = func(made []byte) string { return string(made) }
	text.word = func(elem []byte, value float64) string {
		if math.IsNaN(value) {
			return "NaT"
		}
		number := d.Packing.Text(elem)
		if at, ok := t.Text(number); ok {
			return at
		}
		return number
	}
	return text
}

// timeUnit is a unit of durations.
type timeUnit struct {
	numpy  string // its name in timedelta64
	length time.Duration
}

// timeUnits are the values of the attribute units that make a number a duration, as in
// xarray.
var timeUnits = map[string]timeUnit{
	"days": {"D", 24 * time.Hour}, "hours": {"h", time.Hour}, "minutes": {"m", time.Minute}, "seconds": {"s", time.Second},
	"milliseconds": {"ms", time.Millisecond}, "microseconds": {"us", time.Microsecond}, "nanoseconds": {"ns", time.Nanosecond},
}

// durations makes d convert numbers to durations. Integers keep their unit. Other
// numbers are converted to microseconds or a finer unit. Durations that do not fit
// become NaT.
func (d *Decoding) durations(unit timeUnit) (err error) {
	whole := !d.isFloat() && !d.scaled
	made := unit
	// A fraction of the unit would be lost in timedelta64.
	if !whole && unit.length > time.Microsecond {
		made = timeUnits["microseconds"]
	}
	if d.typ, err = dtype.TimedeltaOf(made.numpy, 1); err != nil {
		return err
	}
	d.put = func(dst, elem []byte, value float64) {
		n := int64(dtype.NaT)
		switch x := math.RoundToEven(d.value(value) * float64(unit.length/made.length)); {
		case math.IsNaN(value):
		case whole:
			if v, err := strconv.ParseInt(d.Packing.Text(elem), 10, 64); err == nil {
				n = v
			}
		case math.Abs(x) < 1<<63:
			n = int64(x)
		}
		binary.NativeEndian.PutUint64(dst, uint64(n))
	}
	d.format = func(elem []byte) string { return formatDuration(int64(binary.NativeEndian.Uint64(elem)), made.length) }
	return nil
}

// ParseDuration parses a duration such as "6h", "6 hours", "1d12h" or "-1.5 min", and
// returns it in nanoseconds. It accepts the units of [calendar.ParseStep] except months
// and years, which have no fixed length. The unit m is a minute.
func ParseDuration(text string) (nanoseconds float64, err error) {
	rest, negative := strings.CutPrefix(strings.TrimSpace(text), "-")
	for rest != "" {
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789."))]
		name := strings.TrimLeft(rest[len(digits):], " ")
		name = name[:len(name)-len(strings.TrimLeftFunc(name, unicode.IsLetter))]
		n, err := strconv.ParseFloat(digits, 64)
		unit, failed := calendar.ParseStep("1" + name)
		// calendar.ParseStep refuses m, which means minutes or months. A duration has no
		// months.
		if name == "m" {
			unit, failed = calendar.Step{Length: time.Minute}, nil
		}
		// Months and years have no fixed length.
		if err != nil || failed != nil || unit.Months != 0 {
			return 0, invalid("%q is neither a number nor a duration such as 6h, 1d12h or 30 min", text)
		}
		nanoseconds += n * float64(unit.Length)
		rest = strings.TrimLeft(strings.TrimLeft(rest[len(digits):], " ")[len(name):], " ")
	}
	if negative {
		nanoseconds = -nanoseconds
	}
	return nanoseconds, nil
}

// formatDuration formats n units of time in the form 1d12h, -30min or 1.5s.
func formatDuration(n int64, unit time.Duration) string {
	if n == dtype.NaT {
		return "NaT"
	}
	var b strings.Builder
	if n < 0 {
		b.WriteByte('-')
	}
	// Split off the days first. In nanoseconds, n may not fit 64 bits.
	perDay := int64(24 * time.Hour / unit)
	days, rest := n/perDay, n%perDay*int64(unit)
	if days, rest = max(days, -days), max(rest, -rest); days > 0 {
		fmt.Fprintf(&b, "%dd", days)
	}
	for _, part := range []struct {
		name string
		unit time.Duration
	}{{"h", time.Hour}, {"min", time.Minute}} {
		if k := rest / int64(part.unit); k > 0 {
			fmt.Fprintf(&b, "%d%s", k, part.name)
		}
		rest %= int64(part.unit)
	}
	if rest > 0 || n == 0 {
		b.WriteString(strconv.FormatInt(rest/1e9, 10))
		if part := rest % 1e9; part > 0 {
			b.WriteString(strings.TrimRight(fmt.Sprintf(".%09d", part), "0"))
		}
		b.WriteByte('s')
	}
	return b.String()
}
