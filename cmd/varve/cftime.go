package main

import (
	"strconv"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/calendar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// textOf returns how elements of an array are written for people: as times where it holds those, else as numbers.
func textOf(a *zarr.Array) func(elem []byte) string {
	t := a.Type()
	if t.Kind() == dtype.Bool {
		return boolText
	}
	number := func(elem []byte) string { return string(t.AppendText(nil, elem)) }
	numeric := t.Kind() == dtype.Int || t.Kind() == dtype.Uint || t.Kind() == dtype.Float
	if a.Rank() != 1 || !numeric {
		return number
	}
	axis, ok := parseTimeAxis(attribute(a, "units"), attribute(a, "calendar"))
	if !ok {
		return number
	}
	return func(elem []byte) string {
		text := number(elem)
		if at, ok := axis.at(text); ok {
			return at
		}
		return text
	}
}

// boolText returns a bool as NumPy prints it.
func boolText(elem []byte) string {
	if elem[0] != 0 {
		return "True"
	}
	return "False"
}

// attribute returns a user attribute that is a text, else "".
func attribute(a *zarr.Array, name string) string {
	raw, ok, err := metadata.Attribute(a.Attributes(), name)
	if err != nil || !ok {
		return ""
	}
	v, err := strictjson.Parse(raw, strictjson.Limits{})
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
