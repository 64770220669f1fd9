package calendar

import (
	"fmt"
	"strings"
)

// Calendar says which days there are. The zero value is [Standard], which CF metadata means where it names none.
type Calendar uint8

// The calendars of the CF conventions (section 4.4.1).
const (
	// Standard is the Julian calendar up to 1582-10-04 and the Gregorian one from the day after, 1582-10-15.
	Standard Calendar = iota
	// ProlepticGregorian is the Gregorian calendar at all times.
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

// names has the names of CF metadata; the first of a calendar is the one that is written.
var names = []struct {
	name     string
	calendar Calendar
}{
	{"standard", Standard}, {"gregorian", Standard}, {"proleptic_gregorian", ProlepticGregorian},
	{"noleap", NoLeap}, {"365_day", NoLeap}, {"all_leap", AllLeap}, {"366_day", AllLeap},
	{"360_day", Days360}, {"julian", Julian},
}

// Parse returns the calendar of a name in CF metadata, in capitals or not; the empty name is [Standard].
// Its errors wrap [ErrInvalid], or [ErrUnsupported] for names that CF has but that count no days as these do.
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
	return 0, invalid("calendar %.40q is not known; there are standard, proleptic_gregorian, noleap, all_leap, 360_day and julian", name)
}

// String returns the name that CF metadata has for the calendar.
func (c Calendar) String() string {
	for _, n := range names {
		if n.calendar == c {
			return n.name
		}
	}
	return fmt.Sprintf("Calendar(%d)", uint8(c))
}
