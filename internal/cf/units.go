// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
)

// Units are the attributes units and calendar of an array (CF conventions, section
// 4.4). Each is "" if it is not set or not a string.
type Units struct{ Units, Calendar string }

// UnitsOf returns the attributes of an array.
func UnitsOf(a *zarr.Array) Units {
	return Units{TextAttribute(a, "units"), TextAttribute(a, "calendar")}
}

// UnitsIn returns the units of an array, and looks for missing ones in its group. The
// bounds of a time coordinate inherit units and calendar from the coordinate (CF
// conventions, section 7.1). As in xarray, attributes of the bounds take precedence.
// UnitsIn fails only if its context is cancelled.
func UnitsIn(ctx context.Context, a *zarr.Array) (Units, error) {
	u := UnitsOf(a)
	if !IsNumeric(a.Type()) || u.Units != "" && (u.Calendar != "" || !u.isSince()) {
		return u, nil
	}
	of, err := boundedBy(ctx, a)
	if u.Units == "" {
		u.Units = of.Units
	}
	if u.Calendar == "" {
		u.Calendar = of.Calendar
	}
	return u, err
}

// isSince reports whether the numbers count from an epoch.
func (u Units) isSince() bool { return strings.Contains(u.Units, "since") }

// Times returns the conversion of numbers with these units to times. ok is false if the
// units have no epoch, or if the units or the calendar are not supported. In the second
// case Err returns the reason.
func (u Units) Times() (t Times, ok bool) {
	c, err := calendar.Parse(u.Calendar)
	if err != nil {
		return Times{}, false
	}
	t.Units, err = calendar.ParseUnits(u.Units, c)
	return t, err == nil
}

// Err returns the reason why units that count from an epoch cannot be converted to
// times. It returns nil if they can, or if the units have no epoch.
func (u Units) Err() error {
	if words := strings.Fields(u.Units); len(words) < 3 || !strings.EqualFold(words[1], "since") {
		return nil
	}
	c, err := calendar.Parse(u.Calendar)
	if err == nil {
		_, err = calendar.ParseUnits(u.Units, c)
	}
	return err
}

// Length returns the duration of the number 1. ok is false unless xarray decodes the
// units as a duration, such as "days". CF has other units of time, such as "s", which
// often measure something else, such as the period of a wave.
func (u Units) Length() (length time.Duration, ok bool) {
	unit, ok := timeUnits[u.Units]
	return unit.length, ok
}

// countsTime reports whether numbers are times or durations.
func (u Units) countsTime() bool {
	_, times := u.Times()
	_, durations := timeUnits[u.Units]
	return times || durations
}

// boundedBy returns the units of the time coordinate whose bounds a holds, or the zero
// Units if there is none. It tries the coordinates of the array's own dimensions first,
// because that needs no listing. It skips arrays that cannot be opened.
func boundedBy(ctx context.Context, a *zarr.Array) (Units, error) {
	dir, name := path.Split(a.Path())
	if name == "" {
		return Units{}, nil // the array is the root of its store
	}
	h, opt := a.Location().Root(), readOptions(a)
	for _, dimension := range a.DimensionNames() {
		if c, err := h.At(dir+dimension).OpenArray(ctx, opt); err == nil && dimension != "" {
			if c.Close(); boundsOf(c) == name {
				return UnitsOf(c), nil
			}
		}
	}
	g, err := h.At(strings.TrimSuffix(dir, "/")).OpenGroup(ctx, opt)
	if err != nil {
		return Units{}, ctx.Err() // an array may have no group around it
	}
	defer g.Close()
	for m := range g.Members(ctx, false) { // none in a store that cannot be listed
		if c, ok := m.Node.(*zarr.Array); ok && boundsOf(c) == name {
			return UnitsOf(c), nil
		}
	}
	return Units{}, ctx.Err()
}

// boundsOf returns the name of the array that holds the bounds of a time coordinate. It
// returns "" if the array is not a time coordinate or has no bounds.
func boundsOf(a *zarr.Array) string {
	if !UnitsOf(a).isSince() {
		return ""
	}
	return TextAttribute(a, "bounds")
}

// unitNames are other names of units in CF or UDUNITS.
var unitNames = map[string]string{
	"kelvin": "K", "Kelvin": "K", "degrees_K": "K", "degree_K": "K", "degK": "K",
	"degree_north": "degrees_north", "degree_N": "degrees_north", "degrees_N": "degrees_north",
	"degreeN": "degrees_north", "degreesN": "degrees_north",
	"degree_east": "degrees_east", "degree_E": "degrees_east", "degrees_E": "degrees_east",
	"degreeE": "degrees_east", "degreesE": "degrees_east",
}

// Alike reports whether every number has the same meaning in both units, however they are
// spelled: "days since 2000-1-1" and "days since 2000-01-01", or "K" and "kelvin".
func (u Units) Alike(o Units) bool {
	a, counts := u.Times()
	b, also := o.Times()
	switch {
	case counts && also:
		sameDays := a.Calendar() == b.Calendar() || a.IsReal() && b.IsReal()
		return sameDays && a.Length() == b.Length() && a.Origin() == b.Origin()
	case !counts && !also:
		return sameUnit(u.Units, o.Units)
	}
	return false
}

// sameUnit reports whether two names are for the same unit.
func sameUnit(a, b string) bool {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	if cmp.Or(unitNames[a], a) == cmp.Or(unitNames[b], b) {
		return true
	}
	x, y := timeLength(a), timeLength(b)
	return x > 0 && x == y
}

// timeLength returns the length of a unit of time, or 0 for any other unit. Without an
// epoch, symbols count as written: s is a second, S is siemens. Words may be in any case.
func timeLength(name string) time.Duration {
	if utf8.RuneCountInString(name) <= len("ms") && name != strings.ToLower(name) {
		return 0
	}
	u, err := calendar.ParseUnits(name+" since 2000-01-01", calendar.Standard)
	if err != nil {
		return 0
	}
	return u.Length()
}

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

// CanBe reports whether times of t can be counted in the units of o: if both have the
// same calendar, or both calendars are real. Real calendars differ before 1582-10-15;
// see [Times.Agree].
func (t Times) CanBe(o Times) bool {
	return t.Calendar() == o.Calendar() || t.IsReal() && o.IsReal()
}

// Agree returns an error if a time has different dates in the calendars of t and o. Call
// it only if [Times.CanBe] returns true.
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
