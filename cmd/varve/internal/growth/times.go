// SPDX-License-Identifier: Apache-2.0

package growth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/export"
)

// Times are the flags for the times of the elements along an axis.
type Times struct {
	Coordinate, Start, Step, Calendar string
	reading                           func() *zarr.Options // options for reading the coordinate
}

// Flags adds the flags of times to a command: --start, --step, --calendar and --time.
func (t *Times) Flags(c *cobra.Command) {
	f := c.Flags()
	t.reading = func() *zarr.Options { return session.Reading(c) }
	f.StringVar(&t.Coordinate, "time", "", "for calendars: the coordinate `COORD` with the times")
	f.StringVar(&t.Start, "start", "", "for calendars: the `DATE` of element 0, such as 1979-01-01")
	flagtext.Var(f, &t.Step, "step", "", "for calendars: the `TIME` between elements: 1d, 6h or 1mo", flagtext.Syntax(calendar.ParseStep))
	flagtext.Var(f, &t.Calendar, "calendar", "", "the `NAME` of the calendar: standard, noleap, 360_day …", flagtext.Syntax(calendar.Parse))
	flagtext.Propose(c, "step", "1d", "6h", "1h", "1mo")
	flagtext.Propose(c, "calendar", "standard", "proleptic_gregorian", "noleap", "all_leap", "360_day", "julian")
}

// Check returns an error if flags contradict each other, if the unit needs times that are
// not given, or if the unit is 0 and times are given.
func (t *Times) Check(cmd *cobra.Command, unit calendar.Unit, flag string) error {
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	if unit == 0 {
		for _, name := range []string{"time", "start", "step", "calendar"} {
			if given(name) {
				return failure.BadUsage("--%s is only for %s calendar:month and calendar:year", name, flag)
			}
		}
		return nil
	}
	switch {
	case given("time") && (given("start") || given("step") || given("calendar")):
		return failure.BadUsage("--time excludes --start, --step and --calendar: the coordinate has all of these")
	case given("time") && t.Coordinate == "":
		return failure.BadUsage("--time is empty; give the name of a coordinate")
	case given("time"):
		return nil
	case !given("start") && !given("step"):
		return failure.BadUsage("%s calendar:%v needs the times of the elements: --time COORD, such as --time time, or --start DATE and --step 1d", flag, unit)
	case !given("start"):
		return failure.BadUsage("--start is missing: the DATE of element 0")
	case !given("step"):
		return failure.BadUsage("--step is missing: 1d, 6h or 1mo")
	}
	_, err := t.steps()
	return err
}

// For returns the times along an axis of an array: those of the flags or, without any,
// those that are stored with its growth policy. The axis must be the one they describe.
func (t *Times) For(cmd *cobra.Command, unit calendar.Unit, flag string, a *zarr.Array, location string, axis int) (*Times, error) {
	if unit == 0 || t.given(cmd) {
		return t, t.Check(cmd, unit, flag)
	}
	// Errors of the stored policy lead to the check of the flags, which names what is
	// missing.
	s, along, found, err := Of(a)
	if err != nil || !found || along != axis {
		return t, t.Check(cmd, unit, flag)
	}
	p, stored, err := s.policy(t.reading)
	if err != nil || p.Unit == 0 {
		return t, t.Check(cmd, unit, flag)
	}
	return &stored, nil
}

// steps returns the times for --start, --step and --calendar.
func (t *Times) steps() (calendar.Steps, error) {
	s, err := calendar.ParseSteps(t.Start, t.Step, t.Calendar)
	if err != nil {
		hint := ""
		// Only an invalid date gets the hint.
		if c, wrong := calendar.Parse(t.Calendar); wrong == nil {
			if _, wrong = calendar.ParseInstant(t.Start, c); wrong != nil {
				hint = cf.Hint(t.Start, c)
			}
		}
		return s, failure.BadUsage("--start %s --step %s: %w%s", t.Start, t.Step, err, hint)
	}
	return s, nil
}

// Given has the new elements of arrays that are about to grow, by the location of the
// array.
type Given map[string]*Gain

// Timeline tells where months or years begin along axes with the same times.
type Timeline struct {
	unit       calendar.Unit // 0 if no policy needs times
	steps      calendar.Steps
	coordinate *coordinate // nil if times are given by steps
}

