package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/calendar"
	"varve.dev/zarr/dtype"
)

// times are the flags that say when the elements along an axis are.
type times struct{ coordinate, start, step, calendar string }

func (t *times) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&t.coordinate, "time", "", "for calendars: the `COORD` that says when elements are")
	f.StringVar(&t.start, "start", "", "for calendars, without a coordinate: the `DATE` of element 0, as 1979-01-01 or 1979-01-01T06:00")
	checkedVar(f, &t.step, "step", "", "for calendars: the `TIME` from one element to the next, as 1d, 6h, 30min or 1mo", syntax(calendar.ParseStep))
	checkedVar(f, &t.calendar, "calendar", "", "the `NAME` of the calendar of --start: standard, noleap, 360_day …", syntax(calendar.Parse))
	propose(c, "step", "1d", "6h", "1h", "1mo")
	propose(c, "calendar", "standard", "proleptic_gregorian", "noleap", "all_leap", "360_day", "julian")
}

// check refuses flags that contradict each other, or the flag that wants times or, where the unit is 0, does not.
func (t *times) check(cmd *cobra.Command, unit calendar.Unit, flag string) error {
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	if unit == 0 {
		for _, name := range []string{"time", "start", "step", "calendar"} {
			if given(name) {
				return badUsage("--%s goes with %s calendar:month and calendar:year only", name, flag)
			}
		}
		return nil
	}
	switch {
	case given("time") && (given("start") || given("step") || given("calendar")):
		return badUsage("--time excludes --start, --step and --calendar: the coordinate says all of that")
	case given("time") && t.coordinate == "":
		return badUsage("--time: the name of a coordinate is needed")
	case given("time"):
		return nil
	case !given("start") && !given("step"):
		return badUsage("%s calendar:%v needs to know when the elements are: --time COORD, or --start DATE and --step 1d", flag, unit)
	case !given("start"):
		return badUsage("--start is missing, the DATE of element 0")
	case !given("step"):
		return badUsage("--step is missing, as 1d, 6h or 1mo")
	}
	_, err := t.steps()
	return err
}

// steps returns the times that --start, --step and --calendar say.
func (t *times) steps() (calendar.Steps, error) {
	s, err := calendar.ParseSteps(t.start, t.step, t.calendar)
	if err != nil {
		return s, badUsage("--start %s --step %s: %w", t.start, t.step, err)
	}
	return s, nil
}

// given are the elements that are about to be appended, in host byte order, by the location of their array.
type given map[string][]byte

// timeline says where months or years begin along axes that have the same times.
type timeline struct {
	unit       calendar.Unit // 0 where nobody asks
	steps      calendar.Steps
	coordinate *coordinate // nil where there are steps
}

// timeline returns the times that the flags say, for arrays at or beside a location.
func (t *times) timeline(ctx context.Context, unit calendar.Unit, location string, g given) (l timeline, err error) {
	l.unit = unit
	switch {
	case unit == 0:
		return l, nil
	case t.coordinate == "":
		l.steps, err = t.steps()
		return l, err
	}
	l.coordinate, err = readCoordinate(ctx, beside(location, t.coordinate))
	if err == nil {
		err = l.coordinate.add(g[l.coordinate.name])
	}
	return l, err
}

// buckets returns where months or years begin along an axis of the given extent.
func (l timeline) buckets(extent int64) (calendar.Buckets, error) {
	switch {
	case l.unit == 0:
		return calendar.Buckets{}, nil
	case l.coordinate == nil:
		return l.steps.Buckets(l.unit), nil
	default:
		return l.coordinate.buckets(l.unit, extent)
	}
}

// sameNode returns one spelling of a location.
func sameNode(location string) string { return strings.TrimRight(location, "/") }

// beside returns the location of a coordinate: beside a node, or wherever it says itself.
func beside(location, name string) string {
	if strings.Contains(name, "/") {
		return sameNode(name)
	}
	location = sameNode(location)
	return location[:strings.LastIndexByte(location, '/')+1] + name
}

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
func readCoordinate(ctx context.Context, location string) (*coordinate, error) {
	a, err := zarr.OpenArray(ctx, location, nil)
	if err != nil {
		return nil, fmt.Errorf("--time: %w", err)
	}
	defer a.Close()
	c, err := newCoordinate(location, a)
	if err != nil {
		return nil, err
	}
	s, err := newSource(a, "")
	if err == nil {
		err = s.blocks(ctx, c.add)
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

// propose makes a shell complete the value of a flag.
func propose(c *cobra.Command, flag string, words ...string) {
	// The error would be that there is no such flag.
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
}
