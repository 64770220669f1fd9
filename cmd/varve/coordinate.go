package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"varve.dev/zarr"
	"varve.dev/zarr/calendar"
	"varve.dev/zarr/dtype"
)

// coordinate is a time coordinate: numbers that count in units since a moment.
type coordinate struct {
	name  string // location
	typ   dtype.Type
	units calendar.Units
	whole []int64   // of integers
	reals []float64 // of floating-point numbers
}

// mostTimes is how long a coordinate may be: hours of 1,900 years.
const mostTimes = 1 << 24

// readCoordinate reads the array at a location, which has to be a time coordinate as CF has it.
func readCoordinate(ctx context.Context, location string, opt *zarr.Options) (*coordinate, error) {
	a, err := openSeen(ctx, location, opt)
	if err != nil {
		return nil, fmt.Errorf("--time: %w", err)
	}
	defer a.Close()
	c, err := newCoordinate(location, a)
	if err != nil {
		return nil, err
	}
	s, err := newSource(ctx, a, "", false)
	if err == nil {
		err = s.blocks(ctx, func(e elements) error { return c.add(e.data) })
	}
	if err != nil {
		return nil, fmt.Errorf("--time: %w", err)
	}
	return c, nil
}

// newCoordinate returns the coordinate that an array is, without its numbers.
func newCoordinate(location string, a *zarr.Array) (*coordinate, error) {
	c := &coordinate{name: location, typ: a.Type()}
	switch k := c.typ.Kind(); {
	case a.Rank() != 1:
		return nil, badArgument("--time %s: a coordinate has one axis, it has shape %v", location, a.Shape())
	case k != dtype.Int && k != dtype.Uint && k != dtype.Float:
		return nil, badArgument("--time %s: elements of type %s are no times", location, c.typ)
	case a.Shape()[0] > mostTimes:
		return nil, fmt.Errorf("%w: --time %s has %s elements, %s are read at most", zarr.ErrLimit, location, count(a.Shape()[0]), count(mostTimes))
	}
	name := attribute(a, "units")
	if name == "" {
		return nil, badArgument("--time %s: it has no attribute units, such as \"days since 1950-01-01\"", location)
	}
	cal, err := calendar.Parse(attribute(a, "calendar"))
	if err == nil {
		c.units, err = calendar.ParseUnits(name, cal)
	}
	if err != nil {
		return nil, badArgument("--time %s: %w", location, err)
	}
	return c, nil
}

// add appends elements in host byte order to the numbers.
func (c *coordinate) add(block []byte) error {
	var text []byte
	for ; len(block) > 0; block = block[c.typ.Size():] {
		text = c.typ.AppendText(text[:0], block[:c.typ.Size()])
		if c.typ.Kind() == dtype.Float {
			v, err := strconv.ParseFloat(string(text), 64)
			if err != nil {
				return badArgument("--time %s: %s at index %d is no time", c.name, text, len(c.reals))
			}
			c.reals = append(c.reals, v)
			continue
		}
		v, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			return badArgument("--time %s: %s at index %d is no time", c.name, text, len(c.whole))
		}
		c.whole = append(c.whole, v)
	}
	return nil
}

// buckets returns where months or years begin along an axis that the coordinate belongs to.
func (c *coordinate) buckets(unit calendar.Unit, extent int64) (b calendar.Buckets, err error) {
	if n := int64(max(len(c.whole), len(c.reals))); n < extent {
		return b, badArgument("--time %s has %s, the axis has %s", c.name, plural(n, "element"), count(extent))
	}
	if max(len(c.whole), len(c.reals)) == 1 {
		// A chunk that ends with the only time known would be closed for the rest of its month.
		return b, badArgument("--time %s has one element, which does not tell how far elements are apart: "+
			"append two or more at first, or give --start and --step, as 1d, in place of --time", c.name)
	}
	if c.typ.Kind() == dtype.Float {
		b, err = bucketsOf(c.reals, c.units, unit)
	} else {
		b, err = bucketsOf(c.whole, c.units, unit)
	}
	if err != nil {
		err = badArgument("--time %s: %w", c.name, err)
	}
	return b, err
}

// bucketsOf looks beyond the values of a coordinate where these go on at one step. Else there is nothing but the values.
func bucketsOf[T calendar.Number](values []T, u calendar.Units, unit calendar.Unit) (calendar.Buckets, error) {
	s, err := calendar.Continue(values, u)
	if errors.Is(err, calendar.ErrIrregular) {
		return calendar.Boundaries(values, u, unit)
	}
	return s.Buckets(unit), err
}
