package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/calendar"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/selection"
)

// lookup returns the elements of an array along a dimension that have coordinate values.
// They are those of the array with one axis that is named as the dimension, in the same
// group or the nearest one above, as CF and xarray have it.
func lookup(ctx context.Context, a *zarr.Array, dimension string, v selection.Values) (item selection.Item, err error) {
	c, err := coordinateOf(ctx, a, dimension)
	if err != nil {
		return item, err
	}
	defer c.Close()
	switch k := c.Type().Kind(); k {
	case dtype.String, dtype.UTF32, dtype.Bytes, dtype.Terminated:
		item, err = labelled(ctx, c, v)
	case dtype.Datetime:
		item, err = momentsBetween(ctx, c, v)
	case dtype.Timedelta:
		item, err = durationsBetween(ctx, c, v)
	case dtype.Int, dtype.Uint, dtype.Float:
		if u, ok := unitsOf(c); ok {
			item, err = timesBetween(ctx, c, u, v)
		} else {
			item, err = numbersBetween(ctx, c, v)
		}
	default:
		err = failure.BadArgument("elements of type %s are no values to select by; select by index, as %s=0:10", c.Type(), dimension)
	}
	if err != nil {
		err = fmt.Errorf("coordinate %s: %w", c.Path(), err)
	}
	return item, err
}

// coordinateOf opens the coordinate of a dimension of an array.
func coordinateOf(ctx context.Context, a *zarr.Array, dimension string) (*zarr.Array, error) {
	extent := a.Shape()[slices.Index(a.DimensionNames(), dimension)]
	for at := a.Path(); at != "" && at != "."; {
		at = path.Dir(at)
		c, err := a.Location().Root().At(path.Join(at, dimension)).OpenArray(ctx, nil)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the coordinate of dimension %q: %w", dimension, err)
		}
		if err := fitsDimension(c, dimension, extent); err != nil {
			return nil, errors.Join(err, c.Close())
		}
		return c, nil
	}
	return nil, failure.BadArgument("dimension %q has no coordinate, which would be an array of that name beside this one; select by index, as %s=0:10", dimension, dimension)
}

// fitsDimension refuses an array that is not the coordinate of a dimension.
func fitsDimension(c *zarr.Array, dimension string, extent int64) error {
	names := c.DimensionNames()
	switch {
	case c.Rank() != 1:
		return failure.BadArgument("array %s has shape %v: the coordinate of a dimension has one axis; select by index", c.Path(), c.Shape())
	case names != nil && names[0] != "" && names[0] != dimension:
		return failure.BadArgument("array %s has dimension %q, so it is not the coordinate of %q; select by index", c.Path(), names[0], dimension)
	case c.Shape()[0] != extent:
		return failure.BadArgument("coordinate %s has %s, dimension %q has %s; select by index", c.Path(), phrase.Plural(c.Shape()[0], "element"), dimension, phrase.Count(extent))
	case extent > mostTimes:
		return fmt.Errorf("%w: coordinate %s has %s elements, %s are read at most; select by index", zarr.ErrLimit, c.Path(), phrase.Count(extent), phrase.Count(mostTimes))
	}
	return nil
}

// unitsOf returns what the numbers of a coordinate count if they are times as CF has
// them.
func unitsOf(c *zarr.Array) (calendar.Units, bool) {
	cal, err := calendar.Parse(attribute(c, "calendar"))
	if err != nil {
		return calendar.Units{}, false
	}
	u, err := calendar.ParseUnits(attribute(c, "units"), cal)
	return u, err == nil
}

// eachText calls use with every element of an array as text.
func eachText(ctx context.Context, a *zarr.Array, use func(text string) error) error {
	s, err := newSource(ctx, a, "", false)
	if err != nil {
		return err
	}
	text, err := textOf(a)
	if err != nil {
		return err
	}
	return s.blocks(ctx, func(e elements) error {
		for i := range e.len() {
			if err := use(text(e.at(i))); err != nil {
				return err
			}
		}
		return nil
	})
}

// textOf returns what makes text of the elements of a coordinate: of numbers as CF
// unpacks them, NaN where one is missing, of bytes without padding.
func textOf(a *zarr.Array) (func(elem []byte) string, error) {
	t := a.Type()
	switch k := t.Kind(); {
	case isNumeric(t):
		p, err := packingOf(a)
		p = p.ofCoordinate()
		return func(elem []byte) string {
			if !p.hasValue(elem) {
				return "NaN"
			}
			return p.text(elem)
		}, err
	case k == dtype.Bytes || k == dtype.Terminated:
		return func(elem []byte) string { return string(t.TrimPadding(elem)) }, nil
	}
	return func(elem []byte) string { return string(t.AppendText(nil, elem)) }, nil
}