// Timeline returns the times for the flags, for arrays at or beside a location.
func (t *Times) Timeline(ctx context.Context, unit calendar.Unit, location string, g Given) (l Timeline, err error) {
	l.unit = unit
	switch {
	case unit == 0:
		return l, nil
	case t.Coordinate == "":
		l.steps, err = t.steps()
		return l, err
	}
	l.coordinate, err = readCoordinate(ctx, node.Beside(location, t.Coordinate), t.reading())
	if err != nil {
		return l, err
	}
	// If the coordinate grows in the same command, its new times are not stored yet.
	data, err := g[l.coordinate.name].data(ctx)
	if err == nil {
		err = l.coordinate.add(data)
	}
	return l, err
}

// Buckets returns the months or years along an axis of the given extent.
func (l Timeline) Buckets(extent int64) (calendar.Buckets, error) {
	switch {
	case l.unit == 0:
		return calendar.Buckets{}, nil
	case l.coordinate == nil:
		return l.steps.Buckets(l.unit), nil
	default:
		return l.coordinate.buckets(l.unit, extent)
	}
}

// coordinate is a time coordinate: numbers in units since a reference time.
type coordinate struct {
	*cf.Packing
	name     string // location
	units    calendar.Units
	integers []int64   // of integers
	reals    []float64 // of floating-point numbers and of packed numbers
	stored   int       // elements of the array; the rest is about to be appended

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
	// Only the numbers are needed, so the array is closed again.
	defer a.Close()
	c, err := newCoordinate(ctx, location, a)
	if err != nil {
		return nil, err
	}
	s, err := source.New(ctx, a, "", false)
	if err == nil {
		err = s.Blocks(ctx, func(e export.Values) error { return c.add(e.Data) })
	}
	if err != nil {
		return nil, fmt.Errorf("--time: %w", err)
	}
	// What add appends from here on is not in the store yet; errors about it are worded
	// differently.
	c.stored = c.len()
	return c, nil
}

