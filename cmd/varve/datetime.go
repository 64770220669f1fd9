package main

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"time"

	"varve.dev/zarr/calendar"
	"varve.dev/zarr/dtype"
)

// moments makes times of numbers: datetime64, or text where that has not all of their
// days. It has no 30th of February, and is the Gregorian calendar before there was one.
func (d *decoding) moments(axis timeAxis) (*decoding, error) {
	text := d.dates(axis)
	if !axis.isReal() {
		return text, nil
	}
	m := &decoding{packing: d.packing, instead: text}
	unit := m.momentUnit(axis)
	var err error
	if m.typ, err = dtype.DatetimeOf(unit.numpy, 1); err != nil {
		return nil, err
	}
	first, last := momentBounds(axis.Calendar(), unit)
	number := func(elem []byte) (int64, bool) {
		t, err := axis.instant(m.text(elem))
		if err != nil {
			return 0, false
		}
		t = axis.round(t)
		return t.Day*int64(24*time.Hour/unit.length) + t.Nano/int64(unit.length), t.Day >= first && t.Day <= last
	}
	m.put = func(dst, elem []byte, value float64) {
		n, ok := number(elem)
		if !ok || math.IsNaN(value) {
			n = dtype.NaT
		}
		binary.NativeEndian.PutUint64(dst, uint64(n))
	}
	m.says = func(elem []byte) bool {
		value := m.number(elem)
		_, ok := number(elem)
		return ok || math.IsNaN(value) || m.isAbsent(elem, value)
	}
	return m, nil
}

// momentUnit returns the unit of datetime64 that holds every time of an axis.
func (d *decoding) momentUnit(axis timeAxis) timeUnit {
	switch {
	case axis.Length() < time.Microsecond:
		return timeUnits["nanoseconds"]
	case !d.isFloat() && !d.scaled && axis.Length()%time.Second == 0 && axis.Origin().Nano%int64(time.Second) == 0:
		return timeUnits["seconds"]
	}
	return timeUnits["microseconds"]
}

// momentBounds returns the days between which datetime64 has the days of a calendar, in
// years of four digits.
func momentBounds(c calendar.Calendar, unit timeUnit) (first, last int64) {
	const real = calendar.ProlepticGregorian
	first, _ = real.Number(calendar.Date{Year: 1, Month: 1, Day: 1})
	last, _ = real.Number(calendar.Date{Year: 9999, Month: 12, Day: 31})
	if c == calendar.Standard {
		first, _ = c.Number(calendar.Date{Year: 1582, Month: 10, Day: 15})
	}
	if unit.length < time.Microsecond { // 64 bits hold 292 years of nanoseconds, and here whole days
		days := int64(math.MaxInt64/(24*time.Hour)) - 1
		first, last = max(first, -days), min(last, days)
	}
	return first, last
}

// dates makes text of times, as ISO 8601 writes them in their own calendar. A number that
// is no time stays as it is.
func (d *decoding) dates(axis timeAxis) *decoding {
	text := &decoding{packing: d.packing, typ: dtype.Of[string]()}
	text.shown = func(made []byte) string { return string(made) }
	text.word = func(elem []byte, value float64) string {
		if math.IsNaN(value) {
			return "NaT"
		}
		number := d.text(elem)
		if at, ok := axis.at(number); ok {
			return at
		}
		return number
	}
	return text
}

// errUnsaid ends the search for a time that datetime64 has not.
var errUnsaid = errors.New("datetime64 has no such day")

// settle reads the times of a source, and has all of them made text where datetime64 has
// not each. Whoever gives the type of what is made has to know it before.
func (s *source) settle(ctx context.Context) error {
	if s.decoding == nil || s.decoding.says == nil {
		return nil
	}
	err := s.undecoded().blocks(ctx, func(e elements) error {
		for i := range e.len() {
			if !s.decoding.says(e.at(i)) {
				return errUnsaid
			}
		}
		return ctx.Err()
	})
	if errors.Is(err, errUnsaid) {
		return s.becomeText()
	}
	return err
}

// undecoded returns a source of the same elements as they are stored.
func (s *source) undecoded() *source {
	stored := *s
	stored.decoding, stored.typ = nil, s.stored
	return &stored
}

// becomeText makes text of the times of a source.
func (s *source) becomeText() error {
	s.decoding = s.decoding.instead
	s.typ = s.decoding.typ
	s.measure()
	return nil
}
