package main

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr"
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

// timeAxis is what the numbers of a time coordinate count (CF conventions, "Time Coordinate").
type timeAxis struct {
	unit  time.Duration
	since time.Time
}

// timeUnits are the units that are known, by the beginnings of their names.
var timeUnits = []struct {
	names []string
	unit  time.Duration
}{
	{[]string{"days", "day", "d"}, 24 * time.Hour},
	{[]string{"hours", "hour", "hr", "h"}, time.Hour},
	{[]string{"minutes", "minute", "min"}, time.Minute},
	{[]string{"seconds", "second", "sec", "s"}, time.Second},
}

// timeLayouts are the spellings of the moment that is counted from.
var timeLayouts = []string{
	"2006-1-2", "2006-1-2 15:4", "2006-1-2 15:4:5", "2006-1-2T15:4", "2006-1-2T15:4:5",
}

// parseTimeAxis reads units and calendar. Calendars other than the one in use are not converted: those numbers stay numbers,
// and so do times of the standard calendar, which is the Julian one at first, that count from before 1582-10-15.
func parseTimeAxis(units, calendar string) (timeAxis, bool) {
	name, moment, ok := strings.Cut(units, " since ")
	calendar = strings.ToLower(calendar)
	if !ok || !slices.Contains([]string{"", "standard", "gregorian", "proleptic_gregorian"}, calendar) {
		return timeAxis{}, false
	}
	axis := timeAxis{}
	for _, u := range timeUnits {
		if slices.Contains(u.names, strings.ToLower(strings.TrimSpace(name))) {
			axis.unit = u.unit
		}
	}
	moment = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(moment), "Z"), " UTC")
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, strings.TrimSpace(moment)); err == nil {
			axis.since = t
			julian := calendar != "proleptic_gregorian" && t.Before(time.Date(1582, 10, 15, 0, 0, 0, 0, time.UTC))
			return axis, axis.unit > 0 && !julian
		}
	}
	return timeAxis{}, false
}

// at returns the time that a number stands for. It is false for NaN and for times beyond the years 1 to 9999.
func (a timeAxis) at(number string) (string, bool) {
	x, err := strconv.ParseFloat(number, 64)
	seconds := x * a.unit.Seconds()
	if err != nil || !(math.Abs(seconds) < 4e11) {
		return "", false
	}
	whole, fraction := math.Modf(seconds)
	t := time.Unix(a.since.Unix()+int64(whole), int64(math.Round(fraction*1e6))*1e3).UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		return "", false
	}
	if a.unit == 24*time.Hour && t.Equal(t.Truncate(a.unit)) {
		return t.Format(time.DateOnly), true
	}
	return t.Format("2006-01-02T15:04:05.999999"), true
}
