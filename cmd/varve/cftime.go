package main

import (
	"strconv"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/calendar"
)

// text returns how what is selected is written for people: as times where an array with one axis holds those.
func (s *source) text() func(elem []byte) string {
	plain := spelling(s.typ)
	axis, ok := timesOf(s.array)
	if !ok || s.array.Rank() != 1 || s.decoding != nil {
		return plain
	}
	return func(elem []byte) string {
		text := plain(elem)
		if at, ok := axis.at(text); ok {
			return at
		}
		return text
	}
}

// timesOf returns what the numbers of an array count if they are times as CF has them.
func timesOf(a *zarr.Array) (timeAxis, bool) {
	if !isNumeric(a.Type()) {
		return timeAxis{}, false
	}
	return parseTimeAxis(attribute(a, "units"), attribute(a, "calendar"))
}

// attribute returns a user attribute that is a text, else "".
func attribute(a *zarr.Array, name string) string {
	v, err := attributeValue(a, name)
	if err != nil {
		return ""
	}
	text, _ := v.Str() // "" for any other kind of value
	return text
}

// timeAxis is what the numbers of a time coordinate count.
type timeAxis struct{ calendar.Units }

// parseTimeAxis reads units and calendar. Calendars other than the one in use are not converted: those numbers stay numbers,
// and so do times of the standard calendar, which is the Julian one at first, that count from before 1582-10-15. Units are
// seconds to days.
func parseTimeAxis(units, name string) (timeAxis, bool) {
	c, err := calendar.Parse(name)
	if err != nil || c != calendar.Standard && c != calendar.ProlepticGregorian {
		return timeAxis{}, false
	}
	u, err := calendar.ParseUnits(units, calendar.ProlepticGregorian)
	if err != nil || u.Length() < time.Second || u.Length() > 24*time.Hour {
		return timeAxis{}, false
	}
	reform, err := calendar.ProlepticGregorian.Number(calendar.Date{Year: 1582, Month: 10, Day: 15})
	julian := c == calendar.Standard && u.Origin().Day < reform
	return timeAxis{u}, err == nil && !julian
}

// at returns the time that a number stands for. It is false for NaN and for times beyond the years 1 to 9999.
func (a timeAxis) at(number string) (string, bool) {
	t, err := a.instant(number)
	if err != nil {
		return "", false
	}
	t = t.Round(time.Microsecond)
	day, err := a.Calendar().Date(t.Day)
	if err != nil || day.Year < 1 || day.Year > 9999 {
		return "", false
	}
	if a.Length() == 24*time.Hour && t.Nano == 0 {
		return day.String(), true
	}
	return a.Calendar().Text(t), true
}

// instant reads a number as a whole one where it is.
func (a timeAxis) instant(number string) (calendar.Instant, error) {
	if v, err := strconv.ParseInt(number, 10, 64); err == nil {
		return a.At(v)
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return calendar.Instant{}, err
	}
	return a.AtFloat(v)
}
