// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"varve.dev/zarr/internal/quantity"
)

// Unit is the unit of a bucket: a month or a year of the calendar.
type Unit uint8

// The units of buckets. The zero value is invalid.
const (
	Month Unit = iota + 1
	Year
)

// bucketUnits has the names of the units, and the months of one bucket.
var bucketUnits = map[Unit]struct {
	name   string
	months int64
}{
	Month: {"month", 1},
	Year:  {"year", 12},
}

// ParseUnit parses "month" or "year", in upper or lower case. The error wraps
// [ErrInvalid].
func ParseUnit(text string) (Unit, error) {
	name := strings.TrimSuffix(strings.ToLower(text), "s")
	for u, known := range bucketUnits {
		if name == known.name {
			return u, nil
		}
	}
	return 0, invalid("calendar unit %q: use month or year", clip(text))
}

// String returns "month" or "year".
func (u Unit) String() string {
	if known, ok := bucketUnits[u]; ok {
		return known.name
	}
	return fmt.Sprintf("Unit(%d)", uint8(u))
}

// check returns an error if the unit is invalid.
func (u Unit) check() error {
	if _, ok := bucketUnits[u]; !ok {
		return invalid("%v is not a calendar unit; use Month or Year", u)
	}
	return nil
}

// number returns the number of the bucket that holds a month. Months count from January
// of year 0, in bucket 0. The unit must be valid.
func (u Unit) number(month int64) int64 { return floorDiv(month, bucketUnits[u].months) }

// begin returns the first month of a bucket.
func (u Unit) begin(number int64) int64 { return number * bucketUnits[u].months }

// after returns the month that begins the bucket after that of a month.
func (u Unit) after(month int64) int64 { return u.begin(u.number(month) + 1) }

// month returns the month of a day, counted from January of year 0. The day must be in
// range.
func (c Calendar) month(day int64) int64 {
	d := c.date(day)
	return d.Year*12 + int64(d.Month) - 1
}

// end returns the first day after the bucket that holds day.
func (c Calendar) end(day int64, u Unit) int64 { return c.monthStart(u.after(c.month(day))) }

// maxBuckets is the largest number of buckets that [Buckets.Edges] and [Buckets.Covering]
// list. It suffices for the months of 87,000 years.
const maxBuckets = 1 << 20

// Buckets knows where months or years begin along an axis. It is made from a coordinate
// ([Boundaries]) or from regular steps ([Steps.Buckets]) and is safe for concurrent use.
// The zero value has no times.
type Buckets struct {
	unit  Unit
	steps *Steps  // nil if there is a coordinate
	stops []int64 // of a coordinate: index after the last element of each bucket
}

// Boundaries returns the buckets of a coordinate. The values must cover the whole axis,
// including all elements by which it will grow. What comes after the last value is
// unknown, so the last bucket ends there; [Continue] and [Predict] look further. Errors
// are those of [Edges].
func Boundaries[T Number](values []T, u Units, unit Unit) (Buckets, error) {
	list, err := stops(values, u, unit)
	return Buckets{unit: unit, stops: list}, err
}

// Len returns the number of elements that have times, or that [Predict] expects. It
// returns false if there is no end to them.
func (b Buckets) Len() (int64, bool) {
	if b.steps != nil {
		return 0, false
	}
	if len(b.stops) == 0 {
		return 0, true
	}
	return b.stops[len(b.stops)-1], true
}

// Next returns the smallest index above i whose element begins a new bucket. For the last
// bucket of a coordinate it is the number of values, or what [Predict] expects. A chunk
// that begins at i may therefore end there. The error wraps [ErrOutOfRange] if element i
// has no time, and [ErrOverflow] if the next bucket is too far away.
func (b Buckets) Next(i int64) (int64, error) {
	if err := b.check(i); err != nil {
		return 0, err
	}
	if b.steps != nil {
		return b.steps.next(i, b.unit)
	}
	return b.stops[b.bucket(i)], nil
}

