// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"strings"
	"time"

	"varve.dev/zarr/cf/calendar"
)

// parsePeriod parses a time and returns the period that it names: 2024-12 is a month,
// 2024-12-25 is a day, and 2024-12-25T06 is an hour. A month or a year selects all
// elements in it, as in xarray.
func parsePeriod(text string, c calendar.Calendar) (p span[calendar.Instant], err error) {
	if p.first, err = calendar.ParseInstant(text, c); err != nil {
		return p, invalid("%w%s", err, calendar.Hint(text, c))
	}
	date, clock := strings.TrimSpace(text), ""
	if i := strings.IndexAny(date, "Tt "); i > 0 {
		date, clock = date[:i], strings.TrimSpace(date[i+1:])
	}
	last := p.first
	// With a time of day, the last part that is given defines the length of the period.
	if length := clockLength(clock); length > 0 {
		last.Nano += length - 1
	} else {
		parts := strings.Count(date[1:], "-")
		if last.Day, err = dayAfter(p.first.Day, parts, c); err != nil {
			return p, invalid("%w", err)
		}
		p.plural = parts < 2
		// The last nanosecond before the day after the period.
		last.Nano--
	}
	// Normalize last. The period is at most a day long, so few steps are needed.
	for day := int64(24 * time.Hour); last.Nano < 0 || last.Nano >= day; {
		if last.Nano < 0 {
			last.Day, last.Nano = last.Day-1, last.Nano+day
		} else {
			last.Day, last.Nano = last.Day+1, last.Nano-day
		}
	}
	p.last = last
	return p, nil
}

// clockLength returns the precision of a time of day in nanoseconds: an hour for 06, a
// minute for 06:30, a tenth of a second for 06:30:15.5. It returns 0 for "".
func clockLength(clock string) int64 {
	if i := strings.IndexAny(clock, "Zz+- UGug"); i >= 0 {
		clock = clock[:i]
	}
	switch strings.Count(clock, ":") {
	case 0:
		if clock == "" {
			return 0
		}
		return int64(time.Hour)
	case 1:
		return int64(time.Minute)
	}
	length := int64(time.Second)
	_, fraction, _ := strings.Cut(clock, ".")
	for range min(len(fraction), 9) {
		length /= 10
	}
	return length
}

// dayAfter returns the first day after the period that begins at day. The period is a
// year if the date has no dash (parts is 0), a month if it has one, and otherwise a
// day.
func dayAfter(day int64, parts int, c calendar.Calendar) (int64, error) {
	d, err := c.Date(day)
	if err != nil || parts > 1 {
		return day + 1, err
	}
	if parts == 0 || d.Month == 12 {
		return c.Number(calendar.Date{Year: d.Year + 1, Month: 1, Day: 1})
	}
	return c.Number(calendar.Date{Year: d.Year, Month: d.Month + 1, Day: 1})
}
