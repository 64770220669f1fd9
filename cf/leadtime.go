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

// durationsBetween selects by elements that are lengths of time. A number without a unit
// counts those of the elements.
func durationsBetween(ctx context.Context, c *zarr.Array, v selection.Values) (item selection.Item, err error) {
	t := c.Type()
	if step := t.Step(); step.Unit == "M" || step.Unit == "Y" || step.Unit == "generic" {
		return item, invalid("elements of type %s have no fixed length; select by index", t)
	}
	o := lengthsOfTime()
	err = each(ctx, c, func(elem []byte) error {
		n := countOf(elem)
		d, ok := t.Duration(n)
		if !ok && n != dtype.NaT {
			return invalid("element %d, %s, is too long to be compared; select by index", len(o.values), t.AppendText(nil, elem))
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

// countOf returns the number that an element of times or durations is.
func countOf(elem []byte) int64 { return int64(binary.NativeEndian.Uint64(elem)) }

// lengthsOfTime returns the order of lengths of time, without any.
func lengthsOfTime() *ordinates[time.Duration] {
	return &ordinates[time.Duration]{
		compare:  cmp.Compare[time.Duration],
		text:     func(d time.Duration) string { return formatDuration(int64(d), time.Nanosecond) },
		distance: func(a, b time.Duration) float64 { return math.Abs(float64(a) - float64(b)) },
	}
}

// parseLead reads a number of the units of a type, or a length of time.
func parseLead(t dtype.Type, text string) (time.Duration, error) {
	one, err := dtype.TimedeltaOf(t.Step().Unit, 1)
	if err != nil {
		return 0, err
	}
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
		return 0, invalid("%s is too long: 292 years are possible", text)
	}
	return time.Duration(math.RoundToEven(x)), nil
}

// unitLength returns the nanoseconds of the unit of a type, of which some are shorter
// than one.
func unitLength(one dtype.Type) float64 {
	if d, ok := one.Duration(1); ok {
		return float64(d)
	}
	d, _ := one.Duration(1e9)
	return float64(d) / 1e9
}
