// SPDX-License-Identifier: Apache-2.0

package growth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"varve.dev/zarr"
	"varve.dev/zarr/calendar"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/dtype"
)

// coordinate holds the numbers of a time coordinate, which count units since an epoch.
type coordinate struct {
	*cf.Packing
	name  string // location
	units calendar.Units
	whole []int64   // the numbers, if they are integers
	reals []float64 // the numbers, if they are packed or floating-point
	own   int       // count of stored numbers; the rest is about to be appended
}

// readCoordinate reads the CF time coordinate at a location.
func readCoordinate(ctx context.Context, location string, opt *zarr.Options) (*coordinate, error) {
	a, err := node.OpenSeen(ctx, location, opt)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--time: %w%s", err, node.Neighbour(ctx, node.Clean(location)))
	}
	if err != nil {
		return nil, fmt.Errorf("--time: %w", err)
	}
	defer a.Close()
	c, err := newCoordinate(location, a)
	if err != nil {
		return nil, err
	}
	s, err := source.New(ctx, a, "", false)
	if err == nil {
		err = s.Blocks(ctx, func(e element.Values) error { return c.add(e.Data) })
	}
	if err != nil {
		return nil, fmt.Errorf("--time: %w", err)
	}
	c.own = c.len()
	return c, nil
}

// newCoordinate returns the coordinate for an array, without numbers.
func newCoordinate(location string, a *zarr.Array) (*coordinate, error) {
	c := &coordinate{name: location}
	switch {
	case a.Rank() != 1:
		return nil, failure.BadArgument("--time %s: a coordinate has one axis, but the array has shape %v", location, a.Shape())
	case !element.IsNumeric(a.Type()):
		return nil, failure.BadArgument("--time %s: elements of type %s are not times", location, a.Type())
	case a.Shape()[0] > cf.MaxCoordinate:
		return nil, fmt.Errorf("%w: --time %s has %s elements, but at most %s are read", zarr.ErrLimit, location, phrase.Count(a.Shape()[0]), phrase.Count(cf.MaxCoordinate))
	}
	name := source.Attribute(a, "units")
	if name == "" {
		return nil, failure.BadArgument("--time %s: it lacks the attribute units, which defines what its numbers count (varve attrs %s set units '\"days since 1950-01-01\"')",
			location, phrase.Word(location))
	}
	cal, err := calendar.Parse(source.Attribute(a, "calendar"))
	if err == nil {
		c.units, err = calendar.ParseUnits(name, cal)
	}
	if err == nil {
		c.Packing, err = cf.PackingOf(a)
	}
	if err != nil {
		return nil, failure.BadArgument("--time %s: %w", location, err)
	}
	c.Packing = c.OfCoordinate()
	return c, nil
}

// len returns the count of numbers.
func (c *coordinate) len() int { return max(len(c.whole), len(c.reals)) }

// isReal reports whether the numbers are in reals.
func (c *coordinate) isReal() bool { return c.Type().Kind() == dtype.Float || c.IsScaled() }

// add decodes elements in host byte order and appends them to the numbers.
func (c *coordinate) add(block []byte) error {
	for size := c.Type().Size(); len(block) > 0; block = block[size:] {
		if !c.HasValue(block[:size]) {
			return failure.BadArgument("--time %s: times must increase, but element %d is missing", c.name, c.len())
		}
		text := c.Text(block[:size])
		if c.isReal() {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return failure.BadArgument("--time %s: %s at index %d is not a time", c.name, text, len(c.reals))
			}
			c.reals = append(c.reals, v)
			continue
		}
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return failure.BadArgument("--time %s: %s at index %d is not a time", c.name, text, len(c.whole))
		}
		c.whole = append(c.whole, v)
	}
	return nil
}

// buckets returns the months or years along the axis of the coordinate.
func (c *coordinate) buckets(unit calendar.Unit, extent int64) (b calendar.Buckets, err error) {
	if n := int64(c.len()); n < extent {
		return b, failure.BadArgument("--time %s has %s, but the axis has %s: %s", c.name, phrase.Plural(n, "element"), phrase.Count(extent), c.longer())
	}
	if c.len() == 1 {
		// A single time gives no step. The chunk would end there, and exclude the rest
		// of its month.
		return b, failure.BadArgument("--time %s has a single element, so the step between elements is unknown: "+
			"append two or more first, or give %s instead of --time", c.name, c.stepped(unit))
	}
	if err := c.increases(); err != nil {
		return b, err
	}
	if c.isReal() {
		b, err = bucketsOf(c.reals, c.units, unit)
	} else {
		b, err = bucketsOf(c.whole, c.units, unit)
	}
	if err != nil {
		err = failure.BadArgument("--time %s: %w", c.name, err)
	}
	return b, err
}

// increases returns an error if times decrease or repeat, because they would not form
// months.
func (c *coordinate) increases() error {
	i := firstFall(c.whole)
	if c.isReal() {
		i = firstFall(c.reals)
	}
	switch {
	case i < 0:
		return nil
	case i < c.own:
		return failure.BadArgument("--time %s: times must increase, but element %d is %s and element %d before it is %s: "+
			"correct the coordinate, or append without the calendar (--grow append-one)", c.name, i, c.at(i), i-1, c.at(i-1))
	}
	return failure.BadArgument("--time %s: times must increase, but element %d would be %s and element %d before it is %s: was this appended before? "+
		"Append only new elements, or append without the calendar (--grow append-one)", c.name, i, c.at(i), i-1, c.at(i-1))
}

// firstFall returns the index of the first number that is not larger than the one
// before it, or -1 if there is none. NaN is never larger.
func firstFall[T calendar.Number](values []T) int {
	for i := 1; i < len(values); i++ {
		if !(values[i-1] < values[i]) {
			return i
		}
	}
	return -1
}

// at returns the time of an element as text.
func (c *coordinate) at(i int) string {
	number := ""
	if c.isReal() {
		number = strconv.FormatFloat(c.reals[i], 'g', -1, 64)
	} else {
		number = strconv.FormatInt(c.whole[i], 10)
	}
	if text, ok := (cf.Times{Units: c.units}).Text(number); ok {
		return text
	}
	return number
}

// bucketsOf looks beyond the values of a coordinate where these go on at one step. Else
// it looks no further than to the end of the last month or year, as at their usual step.
func bucketsOf[T calendar.Number](values []T, u calendar.Units, unit calendar.Unit) (calendar.Buckets, error) {
	s, err := calendar.Continue(values, u)
	if errors.Is(err, calendar.ErrIrregular) {
		return calendar.Predict(values, u, unit)
	}
	return s.Buckets(unit), err
}
