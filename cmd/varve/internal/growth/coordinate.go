// SPDX-License-Identifier: Apache-2.0

package growth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/dtype"
)

// coordinate is a time coordinate: numbers in units since a reference time.
type coordinate struct {
	*cf.Packing
	name  string // location
	units calendar.Units
	whole []int64   // of integers
	reals []float64 // of floating-point numbers and of packed numbers
	own   int       // elements of the array; the rest is about to be appended

	dimension dimension
}

// readCoordinate reads the array at a location, which must be a time coordinate of the CF
// conventions.
func readCoordinate(ctx context.Context, location string, opt *zarr.Options) (*coordinate, error) {
	a, err := node.OpenSeen(ctx, location, opt)
	// The name may be misspelled.
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--time: %w%s", err, node.Neighbour(ctx, node.Clean(location)))
	}
	if err != nil {
		return nil, fmt.Errorf("--time: %w", err)
	}
	defer a.Close()
	c, err := newCoordinate(ctx, location, a)
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

// newCoordinate returns the coordinate for an array, without its numbers.
func newCoordinate(ctx context.Context, location string, a *zarr.Array) (*coordinate, error) {
	c := &coordinate{name: location, dimension: dimensionOf(location, a)}
	switch {
	case a.Rank() != 1:
		return nil, failure.BadArgument("--time %s: a coordinate must have one axis, but it has shape %v", location, a.Shape())
	case !element.IsNumeric(a.Type()):
		return nil, failure.BadArgument("--time %s: elements of type %s are not times", location, a.Type())
	case a.Shape()[0] > cf.MaxCoordinate:
		return nil, fmt.Errorf("%w: --time %s has %s elements; at most %s are read", zarr.ErrLimit, location, phrase.Count(a.Shape()[0]), phrase.Count(cf.MaxCoordinate))
	}
	name := source.Attribute(a, "units")
	if name == "" {
		return nil, failure.BadArgument("--time %s: it lacks the attribute units for its numbers (varve attrs %s set units '\"days since 1950-01-01\"')",
			location, phrase.Word(location))
	}
	cal, err := calendar.Parse(source.Attribute(a, "calendar"))
	if err == nil {
		c.units, err = calendar.ParseUnits(name, cal)
	}
	if err == nil {
		c.Packing, err = cf.PackingOf(ctx, a)
	}
	if err != nil {
		return nil, failure.BadArgument("--time %s: %w", location, err)
	}
	// Zero is a time here, even if the fill value of format 2 is zero.
	c.Packing = c.OfCoordinate()
	return c, nil
}

// len returns the number of elements.
func (c *coordinate) len() int { return max(len(c.whole), len(c.reals)) }

// isReal reports whether the numbers are in reals.
func (c *coordinate) isReal() bool { return c.Type().Kind() == dtype.KindFloat || c.IsScaled() }

// add appends the decoded values of elements in host byte order.
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

// buckets returns where months or years begin along the axis of the coordinate.
func (c *coordinate) buckets(unit calendar.Unit, extent int64) (b calendar.Buckets, err error) {
	if n := int64(c.len()); n < extent {
		return b, failure.BadArgument("--time %s has %s, but the axis has %s: %s", c.name, phrase.Plural(n, "element"), phrase.Count(extent), c.longer())
	}
	if c.len() == 1 && extent > 0 {
		// A chunk that ended with the only known time would be too short for its month.
		return b, failure.BadArgument("--time %s has one element, which does not tell how far elements are apart: "+
			"append two or more at first, or give %s in place of --time", c.name, c.stepped(unit))
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

// increases returns an error if times decrease or repeat, because they do not divide an
// axis into months.
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

// firstFall returns the index of the first number that is not larger than the one before
// it, or -1. NaN is not larger.
func firstFall[T calendar.Number](values []T) int {
	for i := 1; i < len(values); i++ {
		if !(values[i-1] < values[i]) {
			return i
		}
	}
	return -1
}

// at returns the time of an element in the form for people.
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

// bucketsOf extrapolates the values of a coordinate if they have one step. Otherwise it
// extrapolates only to the end of the last month or year, with the usual step.
func bucketsOf[T calendar.Number](values []T, u calendar.Units, unit calendar.Unit) (calendar.Buckets, error) {
	s, err := calendar.Continue(values, u)
	if errors.Is(err, calendar.ErrIrregular) {
		return calendar.Predict(values, u, unit)
	}
	return s.Buckets(unit), err
}
