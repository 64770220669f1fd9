// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/selection"
)

// durationsBetween selects by a coordinate of type timedelta64. A value without a unit
// has the unit of the elements.
func durationsBetween(ctx context.Context, c *zarr.Array, v selection.Values) (item selection.Item, err error) {
	t := c.Type()
	if step := t.Step(); step.Unit == "M" || step.Unit == "Y" || step.Unit == "generic" {
		return item, invalid("elements of type %s have no fixed duration; select by index", t)
	}
	o := lengthsOfTime()
	err = each(ctx, c, func(elem []byte) error {
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
