// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"fmt"
	"strings"
)

// Unit is the unit of a bucket: a month or a year of the calendar.
type Unit uint8

// The units of buckets. The zero value is invalid.
const (
	Month Unit = iota + 1
	Year
)

// ParseUnit parses "month" or "year", in upper or lower case. The error wraps
// [ErrInvalid].
func ParseUnit(text string) (Unit, error) {
	switch strings.ToLower(text) {
	case "month", "months":
		return Month, nil
	case "year", "years":
		return Year, nil
	}
	return 0, invalid("calendar unit %q: use month or year", clip(text))
}

// String returns "month" or "year".
func (u Unit) String() string {
	switch u {
	case Month:
		return "month"
	case Year:
		return "year"
	}
	return fmt.Sprintf("Unit(%d)", uint8(u))
}

// check returns an error if the unit is invalid.
func (u Unit) check() error {
	if u != Month && u != Year {
		return invalid("%v is not a calendar unit; use Month or Year", u)
	}
	return nil
}

// after returns the month that begins the next bucket. Months count from January of year
// 0.
func (u Unit) after(month int64) int64 {
	if u == Year {
		return (floorDiv(month, 12) + 1) * 12
	}
	return month + 1
}

// month returns the month of a day, counted from January of year 0. The day must be in
// range.
func (c Calendar) month(day int64) int64 {
	d := c.date(day)
	return d.Year*12 + int64(d.Month) - 1
}

// end returns the first day after the bucket that holds day.
func (c Calendar) end(day int64, u Unit) int64 { return c.monthStart(u.after(c.month(day))) }
