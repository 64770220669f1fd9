// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/selection"
)

// Lookup selects elements along a dimension by the values of its [Coordinate].
// [selection.Parser] calls such a function to parse time=2024-01-15.
//
// A single value selects the nearest element, as in pandas and xarray. A value beyond
// the ends of the coordinate is an error if it is farther from the nearest element than
// that is from its neighbour. A month or a year selects all elements in it. A range
// includes both bounds, and the coordinate must rise or fall. Text selects the equal
// element. Times are dates in the calendar of the coordinate. Durations are written as
// 6h or 1d12h.
//
// If no element matches or a value is malformed, the error wraps
// [zarr.ErrInvalidArgument]. If no element is in a range, a month or a year, it wraps
// [ErrEmptyRange].
func Lookup(ctx context.Context, a *zarr.Array, dimension string, v selection.Values) (item selection.Item, err error) {
	c, err := Coordinate(ctx, a, dimension)
	if err != nil {
		return item, err
	}
	defer c.Close()
	switch k := c.Type().Kind(); k {
	case dtype.KindString, dtype.KindUTF32, dtype.KindBytes, dtype.KindTerminated:
		item, err = labelled(ctx, c, v)
	case dtype.KindDatetime:
		item, err = momentsBetween(ctx, c, v)
	case dtype.KindTimedelta:
		item, err = durationsBetween(ctx, c, v)
	case dtype.KindInt, dtype.KindUint, dtype.KindFloat:
		if t, ok := UnitsOf(c).Times(); ok {
			item, err = timesBetween(ctx, c, t, v)
		} else {
			item, err = numbersBetween(ctx, c, v)
		}
	default:
		err = invalid("elements of type %s cannot be selected by value; select by index, as %s=0:10", c.Type(), dimension)
	}
	if err != nil {
		err = fmt.Errorf("coordinate %s: %w", c.Path(), err)
	}
	return item, err
}

// labelled selects the only element of a text coordinate with the given label.
func labelled(ctx context.Context, c *zarr.Array, v selection.Values) (item selection.Item, err error) {
	if v.IsRange() {
		return item, invalid("ranges of text are not supported; give one label, or a range of indices such as 3:7")
	}
	var labels []string
	if err := eachText(ctx, c, func(text string) error { labels = append(labels, text); return nil }); err != nil {
		return item, err
	}
	i := slices.Index(labels, v.Single)
	switch {
	case i < 0:
		return item, &LabelError{v.Single, labels}
	// An index selects one element, so the label must be unique.
	case slices.Contains(labels[i+1:], v.Single):
		return item, invalid("several elements are %q; select by index", v.Single)
	}
	return selection.At(int64(i)), nil
}

// timesBetween selects by the times of a CF coordinate.
func timesBetween(ctx context.Context, c *zarr.Array, t Times, v selection.Values) (selection.Item, error) {
	o := instants(t.Calendar())
	err := eachText(ctx, c, func(text string) error {
		at, err := t.Instant(text)
		o.add(at, err == nil)
		return nil
	})
	if err != nil {
		return selection.Item{}, err
	}
	return findPeriod(o, v, t.Calendar())
}

// momentsBetween selects by a coordinate of type datetime64.
func momentsBetween(ctx context.Context, c *zarr.Array, v selection.Values) (selection.Item, error) {
	const real = calendar.ProlepticGregorian
	o := instants(real)
	err := eachText(ctx, c, func(text string) error {
		t, err := calendar.ParseInstant(text, real)
		o.add(t, err == nil)
		return nil
	})
	if err != nil {
		return selection.Item{}, err
	}
	return findPeriod(o, v, real)
}

// instants returns empty ordinates for times.
func instants(c calendar.Calendar) *ordinates[calendar.Instant] {
	return &ordinates[calendar.Instant]{
		dates: true, compare: calendar.Instant.Compare, text: c.Text,
		distance: func(a, b calendar.Instant) float64 {
			return math.Abs(float64(a.Day-b.Day)*float64(24*time.Hour) + float64(a.Nano-b.Nano))
		},
	}
}

// findPeriod returns the elements that times select. A number of few digits beside a date
// is an index, and not a year of antiquity.
func findPeriod(o *ordinates[calendar.Instant], v selection.Values, c calendar.Calendar) (selection.Item, error) {
	if err := errMixed(v.From, v.To); err != nil {
		return selection.Item{}, err
	}
	return o.find(v, func(text string) (span[calendar.Instant], error) { return parsePeriod(text, c) })
}

// numbersBetween selects by numbers. Packed coordinates are unpacked first, as CF
// requires. If the numbers have a unit of time, a value may also be a duration such as
// 6h.
func numbersBetween(ctx context.Context, c *zarr.Array, v selection.Values) (selection.Item, error) {
	p, err := PackingOf(ctx, c)
	if err != nil {
		return selection.Item{}, err
	}
	p = p.OfCoordinate()
	o := &ordinates[float64]{
		compare:  cmp.Compare[float64],
		text:     func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) },
		distance: func(a, b float64) float64 { return math.Abs(a - b) },
	}
	u := UnitsOf(c)
	unit, timed := timeUnits[u.Units]
	if timed {
		number := o.text
		o.text = func(x float64) string { return number(x) + " " + u.Units }
	}
	err = each(ctx, c, func(elem []byte) error {
		x, there := p.value(p.number(elem)), p.HasValue(elem)
		// Different integers would compare equal as float64.
		if there && math.Abs(x) > 1<<53 && !p.isFloat() {
			return invalid("%s is too large to compare exactly; select by index", o.text(x))
		}
		o.add(x, there)
		return nil
	})
	if err != nil {
		return selection.Item{}, err
	}
	return o.find(v, func(text string) (b span[float64], err error) {
		x, err := p.parse(text, unit, timed)
		// These times are not decoded, and a whole number may be meant as a year.
		if why := u.Err(); why != nil && (err != nil || !strings.Contains(text, ".")) {
			err = invalid("its times are left as numbers: %w; select by index, or by a number with a decimal point", why)
		}
		if err != nil {
			return b, err
		}
		slack := 0.0
		if p.scaled { // in floating point, 3 times 0.1 differs from 0.3
			slack = math.Abs(p.scale) * 1e-6
		}
		return span[float64]{first: x - slack, last: x + slack}, nil
	})
}

// parse parses a number, or a duration if timed. It rounds the result to the type of
// the coordinate's elements, because 10.1 as float32 differs from 10.1 as float64.
func (p *Packing) parse(text string, unit timeUnit, timed bool) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil && timed {
		if x, err = ParseDuration(text); err != nil {
			return 0, err
		}
		x /= float64(unit.length)
	}
	if err != nil || math.IsNaN(x) {
		return 0, invalid("%q is not a number, and the values are numbers without a unit of time", text)
	}
	// Unpacked numbers are float64, and integers are compared exactly.
	if p.scaled || !p.isFloat() {
		return x, nil
	}
	if elem, err := p.stored.ParseText(strconv.FormatFloat(x, 'g', -1, 64)); err == nil {
		if rounded := p.number(elem); !math.IsInf(rounded, 0) {
			return rounded, nil
		}
	}
	return x, nil
}
