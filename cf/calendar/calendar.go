// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"fmt"
	"strings"
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
