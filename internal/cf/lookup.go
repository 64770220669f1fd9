// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
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
		item, err = lookupLabel(ctx, c, v)
	case dtype.KindDatetime:
		item, err = lookupMoments(ctx, c, v)
	case dtype.KindTimedelta:
		item, err = lookupDurations(ctx, c, v)
	case dtype.KindInt, dtype.KindUint, dtype.KindFloat:
		if t, ok := UnitsOf(c).Times(); ok {
			item, err = lookupTimes(ctx, c, t, v)
		} else {
			item, err = lookupNumbers(ctx, c, v)
		}
	default:
		err = invalid("elements of type %s cannot be selected by value; select by index, as %s=0:10", c.Type(), dimension)
	}
	if err != nil {
		err = fmt.Errorf("coordinate %s: %w", c.Path(), err)
	}
	return item, err
}

// lookupLabel selects the only element of a text coordinate with the given label.
func lookupLabel(ctx context.Context, c *zarr.Array, v selection.Values) (item selection.Item, err error) {
	if v.IsRange() {
		return item, invalid("ranges of text are not supported; give one label, or a range of indices such as 3:7")
	}
	var labels []string
	if err := eachText(ctx, c, func(text string) error { labels = append(labels, text); return nil }); err != nil {
		return item, err
	}
	// Text is not ordered, so the label must match exactly.
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

// lookupTimes selects by the times of a CF coordinate.
func lookupTimes(ctx context.Context, c *zarr.Array, t Times, v selection.Values) (selection.Item, error) {
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

// lookupMoments selects by a coordinate of type datetime64.
func lookupMoments(ctx context.Context, c *zarr.Array, v selection.Values) (selection.Item, error) {
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

// lookupNumbers selects by numbers. Packed coordinates are unpacked first, as CF
// requires. If the numbers have a unit of time, a value may also be a duration such as
// 6h.
func lookupNumbers(ctx context.Context, c *zarr.Array, v selection.Values) (selection.Item, error) {
	p, err := PackingOf(ctx, c)
	if err != nil {
		return selection.Item{}, err
	}
	// Zero is a valid coordinate, even if it is the fill value.
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
	err = eachElement(ctx, c, func(elem []byte) error {
		x, ok := p.value(p.number(elem)), p.HasValue(elem)
		// Different integers would compare equal as float64.
		if ok && math.Abs(x) > 1<<53 && !p.isFloat() {
			return invalid("%s is too large to compare exactly; select by index", o.text(x))
		}
		o.add(x, ok)
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

// parsePeriod parses a time and returns the period that it names: 2024-12 is a month,
// 2024-12-25 is a day, and 2024-12-25T06 is an hour. A month or a year selects all
// elements in it, as in xarray.
func parsePeriod(text string, c calendar.Calendar) (p span[calendar.Instant], err error) {
	if p.first, err = calendar.ParseInstant(text, c); err != nil {
		return p, invalid("%w%s", err, Hint(text, c))
	}
	date, clock := strings.TrimSpace(text), ""
	if i := strings.IndexAny(date, "Tt "); i > 0 {
		date, clock = date[:i], strings.TrimSpace(date[i+1:])
	}
	last := p.first
	// With a time of day, the last part that is given defines the length of the period.
	if length := clockLength(clock); length > 0 {
		last.Nano += length - 1
	} else {
		parts := strings.Count(date[1:], "-")
		if last.Day, err = dayAfter(p.first.Day, parts, c); err != nil {
			return p, invalid("%w", err)
		}
		p.plural = parts < 2
		// The last nanosecond before the day after the period.
		last.Nano--
	}
	// Normalize last. The period is at most a day long, so few steps are needed.
	for day := int64(24 * time.Hour); last.Nano < 0 || last.Nano >= day; {
		if last.Nano < 0 {
			last.Day, last.Nano = last.Day-1, last.Nano+day
		} else {
			last.Day, last.Nano = last.Day+1, last.Nano-day
		}
	}
	p.last = last
	return p, nil
}

// clockLength returns the precision of a time of day in nanoseconds: an hour for 06, a
// minute for 06:30, a tenth of a second for 06:30:15.5. It returns 0 for "".
func clockLength(clock string) int64 {
	if i := strings.IndexAny(clock, "Zz+- UGug"); i >= 0 {
		clock = clock[:i]
	}
	switch strings.Count(clock, ":") {
	case 0:
		if clock == "" {
			return 0
		}
		return int64(time.Hour)
	case 1:
		return int64(time.Minute)
	}
	length := int64(time.Second)
	_, fraction, _ := strings.Cut(clock, ".")
	for range min(len(fraction), 9) {
		length /= 10
	}
	return length
}

// dayAfter returns the first day after the period that begins at day. The period is a
// year if the date has no dash (parts is 0), a month if it has one, and otherwise a
// day.
func dayAfter(day int64, parts int, c calendar.Calendar) (int64, error) {
	d, err := c.Date(day)
	if err != nil || parts > 1 {
		return day + 1, err
	}
	if parts == 0 || d.Month == 12 {
		return c.Number(calendar.Date{Year: d.Year + 1, Month: 1, Day: 1})
	}
	return c.Number(calendar.Date{Year: d.Year, Month: d.Month + 1, Day: 1})
}

// lookupDurations selects by a coordinate of type timedelta64. A value without a unit
// has the unit of the elements.
func lookupDurations(ctx context.Context, c *zarr.Array, v selection.Values) (item selection.Item, err error) {
	t := c.Type()
	if step := t.Step(); step.Unit == "M" || step.Unit == "Y" || step.Unit == "generic" {
		return item, invalid("elements of type %s have no fixed duration; select by index", t)
	}
	o := lengthsOfTime()
	err = eachElement(ctx, c, func(elem []byte) error {
		n := countOf(elem)
		d, ok := t.Duration(n)
		if !ok && n != dtype.NaT {
			return invalid("element %d, %s, is too long to compare; select by index", len(o.values), t.AppendText(nil, elem))
		}
		o.add(d, ok)
		return nil
	})
	if err != nil {
		return item, err
	}
	return o.find(v, func(text string) (span[time.Duration], error) {
		d, err := parseLead(t, text)
		return span[time.Duration]{first: d, last: d}, err
	})
}

// countOf returns an element of datetime64 or timedelta64 as an integer.
func countOf(elem []byte) int64 { return int64(binary.NativeEndian.Uint64(elem)) }

// lengthsOfTime returns empty ordinates for durations.
func lengthsOfTime() *ordinates[time.Duration] {
	return &ordinates[time.Duration]{
		compare:  cmp.Compare[time.Duration],
		text:     func(d time.Duration) string { return formatDuration(int64(d), time.Nanosecond) },
		distance: func(a, b time.Duration) float64 { return math.Abs(float64(a) - float64(b)) },
	}
}

// parseLead parses a lead time: a number in the unit of a type, or a duration such as
// 6h.
func parseLead(t dtype.Type, text string) (time.Duration, error) {
	one, err := dtype.TimedeltaOf(t.Step().Unit, 1)
	if err != nil {
		return 0, err
	}
	// Integers first: a float64 rounds those beyond 2^53.
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if d, ok := one.Duration(n); ok {
			return d, nil
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	if err == nil && !math.IsNaN(x) {
		x *= unitLength(one)
	} else if x, err = ParseDuration(text); err != nil {
		return 0, err
	}
	if math.Abs(x) >= 1<<63 {
		return 0, invalid("%s is too long: at most 292 years are possible", text)
	}
	return time.Duration(math.RoundToEven(x)), nil
}

// unitLength returns the length of the unit of a type in nanoseconds. Some units, such
// as picoseconds, are shorter than one.
func unitLength(one dtype.Type) float64 {
	if d, ok := one.Duration(1); ok {
		return float64(d)
	}
	d, _ := one.Duration(1e9)
	return float64(d) / 1e9
}

// otherDates match dates in other forms.
var otherDates = []struct {
	form *regexp.Regexp
	made string
}{
	{regexp.MustCompile(`^(\d{4})(\d\d)(\d\d)([Tt ].*)?$`), "$1-$2-$3$4"},
	{regexp.MustCompile(`^(\d{4})(\d\d)$`), "$1-$2"},
	{regexp.MustCompile(`^(\d{4})[/._](\d\d?)[/._](\d\d?)([Tt ].*)?$`), "$1-$2-$3$4"},
	{regexp.MustCompile(`^(\d{4})[/._](\d\d?)$`), "$1-$2"},
	{regexp.MustCompile(`^(.*[Tt ]\d\d)(\d\d)$`), "$1:$2"},
	{regexp.MustCompile(`^(.*[Tt ]\d\d)(\d\d)(\d\d)$`), "$1:$2:$3"},
}

// Respell returns a date in the form that [calendar.ParseInstant] accepts, if the text
// is a date in another form such as 20241225 or 2024/12/25. It returns "" for any other
// text.
func Respell(text string, c calendar.Calendar) string {
	made := strings.TrimSpace(text)
	for _, o := range otherDates {
		made = o.form.ReplaceAllString(made, o.made)
	}
	if _, err := calendar.ParseInstant(made, c); err != nil || made == strings.TrimSpace(text) {
		return ""
	}
	return made
}

// Hint returns in parentheses how to write the date that a text may mean, for the message
// about a text that [calendar.ParseInstant] rejects.
func Hint(text string, c calendar.Calendar) string {
	if made := Respell(text, c); made != "" {
		return fmt.Sprintf(" (did you mean %s?)", made)
	}
	if strings.Trim(text, "0123456789-") == "" {
		return "" // a day that the calendar does not have
	}
	return " (write dates as 2024-12-25 and months as 2024-12)"
}

// argumentError wraps [zarr.ErrInvalidArgument] without adding its text to the message.
type argumentError struct{ error }

func (e argumentError) Unwrap() []error { return []error{zarr.ErrInvalidArgument, e.error} }

func invalid(format string, args ...any) error { return argumentError{fmt.Errorf(format, args...)} }

// UnfitError reports that an array with the name of a dimension is not its coordinate: it
// has another number of axes, another dimension, or another length. It wraps
// [zarr.ErrInvalidArgument].
type UnfitError struct {
	Reason string // in one line, with the path of the array
}

// Error returns the reason, and how to do without the coordinate.
func (e *UnfitError) Error() string { return e.Reason + "; select by index" }

// Unwrap returns [zarr.ErrInvalidArgument].
func (e *UnfitError) Unwrap() error { return zarr.ErrInvalidArgument }

func unfit(format string, args ...any) error { return &UnfitError{fmt.Sprintf(format, args...)} }

// LabelError reports that a text coordinate has no element with the given label.
type LabelError struct {
	Label  string
	Labels []string // the labels of the coordinate
}

// Error returns the message.
func (e *LabelError) Error() string { return fmt.Sprintf("no element is %q", e.Label) }

// Unwrap returns [zarr.ErrInvalidArgument].
func (e *LabelError) Unwrap() error { return zarr.ErrInvalidArgument }

// ErrEmptyRange means that no element of a coordinate is in the range of values that
// [Lookup] was given. It wraps [zarr.ErrInvalidArgument].
var ErrEmptyRange = fmt.Errorf("%w: no element is in the range", zarr.ErrInvalidArgument)

// emptyRange is an [ErrEmptyRange] with another text.
type emptyRange string

// Error returns the text.
func (e emptyRange) Error() string { return string(e) }

// Unwrap returns [ErrEmptyRange].
func (e emptyRange) Unwrap() error { return ErrEmptyRange }
