// SPDX-License-Identifier: Apache-2.0

// Package calendar implements the calendars of the CF conventions, so that time axes can
// be cut by month or by year. It only does arithmetic, no I/O.
//
//	u, err := calendar.ParseUnits("days since 1950-01-01", calendar.NoLeap)
//	lengths, err := calendar.Edges(values, u, calendar.Month) // 31, 28, 31, …
//
// A [Calendar] converts between a [Date] and a day number. An [Instant] is a day number
// and the nanoseconds within that day, so it is exact over millions of years. [Units]
// convert between the numbers of a time coordinate ("hours since 1900-01-01") and
// instants. [Steps] are evenly spaced times without a coordinate.
//
// A bucket is a month or a year ([Unit]) of an axis. [Edges] returns the number of
// elements in each bucket, which are the lengths of chunks with one bucket each.
// [Buckets] answers questions about a growing axis: where the next bucket begins, and
// whether a bucket begins at an edge. [Continue] looks beyond evenly spaced values, and
// [Predict] to the end of the last bucket of others.
//
// Years are astronomical in every calendar: the year before 1 is 0, and the year before
// that is -1. There are no leap seconds. An element belongs to the bucket that holds its
// coordinate value, whatever its bounds are.
package calendar

import (
	"errors"
	"fmt"
	"strings"

	"varve.dev/zarr/internal/sentinel"
)

// Calendar determines which dates exist. The zero value is [Standard], the default of CF
// metadata.
type Calendar uint8

// The calendars of the CF conventions (section 4.4.1).
const (
	// Standard is the Julian calendar up to 1582-10-04 and the Gregorian calendar from
	// the next day on, 1582-10-15.
	Standard Calendar = iota
	// ProlepticGregorian is the Gregorian calendar for all dates.
	ProlepticGregorian
	// NoLeap has 365 days in every year.
	NoLeap
	// AllLeap has 366 days in every year.
	AllLeap
	// Days360 has twelve months of 30 days.
	Days360
	// Julian has a leap year every four years.
	Julian
)

// names lists the names in CF metadata. The first name of a calendar is the one that is
// written.
var names = []struct {
	name     string
	calendar Calendar
}{
	{"standard", Standard}, {"gregorian", Standard}, {"proleptic_gregorian", ProlepticGregorian},
	{"noleap", NoLeap}, {"365_day", NoLeap}, {"all_leap", AllLeap}, {"366_day", AllLeap},
	{"360_day", Days360}, {"julian", Julian},
}

// Parse returns the calendar for a name in CF metadata, in upper or lower case. The empty
// name is [Standard]. The error wraps [ErrUnsupported] for names of CF whose calendars do
// not count days in this way, and [ErrInvalid] for all others.
func Parse(name string) (Calendar, error) {
	lower := strings.ToLower(strings.TrimSpace(name))
	if lower == "" {
		return Standard, nil
	}
	for _, n := range names {
		if n.name == lower {
			return n.calendar, nil
		}
	}
	switch lower {
	case "utc", "tai":
		return 0, fmt.Errorf("%w: calendar %q, which depends on leap seconds", ErrUnsupported, lower)
	case "none":
		return 0, fmt.Errorf("%w: calendar %q, which has no dates", ErrUnsupported, lower)
	}
	return 0, invalid("calendar %.40q is unknown; use standard, proleptic_gregorian, noleap, all_leap, 360_day or julian", name)
}

// String returns the name of the calendar in CF metadata.
func (c Calendar) String() string {
	for _, n := range names {
		if n.calendar == c {
			return n.name
		}
	}
	return fmt.Sprintf("Calendar(%d)", uint8(c))
}

// maxYear bounds years on both sides of 0, so that sums of days and of months never
// overflow int64.
const maxYear = 1 << 40

// maxDay bounds day numbers in the same way. In every calendar maxYear years have more
// days.
const maxDay = 360 * (maxYear - 1970)

// Day number of the beginning of the Gregorian calendar, and the number of days by which
// the Julian calendar lags behind in 1970.
const (
	reform    = -141427 // 1582-10-15
	julianLag = 13
)

// Date is a date in a calendar.
type Date struct {
	Year       int64 // 0 is the year before 1
	Month, Day int   // from 1
}

// String returns the date in ISO 8601, 2006-01-02. Years before 0 have a sign.
func (d Date) String() string {
	if d.Year < 0 {
		return fmt.Sprintf("-%04d-%02d-%02d", -d.Year, d.Month, d.Day)
	}
	return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day)
}

// Number returns the day number of a date. Day 0 is 1970-01-01 of the same calendar. The
// error wraps [ErrInvalid] if the calendar has no such date, and [ErrOverflow] if the
// year is more than 2^40 years from 0.
func (c Calendar) Number(d Date) (int64, error) {
	// Check first, so that nothing below overflows.
	if d.Year < -maxYear || d.Year > maxYear {
		return 0, fmt.Errorf("%w: year %d", ErrOverflow, d.Year)
	}
	if d.Month < 1 || d.Month > 12 {
		return 0, invalid("date %v: there is no month %d", d, d.Month)
	}
	if last := c.lastDay(d.Year, d.Month); d.Day < 1 || d.Day > last || c.skips(d) {
		return 0, invalid("date %v: calendar %v has no such day", d, c)
	}
	n := c.dayOf(d.Year*12+int64(d.Month)-1, d.Day)
	if n < -maxDay || n > maxDay {
		return 0, fmt.Errorf("%w: year %d", ErrOverflow, d.Year)
	}
	return n, nil
}

// Date returns the date for a day number as [Calendar.Number] counts. The error wraps
// [ErrOverflow] for days about 2^40 years away.
func (c Calendar) Date(number int64) (Date, error) {
	if number < -maxDay || number > maxDay {
		return Date{}, fmt.Errorf("%w: day %d", ErrOverflow, number)
	}
	return c.date(number), nil
}