// Fits returns nil if element i begins a bucket, so that a chunk may begin there. Element
// 0 always does. So does the end of a coordinate, because nothing is known about what
// follows. Otherwise the error wraps [ErrUnaligned] and gives the elements of the bucket.
// For elements beyond the end of a coordinate it wraps [ErrOutOfRange].
func (b Buckets) Fits(i int64) error {
	// The first bucket may be incomplete, and nothing is known beyond the last value.
	if n, ends := b.Len(); i == 0 || ends && i == n {
		return nil
	}
	if err := b.check(i); err != nil {
		return err
	}
	// Element i begins a bucket if that of the element before it ends there.
	next, err := b.Next(i - 1)
	if err != nil || next == i {
		return err
	}
	start, err := b.start(i)
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: element %d lies within a %v that has elements %d to %d", ErrUnaligned, i, b.unit, start, next-1)
}

// Edges returns the number of elements of each bucket among the first n elements. The
// last bucket is cut at n. Errors are those of [Buckets.Covering].
func (b Buckets) Edges(n int64) ([]int64, error) {
	edges, sum, err := b.cover(n)
	if len(edges) > 0 {
		// The last bucket may reach beyond element n.
		edges[len(edges)-1] -= sum - n
	}
	return edges, err
}

// Covering returns the number of elements of each bucket that holds any of the first n
// elements. The last one is complete and may reach beyond n, but not beyond the end of a
// coordinate. The error wraps [ErrOutOfRange] if a coordinate has fewer than n values,
// [ErrLimit] if there are more than 1,048,576 buckets, or [ErrOverflow].
func (b Buckets) Covering(n int64) ([]int64, error) {
	edges, _, err := b.cover(n)
	return edges, err
}

// cover returns complete buckets and the sum of their elements.
func (b Buckets) cover(n int64) (edges []int64, sum int64, err error) {
	if n <= 0 {
		if n < 0 {
			err = invalid("%s", quantity.Count(n, "elements"))
		}
		return nil, 0, err
	}
	if err := b.check(n - 1); err != nil {
		return nil, 0, err
	}
	if b.steps != nil {
		// Steps can have any number of buckets. Those of a coordinate are in memory
		// already.
		if err := b.steps.limit(n, b.unit); err != nil {
			return nil, 0, err
		}
	}
	for sum < n {
		next, err := b.Next(sum)
		if err != nil {
			return nil, 0, err
		}
		edges, sum = append(edges, next-sum), next
	}
	return edges, sum, nil
}

// check returns an error if element i has no time.
func (b Buckets) check(i int64) error {
	if err := b.unit.check(); err != nil {
		return err
	}
	if i < 0 {
		return fmt.Errorf("%w: element %d is negative", ErrOutOfRange, i)
	}
	if n, ends := b.Len(); ends && i >= n {
		return fmt.Errorf("%w: it has %s, but none for element %d; extend the coordinate first", ErrOutOfRange, quantity.Count(n, "values"), i)
	}
	return nil
}

// bucket returns the bucket of a coordinate that holds element i.
func (b Buckets) bucket(i int64) int {
	return sort.Search(len(b.stops), func(k int) bool { return b.stops[k] > i })
}

// start returns the first element of the bucket that holds element i.
func (b Buckets) start(i int64) (int64, error) {
	if b.steps != nil {
		return b.steps.first(i, b.unit)
	}
	k := b.bucket(i)
	if k == 0 {
		return 0, nil
	}
	return b.stops[k-1], nil
}

// Edges returns the number of elements in each bucket, in order. These are the lengths of
// chunks with one month or year each. The values are the whole coordinate of the axis, so
// the lengths sum to their number. The first and last bucket may be incomplete. A bucket
// without elements has no entry, and without values there are no entries.
//
// The error wraps [ErrInvalid] if values do not increase or are not finite, or if u or
// unit is zero. It wraps [ErrOverflow] if a value is too large for a time.
func Edges[T Number](values []T, u Units, unit Unit) ([]int64, error) {
	stops, err := stops(values, u, unit)
	// From the last one on, so that each difference is of values that are still indices.
	for i := len(stops) - 1; i > 0; i-- {
		stops[i] -= stops[i-1]
	}
	return stops, err
}

