// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"cmp"
	"strings"
	"time"
	"unicode/utf8"

	"varve.dev/zarr/cf/calendar"
)

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