// labelled returns the one element that has a label.
func labelled(ctx context.Context, c *zarr.Array, v selection.Values) (item selection.Item, err error) {
	if v.IsRange() {
		return item, failure.BadArgument("its elements are text, which has no order here; give one label, or a range of indices as 3:7")
	}
	var labels []string
	if err := eachText(ctx, c, func(text string) error { labels = append(labels, text); return nil }); err != nil {
		return item, err
	}
	i := slices.Index(labels, v.Is)
	switch {
	case i < 0:
		return item, failure.BadArgument("no element is %q%s", v.Is, spelling.Meant(v.Is, labels))
	case slices.Contains(labels[i+1:], v.Is):
		return item, failure.BadArgument("several elements are %q; select by index", v.Is)
	}
	return selection.At(int64(i)), nil
}

// timesBetween selects by the times of a CF coordinate.
func timesBetween(ctx context.Context, c *zarr.Array, u calendar.Units, v selection.Values) (selection.Item, error) {
	o := instants(u.Calendar())
	axis := timeAxis{u}
	err := eachText(ctx, c, func(text string) error {
		t, err := axis.instant(text)
		o.add(t, err == nil)
		return nil
	})
	if err != nil {
		return selection.Item{}, err
	}
	return o.find(v, func(text string) (span[calendar.Instant], error) { return parsePeriod(text, u.Calendar()) })
}

// momentsBetween selects by elements that are moments.
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
	return o.find(v, func(text string) (span[calendar.Instant], error) { return parsePeriod(text, real) })
}

// instants returns the order of times, without any.
func instants(c calendar.Calendar) *ordinates[calendar.Instant] {
	return &ordinates[calendar.Instant]{
		compare: calendar.Instant.Compare, text: c.Text,
		distance: func(a, b calendar.Instant) float64 {
			return math.Abs(float64(a.Day-b.Day)*float64(24*time.Hour) + float64(a.Nano-b.Nano))
		},
	}
}

// numbersBetween selects by numbers. Those of packed coordinates are unpacked first, as
// CF has it. Where the numbers are lengths of time, 6h is a number, too.
func numbersBetween(ctx context.Context, c *zarr.Array, v selection.Values) (selection.Item, error) {
	s, err := newSource(ctx, c, "", false)
	if err != nil {
		return selection.Item{}, err
	}
	p, err := packingOf(c)
	if err != nil {
		return selection.Item{}, err
	}
	p = p.ofCoordinate()
	o := &ordinates[float64]{
		compare:  cmp.Compare[float64],
		text:     func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) },
		distance: func(a, b float64) float64 { return math.Abs(a - b) },
	}
	name := attribute(c, "units")
	unit, timed := timeUnits[name]
	if timed {
		number := o.text
		o.text = func(x float64) string { return number(x) + " " + name }
	}
	err = s.blocks(ctx, func(e elements) error {
		for i := range e.len() {
			x, there := p.value(p.number(e.at(i))), p.hasValue(e.at(i))
			if there && math.Abs(x) > 1<<53 && !p.isFloat() {
				return failure.BadArgument("%s is too large to be compared exactly; select by index", o.text(x))
			}
			o.add(x, there)
		}
		return nil
	})
	if err != nil {
		return selection.Item{}, err
	}
	return o.find(v, func(text string) (b span[float64], err error) {
		x, err := p.parse(text, unit, timed)
		// A whole number may be meant as a year.
		if why := undecodedTimes(c, countingOf(c)); why != nil && (err != nil || !strings.Contains(text, ".")) {
			err = failure.BadArgument("its times are left as numbers: %w; select by index, or by a number with a point", why)
		}
		if err != nil {
			return b, err
		}
		slack := 0.0
		if p.scaled { // 3 times 0.1 is not the number that 0.3 is
			slack = math.Abs(p.scale) * 1e-6
		}
		return span[float64]{first: x - slack, last: x + slack}, nil
	})
}

// parse reads a number, or a length of time where the numbers are such in a unit, as the
// elements of a coordinate have it: 10.1 of a float32 is not that of a float64.
func (p packing) parse(text string, unit timeUnit, timed bool) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil && timed {
		if x, err = parseDuration(text); err != nil {
			return 0, err
		}
		x /= float64(unit.length)
	}
	if err != nil || math.IsNaN(x) {
		return 0, failure.BadArgument("%q is no number, and its values are numbers without a unit of time", text)
	}
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
