// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"context"
	"fmt"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
)

// mostNamed bounds the length of a coordinate that is read for a picture: the hours of a
// century.
const mostNamed = 1 << 20

// moments are the times of the elements along an axis.
type moments struct {
	calendar calendar.Calendar
	at       func(i int64) (calendar.Instant, bool) // false if the element has no time
}

// TimeNames returns a function that names elements of a picture by months and days, for
// axes with known times. A coordinate that cannot be read gives no names; the picture is
// correct without them.
func (d *Grid) TimeNames(ctx context.Context) func(axis int, elements grid.Interval) string {
	if d.Array == nil {
		return nil
	}
	known := map[int]*moments{} // nil for an axis without times
	return func(axis int, elements grid.Interval) string {
		m, asked := known[axis]
		if !asked {
			m = momentsOf(ctx, d.Array, axis)
			known[axis] = m
		}
		if m == nil {
			return ""
		}
		return m.name(elements)
	}
}

// momentsOf returns the times along an axis, from its coordinate or from a calendar
// policy that is stored with the array. It returns nil if there are none.
func momentsOf(ctx context.Context, a *zarr.Array, axis int) *moments {
	if names := a.DimensionNames(); axis < len(names) && names[axis] != "" && a.Shape()[axis] <= mostNamed {
		if c, err := cf.Coordinate(ctx, a, names[axis]); err == nil {
			defer c.Close()
			if m := coordinateMoments(ctx, c); m != nil {
				return m
			}
		}
	}
	s, along, found, err := growth.Of(a)
	if err != nil || !found || along != axis || s.Start == "" {
		return nil
	}
	steps, err := calendar.ParseSteps(s.Start, s.Step, s.Calendar)
	if err != nil {
		return nil
	}
	return &moments{steps.Calendar(), func(i int64) (calendar.Instant, bool) {
		t, err := steps.At(i)
		return t, err == nil && i >= 0
	}}
}

// coordinateMoments reads the times of a coordinate, or returns nil if it has none.
func coordinateMoments(ctx context.Context, c *zarr.Array) *moments {
	at, in, ok, err := cf.Instants(ctx, c)
	if err != nil || !ok {
		return nil
	}
	m := &moments{calendar: in}
	m.at = func(i int64) (t calendar.Instant, ok bool) {
		if i < 0 || i >= int64(len(at)) {
			return t, false
		}
		return at[i], true
	}
	return m
}

// date returns the day of an element. ok is false if it has none.
func (m *moments) date(i int64) (d calendar.Date, ok bool) {
	t, ok := m.at(i)
	if !ok {
		return d, false
	}
	d, err := m.calendar.Date(t.Day)
	return d, err == nil
}

// name returns the times of elements as text: whole years or months by name, else days.
func (m *moments) name(e grid.Interval) string {
	first, ok := m.date(e.Start)
	last, also := m.date(e.Stop - 1)
	if !ok || !also {
		return ""
	}
	// Name an axis that runs back in time from its other end.
	if m.isDecreasing(e) {
		back := &moments{m.calendar, func(i int64) (calendar.Instant, bool) { return m.at(-i) }}
		return back.name(grid.Interval{Start: 1 - e.Stop, Stop: 1 - e.Start})
	}
	if m.isWhole(e, first, last) {
		return monthsText(first, last)
	}
	return daysText(first, last)
}

// isDecreasing reports whether the last element is before the first one.
func (m *moments) isDecreasing(e grid.Interval) bool {
	first, _ := m.at(e.Start)
	last, _ := m.at(e.Stop - 1)
	return last.Compare(first) < 0
}

// isWhole reports whether the elements are all those of their months: no element of the
// first and the last month is outside, and none is missing that the ends of the axis
// tell.
func (m *moments) isWhole(e grid.Interval, first, last calendar.Date) bool {
	// Compare with the elements on both sides. At an end of the axis there is none, so
	// the day or the distance of elements decides.
	before, hasBefore := m.date(e.Start - 1)
	begins := hasBefore && !sameMonth(before, first) || !hasBefore && (first.Day == 1 || m.isMonthly(e.Start))
	after, hasAfter := m.date(e.Stop)
	full := last.Day == m.calendar.DaysIn(last.Year, last.Month)
	ends := hasAfter && !sameMonth(last, after) || !hasAfter && (full || m.isMonthly(e.Stop-2))
	return begins && ends
}

// isMonthly reports whether an element and the next one are about a month or more apart.
func (m *moments) isMonthly(i int64) bool {
	t, ok := m.at(i)
	next, also := m.at(i + 1)
	return ok && also && next.Day-t.Day >= 28
}

func sameMonth(a, b calendar.Date) bool { return a.Year == b.Year && a.Month == b.Month }

// monthsText formats whole months: Jan 2021, Jan–Mar 2021, 2021, 2021–2024.
func monthsText(first, last calendar.Date) string {
	switch {
	case sameMonth(first, last):
		return fmt.Sprintf("%s %d", monthText(first), first.Year)
	case first.Month == 1 && last.Month == 12 && first.Year == last.Year:
		return fmt.Sprint(first.Year)
	case first.Month == 1 && last.Month == 12:
		return fmt.Sprintf("%d–%d", first.Year, last.Year)
	case first.Year == last.Year:
		return fmt.Sprintf("%s–%s %d", monthText(first), monthText(last), last.Year)
	}
	return fmt.Sprintf("%s %d–%s %d", monthText(first), first.Year, monthText(last), last.Year)
}

// daysText formats days: 1 May 2021, 1–10 Apr 2021, 1 Feb–3 Mar 2021.
func daysText(first, last calendar.Date) string {
	end := fmt.Sprintf("%d %s %d", last.Day, monthText(last), last.Year)
	switch {
	case first == last:
		return end
	case sameMonth(first, last):
		return fmt.Sprintf("%d–%s", first.Day, end)
	case first.Year == last.Year:
		return fmt.Sprintf("%d %s–%s", first.Day, monthText(first), end)
	}
	return fmt.Sprintf("%d %s %d–%s", first.Day, monthText(first), first.Year, end)
}

func monthText(d calendar.Date) string { return time.Month(d.Month).String()[:3] }