// DaysIn returns the number of days of a month, or 0 if the calendar has no such month.
func (c Calendar) DaysIn(year int64, month int) int {
	if year < -maxYear || year > maxYear || month < 1 || month > 12 {
		return 0
	}
	// The reform left out ten days of this month.
	if c == Standard && year == 1582 && month == 10 {
		return 21
	}
	return c.lastDay(year, month)
}

// date is Date without the check of the range.
func (c Calendar) date(number int64) Date {
	if c == Standard {
		// Before the reform the standard calendar is the Julian one, with another day 0.
		if number < reform {
			return Julian.date(number - julianLag)
		}
		c = ProlepticGregorian
	}
	cycle, days := c.cycle()
	year := 1970 + floorDiv(number*cycle, days) // estimate, off by at most one
	for c.yearStart(year) > number {
		year--
	}
	for c.yearStart(year+1) <= number {
		year++
	}
	of := int(number - c.yearStart(year))
	starts := c.starts(year)
	month := of / 31 // estimate, may be one too low
	if month < 11 && starts[month+1] <= of {
		month++
	}
	return Date{year, month + 1, of - starts[month] + 1}
}

// monthStart returns the number of the first day of a month. Months count from January of
// year 0.
func (c Calendar) monthStart(month int64) int64 {
	if c == Standard {
		if month <= 1582*12+9 {
			return Julian.monthStart(month) + julianLag
		}
		c = ProlepticGregorian
	}
	year := floorDiv(month, 12)
	return c.yearStart(year) + int64(c.starts(year)[month-year*12])
}

// dayOf returns the number of a day of a month. If the month has no such day, it is that
// of the last day before it.
func (c Calendar) dayOf(month int64, day int) int64 {
	year := floorDiv(month, 12)
	d := Date{year, int(month-12*year) + 1, day}
	d.Day = min(d.Day, c.lastDay(d.Year, d.Month))
	// After the 4th came the 15th, so later days count 10 less.
	if c == Standard && d.Year == 1582 && d.Month == 10 && d.Day > 4 {
		d.Day = max(d.Day-10, 4)
	}
	return c.monthStart(month) + int64(d.Day) - 1
}

// yearStart returns the number of the first day of a year. c must not be
// [Standard], whose rule for leap years changes in 1582.
func (c Calendar) yearStart(year int64) int64 {
	// Day 0 is in 1970. The constants below are the leap days before it.
	y := year - 1970
	switch c {
	case NoLeap:
		return 365 * y
	case AllLeap:
		return 366 * y
	case Days360:
		return 360 * y
	case Julian:
		return 365*y + floorDiv(year+3, 4) - 493
	}
	return 365*y + floorDiv(year+3, 4) - floorDiv(year+99, 100) + floorDiv(year+399, 400) - 478
}

// cycle returns the period of the calendar in years and in days.
func (c Calendar) cycle() (years, days int64) {
	switch c {
	case NoLeap:
		return 1, 365
	case AllLeap:
		return 1, 366
	case Days360:
		return 1, 360
	case Julian:
		return 4, 1461
	}
	return 400, 146097
}

// Days before each month of a year.
var (
	common = [12]int{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334}
	leap   = [12]int{0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335}
	even   = [12]int{0, 30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 330}
)

// starts returns the days before each month of a year.
func (c Calendar) starts(year int64) *[12]int {
	switch {
	case c == Days360:
		return &even
	case c.isLeap(year):
		return &leap
	}
	return &common
}

// isLeap reports whether February of the year has 29 days.
func (c Calendar) isLeap(year int64) bool {
	switch {
	case c == NoLeap || c == Days360 || year%4 != 0:
		return c == AllLeap
	case c == AllLeap || c == Julian || c == Standard && year <= 1582:
		return true
	}
	return year%100 != 0 || year%400 == 0
}

// lastDay returns the number of the last day of a month.
func (c Calendar) lastDay(year int64, month int) int {
	switch {
	case c == Days360:
		return 30
	case month == 2 && c.isLeap(year):
		return 29
	case month == 12:
		return 31
	}
	return common[month] - common[month-1]
}

// skips reports whether the reform of the calendar left out a date.
func (c Calendar) skips(d Date) bool {
	return c == Standard && d.Year == 1582 && d.Month == 10 && d.Day > 4 && d.Day < 15
}

// floorDiv returns a/b rounded down. b must be positive.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

var (
	// ErrInvalid means that a text, a date or a coordinate value is malformed. Correct
	// it.
	ErrInvalid = errors.New("invalid time or calendar")
	// ErrUnsupported means that a calendar or a unit of time is known but not supported,
	// because its lengths are not fixed.
	ErrUnsupported = sentinel.New("not supported", sentinel.ErrUnsupported)
	// ErrOverflow means that a time is more than 2^40 years away or that a number
	// overflows int64.
	ErrOverflow = errors.New("time out of range")
	// ErrOutOfRange means that the coordinate is too short to define the time of an
	// element. Extend the coordinate first.
	ErrOutOfRange = errors.New("coordinate too short")
	// ErrIrregular means that the values of a coordinate are not evenly spaced, so that
	// the next one is unknown. Supply the values of new elements as well.
	ErrIrregular = errors.New("coordinate cannot be continued")
	// ErrUnaligned means that an index lies within a bucket instead of at its beginning.
	ErrUnaligned = errors.New("not where a month or a year begins")
	// ErrLimit means that a result would have more than 1,048,576 entries.
	ErrLimit = errors.New("too many months or years")
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// onElement adds the index of the element to err.
func onElement(i int64, err error) error { return fmt.Errorf("%w, at element %d", err, i) }
