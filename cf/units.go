// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"context"
	"path"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
)

// Units are the attributes units and calendar of an array (CF conventions, section
// 4.4). Each is "" if it is not set or not a string.
type Units struct{ Units, Calendar string }

// UnitsOf returns the attributes of an array.
func UnitsOf(a *zarr.Array) Units {
	return Units{textAttribute(a, "units"), textAttribute(a, "calendar")}
}

// UnitsIn returns the units of an array, and looks for missing ones in its group. The
// bounds of a time coordinate inherit units and calendar from the coordinate (CF
// conventions, section 7.1). As in xarray, attributes of the bounds take precedence.
// UnitsIn fails only if its context is cancelled.
func UnitsIn(ctx context.Context, a *zarr.Array) (Units, error) {
	u := UnitsOf(a)
	if !isNumeric(a.Type()) || u.Units != "" && (u.Calendar != "" || !u.isSince()) {
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
	h, opt := a.Location().Root(), reading(a)
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
	return textAttribute(a, "bounds")
}