// newCoordinate returns the coordinate for an array, without its numbers.
func newCoordinate(ctx context.Context, location string, a *zarr.Array) (*coordinate, error) {
	c := &coordinate{name: location, dimension: dimensionOf(location, a)}
	switch {
	case a.Rank() != 1:
		return nil, failure.BadArgument("--time %s: a coordinate must have one axis, but it has shape %v", location, a.Shape())
	case !cf.IsNumeric(a.Type()):
		return nil, failure.BadArgument("--time %s: elements of type %s are not times", location, a.Type())
	case a.Shape()[0] > cf.MaxCoordinate:
		return nil, fmt.Errorf("%w: --time %s has %s elements; at most %s are read", zarr.ErrLimit, location, phrase.Count(a.Shape()[0]), phrase.Count(cf.MaxCoordinate))
	}
	name := cf.TextAttribute(a, "units")
	if name == "" {
		return nil, failure.BadArgument("--time %s: it lacks the attribute units for its numbers (varve attrs %s set units '\"days since 1950-01-01\"')",
			location, phrase.Word(location))
	}
	cal, err := calendar.Parse(cf.TextAttribute(a, "calendar"))
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
func (c *coordinate) len() int { return max(len(c.integers), len(c.reals)) }

// isReal reports whether the numbers are in reals.
func (c *coordinate) isReal() bool { return c.Type().Kind() == dtype.KindFloat || c.IsScaled() }

// add appends the decoded values of elements in host byte order.
func (c *coordinate) add(block []byte) error {
	for size := c.Type().Size(); len(block) > 0; block = block[size:] {
		if !c.HasValue(block[:size]) {
			return failure.BadArgument("--time %s: times must increase, but element %d is missing", c.name, c.len())
		}
		// The decoded text has all digits of a number, also of one that is packed.
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
			return failure.BadArgument("--time %s: %s at index %d is not a time", c.name, text, len(c.integers))
		}
		c.integers = append(c.integers, v)
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
	// Where a month begins is found by comparing neighbours, which needs an order.
	if err := c.increases(); err != nil {
		return b, err
	}
	if c.isReal() {
		b, err = bucketsOf(c.reals, c.units, unit)
	} else {
		b, err = bucketsOf(c.integers, c.units, unit)
	}
	if err != nil {
		err = failure.BadArgument("--time %s: %w", c.name, err)
	}
	return b, err
}

// increases returns an error if times decrease or repeat, because they do not divide an
// axis into months.
func (c *coordinate) increases() error {
	i := firstFall(c.integers)
	if c.isReal() {
		i = firstFall(c.reals)
	}
	switch {
	case i < 0:
		return nil
	case i < c.stored:
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
		number = strconv.FormatInt(c.integers[i], 10)
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
	// Times with gaps still have whole months; only the length of the last one is a
	// guess.
	if errors.Is(err, calendar.ErrIrregular) {
		return calendar.Predict(values, u, unit)
	}
	return s.Buckets(unit), err
}

// dimension is the name of the dimension that a time coordinate describes.
type dimension struct {
	name    string
	isNamed bool // the array has this name of its dimension; otherwise it is that of the array
}

// dimensionOf returns the dimension of a coordinate at a location.
func dimensionOf(location string, a *zarr.Array) dimension {
	if names := a.DimensionNames(); len(names) == 1 && names[0] != "" {
		return dimension{names[0], true}
	}
	location = node.Clean(location)
	return dimension{location[strings.LastIndexByte(location, '/')+1:], false}
}

// axis returns the axis of an array with the given names of dimensions that d is: 0 if
// the names do not tell, and -1 if no axis is.
func (d dimension) axis(names []string) int {
	i := slices.Index(names, d.name)
	if i < 0 && (!d.isNamed || len(names) == 0 || names[0] == "") {
		return 0
	}
	return i
}

// isAxis reports whether an axis may be d.
func (d dimension) isAxis(names []string, axis int) bool {
	if axis >= len(names) || names[axis] == "" || names[axis] == d.name {
		return true
	}
	return !d.isNamed && !slices.Contains(names, d.name)
}

// NoDimension returns the error for an array without the dimension of the times.
func (t *Times) NoDimension(names []string) error {
	known := slices.Compact(slices.Sorted(slices.Values(names)))
	return failure.BadArgument("--time %s: no axis has its dimension; there are %s", t.Coordinate, strings.Join(known, ", "))
}

// Axis returns the axis of an array at a location that the times describe, by the names
// of its dimensions: 0 if that is not known, and -1 if it is none.
func (t *Times) Axis(ctx context.Context, location string, names []string) (int, error) {
	d, err := t.dimension(ctx, location)
	return d.axis(names), err
}

// MayDescribe reports whether the times can be those of an axis of an array at a
// location.
func (t *Times) MayDescribe(ctx context.Context, location string, names []string, axis int) (bool, error) {
	d, err := t.dimension(ctx, location)
	return d.isAxis(names, axis), err
}

// dimension returns the dimension of the coordinate of --time. It is the zero dimension
// without a coordinate, and if there is none: the command reports that when it reads the
// times.
func (t *Times) dimension(ctx context.Context, location string) (d dimension, err error) {
	if t.Coordinate == "" {
		return d, nil
	}
	at := node.Beside(location, t.Coordinate)
	a, err := node.OpenSeen(ctx, at, t.reading())
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	return dimensionOf(at, a), a.Close()
}

// AxisOf returns the axis of an array that a calendar is about if no axis is given. It is
// that of the times of the flags or, without any, that of the stored growth policy. The
// result is -1 if there is none.
func (t *Times) AxisOf(cmd *cobra.Command, a *zarr.Array, location string) (int, error) {
	if t.given(cmd) {
		return t.Axis(cmd.Context(), location, a.DimensionNames())
	}
	s, axis, found, err := Of(a)
	if err != nil {
		return 0, locateGrowth(err, location)
	}
	if p, _, err := s.policy(t.reading); !found || err != nil || p.Unit == 0 {
		return -1, nil
	}
	return axis, nil
}

// given reports whether a flag of times is given.
func (t *Times) given(cmd *cobra.Command) bool {
	return slices.ContainsFunc([]string{"time", "start", "step", "calendar"}, cmd.Flags().Changed)
}

// Describes returns an error if an axis of an array, by the names of its dimensions, is
// not the one that the times are about. Months of a latitude mean nothing.
func (l Timeline) Describes(names []string, axis int) error {
	if l.coordinate == nil || l.coordinate.dimension.isAxis(names, axis) {
		return nil
	}
	return failure.OnAxis(axis, "--time %s has the times along %s, but this axis is %s: a calendar is only for the axis of its times",
		l.coordinate.name, l.coordinate.dimension.name, names[axis])
}

// CalendarAxis returns the axis that a calendar of --grow is about: that of its times, or
// 0 if that is not known. It returns an error if the array has no such axis.
func (c *Change) CalendarAxis(cmd *cobra.Command, p Policy, a *zarr.Array, location string) (int, error) {
	if p.Unit == 0 || !cmd.Flags().Changed("grow") {
		return 0, nil
	}
	axis, err := c.times.Axis(cmd.Context(), location, a.DimensionNames())
	if err == nil && axis < 0 {
		err = c.times.NoDimension(a.DimensionNames())
	}
	return axis, err
}
