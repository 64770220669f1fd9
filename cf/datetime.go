// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"encoding/binary"
	"math"
	"time"

	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/dtype"
)

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