// stops returns the index after the last element of each bucket. It converts only a few
// values per bucket, because values increase.
func stops[T Number](values []T, u Units, unit Unit) ([]int64, error) {
	if err := unit.check(); err != nil || len(values) == 0 {
		return nil, err
	}
	if err := increasing(values, u); err != nil {
		return nil, err
	}
	var list []int64
	// The length of a bucket is a good guess for that of the next one.
	for i, length := 0, 1; i < len(values); {
		t, _, err := instantOf(u, values[i])
		if err != nil {
			return nil, err
		}
		next, err := search(values, u, i, length, u.calendar.end(t.Day, unit))
		if err != nil {
			return nil, err
		}
		i, length = next, next-i
		list = append(list, int64(i))
	}
	return list, nil
}

// search returns the first index after i whose element is not before a day. It first
// tries the element one bucket further, because buckets hardly differ in length.
func search[T Number](values []T, u Units, i, length int, day int64) (int, error) {
	lo, hi := i, len(values) // lo is before day, hi is not
	for step := max(1, length); lo+1 < hi; step = (hi - lo) / 2 {
		probe := min(lo+max(1, step), hi-1)
		t, _, err := instantOf(u, values[probe])
		if err != nil {
			return 0, err
		}
		if t.Day < day {
			lo = probe
		} else {
			hi = probe
		}
	}
	return hi, nil
}

// increasing returns an error if values do not increase, or if the first or the last is
// not a valid time.
func increasing[T Number](values []T, u Units) error {
	for i := 1; i < len(values); i++ {
		if !(values[i-1] < values[i]) { // NaN is not less
			return invalid("time %v of element %d comes after %v; times must increase", values[i], i, values[i-1])
		}
	}
	// Values increase, so if both ends are valid times all others are, too.
	for _, i := range []int{0, len(values) - 1} {
		if _, _, err := instantOf(u, values[i]); err != nil {
			return onElement(int64(i), err)
		}
	}
	return nil
}

// recent is the number of last values that define the usual step of a coordinate.
const recent = 1 << 10

// Predict returns the buckets of a coordinate that is not evenly spaced, such as one of
// observations with gaps. It is like [Boundaries], but extends the last bucket: the
// values are assumed to continue at their usual step, which is the median of the last
// 1,024. Errors are those of [Edges].
func Predict[T Number](values []T, u Units, unit Unit) (Buckets, error) {
	b, err := Boundaries(values, u, unit)
	if err != nil || len(values) < 2 {
		return b, err
	}
	last, step, err := usualStep(values[max(0, len(values)-recent):], u)
	if err != nil || step == 0 {
		return b, err
	}
	// Element 0 of these steps is the last value.
	more, err := Steps{u.calendar, last, Step{Length: step}}.next(0, unit)
	if err != nil {
		return b, err
	}
	end := &b.stops[len(b.stops)-1]
	// The last value counts in both terms, so subtract it once.
	*end = max(*end, *end-1+more)
	return b, nil
}

// usualStep returns the time of the last value and the median of the steps between
// values. The step is 0 if it overflows 64 bits of nanoseconds.
func usualStep[T Number](values []T, u Units) (last Instant, step time.Duration, err error) {
	steps := make([]int64, 0, len(values)-1)
	for i, v := range values {
		t, _, err := instantOf(u, v)
		if err != nil {
			return t, 0, onElement(int64(i), err)
		}
		if i > 0 {
			hi, lo := t.since(last)
			if hi > 0 || lo > math.MaxInt64 {
				// The difference does not fit 64 bits. A step of 0 means that nothing is
				// predicted.
				lo = 0
			}
			steps = append(steps, int64(lo))
		}
		last = t
	}
	slices.Sort(steps)
	return last, time.Duration(steps[len(steps)/2]), nil
}
