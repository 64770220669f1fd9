// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"fmt"
	"strconv"
	"time"

	"varve.dev/zarr/cf/calendar"
)

// Times converts the numbers of a time coordinate to times.
type Times struct{ calendar.Units }

// IsReal reports whether the calendar has the days of history, as [time.Time] does.
// Both such calendars number the days alike.
func (t Times) IsReal() bool {
	return t.Calendar() == calendar.Standard || t.Calendar() == calendar.ProlepticGregorian
}

// reform is 1582-10-15, the day from which on the real calendars agree, counted from
// 1970.
const reform = -141427

// CanBe reports whether times of t can be counted in the units of o: their calendars are
// one, or both are real. Real calendars differ before 1582-10-15; see [Times.Agree].
func (t Times) CanBe(o Times) bool {
	return t.Calendar() == o.Calendar() || t.IsReal() && o.IsReal()
}

// Agree returns an error if a time, which t can be in o, has other dates in the two
// calendars.
func (t Times) Agree(o Times, at calendar.Instant) error {
	if t.Calendar() != o.Calendar() && at.Day < reform {
		return fmt.Errorf("calendar %v and calendar %v differ before 1582-10-15", t.Calendar(), o.Calendar())
	}
	return nil
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
