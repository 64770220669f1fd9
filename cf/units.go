// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"context"
	"path"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/calendar"
)

// Units are the attributes units and calendar of an array (CF conventions, section 4.4).
// Each is "" if it is missing or no string.
type Units struct{ Units, Calendar string }

// UnitsOf returns the attributes of an array.
func UnitsOf(a *zarr.Array) Units {
	return Units{textAttribute(a, "units"), textAttribute(a, "calendar")}
}

// UnitsIn returns what the numbers of an array count, given the other arrays of its
// group. The bounds of a time coordinate need no attributes of their own: they have those
// of the coordinate (CF conventions, section 7.1). As in xarray, an attribute of the
// bounds takes precedence. UnitsIn fails if its context is cancelled.
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

// isSince reports whether numbers count from a moment.
func (u Units) isSince() bool { return strings.Contains(u.Units, "since") }

// Times returns the times that numbers stand for. ok is false if the units count from no
// moment, or in a way that this version does not know; Err tells why.
func (u Units) Times() (t Times, ok bool) {
	c, err := calendar.Parse(u.Calendar)
	if err != nil {
		return Times{}, false
	}
	t.Units, err = calendar.ParseUnits(u.Units, c)
	return t, err == nil
}

// Err returns why the numbers of an array with these units cannot be converted to times,
// although they count from a moment. It is nil if they can, or if they count something
// else.
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

// Length returns the duration that the number 1 stands for. ok is false if the units are
// no unit of time that xarray knows, such as "days". CF has others, such as "s", which
// are as often part of a velocity or a period.
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

// boundedBy returns the units of the time coordinate whose bounds an array has, the zero
// Units if there is none. It tries the coordinates of the array's own dimensions first,
// which takes no listing. An array that cannot be opened is skipped.
func boundedBy(ctx context.Context, a *zarr.Array) (Units, error) {
	dir, name := path.Split(a.Path())
	if name == "" {
		return Units{}, nil // the array is the root of its store
	}
	h := a.Location().Root()
	for _, dimension := range a.DimensionNames() {
		if c, err := h.At(dir+dimension).OpenArray(ctx, nil); err == nil && dimension != "" {
			if c.Close(); boundsOf(c) == name {
				return UnitsOf(c), nil
			}
		}
	}
	g, err := h.At(strings.TrimSuffix(dir, "/")).OpenGroup(ctx, nil)
	if err != nil {
		return Units{}, ctx.Err() // an array need not be in a group
	}
	defer g.Close()
	for m := range g.Members(ctx, false) { // none in a store that cannot be listed
		if c, ok := m.Node.(*zarr.Array); ok && boundsOf(c) == name {
			return UnitsOf(c), nil
		}
	}
	return Units{}, ctx.Err()
}

// boundsOf returns the name of the array that has the bounds of a time coordinate, "" if
// an array is no time coordinate or has no bounds.
func boundsOf(a *zarr.Array) string {
	if !UnitsOf(a).isSince() {
		return ""
	}
	return textAttribute(a, "bounds")
}
