// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"context"
	"fmt"
	"math"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/selection"
)

// ReadFloats reads the selected elements and unpacks them. Missing elements are NaN. If
// elements are not numbers, or an attribute is malformed, the error wraps
// [zarr.ErrInvalidArgument]. ReadFloats allocates memory for both the stored elements
// and the result.
func ReadFloats(ctx context.Context, from zarr.Elements, sel selection.Selection) (b zarr.Block[float64], err error) {
	v, stored, err := read(ctx, from, sel)
	if err != nil {
		return b, err
	}
	p, err := PackingOf(ctx, v.Array())
	if err != nil {
		return b, err
	}
	b = zarr.Block[float64]{Shape: v.Shape(), Data: make([]float64, len(stored)/v.Type().Size())}
	p.Floats(b.Data, stored)
	return b, nil
}

// ReadTimes reads the selected elements of an array of times: numbers whose units count
// from an epoch, or datetime64. Missing elements are the zero Time. The error wraps
// [zarr.ErrInvalidArgument] if the elements are not times, or if [time.Time] lacks the
// days of their calendar or the year of an element.
func ReadTimes(ctx context.Context, from zarr.Elements, sel selection.Selection) (b zarr.Block[time.Time], err error) {
	if !isNumeric(from.Type()) {
		return zarr.Read[time.Time](ctx, from, sel)
	}
	v, stored, err := read(ctx, from, sel)
	if err != nil {
		return b, err
	}
	u, err := UnitsIn(ctx, v.Array())
	if err != nil {
		return b, err
	}
	t, ok := u.Times()
	switch {
	case !ok && u.Err() != nil:
		return b, invalid("array %s: %w", v.Array().Path(), u.Err())
	case !ok:
		return b, invalid("array %s does not hold times: its units are %q", v.Array().Path(), u.Units)
	case !t.IsReal():
		return b, invalid("array %s has the calendar %s, which time.Time does not support; use DecodingOf", v.Array().Path(), u.Calendar)
	}
	p, err := packingOf(ctx, v.Array(), u)
	if err != nil {
		return b, err
	}
	// Zero is a real time in a coordinate, even if it is the fill value.
	p = p.OfCoordinate()
	size := v.Type().Size()
	b = zarr.Block[time.Time]{Shape: v.Shape(), Data: make([]time.Time, len(stored)/size)}
	for i := range b.Data {
		elem := stored[i*size:][:size:size]
		// A missing element stays the zero Time.
		if !p.HasValue(elem) {
			continue
		}
		if b.Data[i], err = p.time(t, elem); err != nil {
			return b, fmt.Errorf("element %d of the selection: %w", i, err)
		}
	}
	return b, nil
}

// mostDays bounds the distance from 1970 of days that are converted to time.Time. It is
// about 700 million years, so the seconds fit 64 bits.
const mostDays = 1 << 38

// time returns the time of an element.
func (p *Packing) time(t Times, elem []byte) (time.Time, error) {
	at, err := t.Instant(p.Text(elem))
	if err != nil {
		return time.Time{}, invalid("%w", err)
	}
	if at = t.round(at); at.Day < -mostDays || at.Day > mostDays {
		return time.Time{}, invalid("day %d is outside the range of time.Time", at.Day)
	}
	return time.Unix(at.Day*24*60*60, at.Nano).UTC(), nil
}

// read reads the selected numbers without unpacking them.
func read(ctx context.Context, from zarr.Elements, sel selection.Selection) (v *zarr.View, stored []byte, err error) {
	v, n, err := numbers(from, sel)
	if err != nil {
		return nil, nil, err
	}
	stored = make([]byte, n*v.Type().Size())
	return v, stored, v.Array().ReadBytes(ctx, v.Selection(), stored)
}

// numbers returns a view of the selected elements and their count. The elements must be
// numbers, and no cast may change their type: the attributes describe stored numbers.
func numbers(of zarr.Elements, sel selection.Selection) (v *zarr.View, n int, err error) {
	switch of := of.(type) {
	case *zarr.Array:
		v, err = of.View(sel)
	case *zarr.View:
		if v = of; sel != nil {
			v, err = of.View(sel)
		}
	}
	if err != nil {
		return nil, 0, err
	}
	a := v.Array()
	if !isNumeric(v.Type()) || v.Type() != a.Type() {
		return nil, 0, invalid("array %s has elements of type %s, which are not numbers", a.Path(), a.Type())
	}
	if v.Selection().Len() > math.MaxInt/8 {
		return nil, 0, fmt.Errorf("%w: %d elements at once", zarr.ErrLimit, v.Selection().Len())
	}
	return v, int(v.Selection().Len()), nil
}
