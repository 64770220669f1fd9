package main

import (
	"context"
	"path"
	"strings"

	"varve.dev/zarr"
)

// counting is what the numbers of an array count: its attributes units and calendar, ""
// where there is none that is a text.
type counting struct{ units, calendar string }

// countingOf returns what the attributes of an array say.
func countingOf(a *zarr.Array) counting {
	return counting{attribute(a, "units"), attribute(a, "calendar")}
}

// countingIn returns what the numbers of an array count in its group. Bounds of a time
// coordinate need no attributes of their own: they count as the coordinate does (CF
// conventions, section 7.1). As in xarray, an attribute that they have wins.
func countingIn(ctx context.Context, a *zarr.Array) (counting, error) {
	c := countingOf(a)
	if !isNumeric(a.Type()) || c.units != "" && (c.calendar != "" || !c.isSince()) {
		return c, nil
	}
	of, err := boundedBy(ctx, a)
	if c.units == "" {
		c.units = of.units
	}
	if c.calendar == "" {
		c.calendar = of.calendar
	}
	return c, err
}

// isSince reports whether numbers count from a moment.
func (c counting) isSince() bool { return strings.Contains(c.units, "since") }

// axis returns the times that numbers stand for.
func (c counting) axis() (timeAxis, bool) { return parseTimeAxis(c.units, c.calendar) }

// isTime reports whether numbers are times or lengths of time.
func (c counting) isTime() bool {
	_, ok := c.axis()
	_, also := timeUnits[c.units]
	return ok || also
}

// boundedBy returns what the time coordinate counts whose bounds an array is, the zero
// counting if it is of none. Coordinates of its own dimensions are tried first, which
// takes no listing. An array that cannot be opened is no coordinate: check tells of it.
func boundedBy(ctx context.Context, a *zarr.Array) (counting, error) {
	dir, name := path.Split(a.Path())
	if name == "" {
		return counting{}, nil // a store that was opened at the array
	}
	h := a.Location().Root()
	for _, dimension := range a.DimensionNames() {
		if c, err := h.At(dir+dimension).OpenArray(ctx, nil); err == nil && dimension != "" {
			if c.Close(); bounds(c) == name {
				return countingOf(c), nil
			}
		}
	}
	g, err := h.At(strings.TrimSuffix(dir, "/")).OpenGroup(ctx, nil)
	if err != nil {
		return counting{}, ctx.Err() // an array need not be in a group
	}
	defer g.Close()
	for m := range g.Members(ctx, false) { // of a store that cannot be listed there are none
		if c, ok := m.Node.(*zarr.Array); ok && bounds(c) == name {
			return countingOf(c), nil
		}
	}
	return counting{}, ctx.Err()
}

// bounds returns the name of the array with the bounds of a time coordinate, "" of any
// other array.
func bounds(a *zarr.Array) string {
	if !countingOf(a).isSince() {
		return ""
	}
	return attribute(a, "bounds")
}
