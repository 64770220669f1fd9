// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"strconv"
	"time"

	"varve.dev/zarr/calendar"
)

// Times converts the numbers of a time coordinate to times.
type Times struct{ calendar.Units }

// IsReal reports whether the calendar has the days of history, as [time.Time] does.
// Both such calendars number the days alike.
func (t Times) IsReal() bool {
	return t.Calendar() == calendar.Standard || t.Calendar() == calendar.ProlepticGregorian
}

// Instant returns the time of a number, which is written as in JSON. Integers are not
// rounded. A number that is not a time, such as NaN, is an error.
func (t Times) Instant(number string) (calendar.Instant, error) {
	if v, err := strconv.ParseInt(number, 10, 64); err == nil {
		return t.At(v)
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return calendar.Instant{}, err
	}
	return t.AtFloat(v)
}

// Text returns the time of a number in ISO 8601. If the units are days, a midnight is
// written as a date only. Other times are rounded to the microsecond, unless the units
// are shorter. ok is false for a number that is not a time, such as NaN.
func (t Times) Text(number string) (text string, ok bool) {
	at, err := t.Instant(number)
	if err != nil {
		return "", false
	}
	at = t.round(at)
	if day, err := t.Calendar().Date(at.Day); err == nil && t.Length()%(24*time.Hour) == 0 && at.Nano == 0 {
		return day.String(), true
	}
	return t.Calendar().Text(at), true
}

// round rounds a time to the microsecond, unless the units are shorter. Floating-point
// hours or days are not more precise than that.
func (t Times) round(at calendar.Instant) calendar.Instant {
	if t.Length() < time.Microsecond {
		return at
	}
	return at.Round(time.Microsecond)
}
