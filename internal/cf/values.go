// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/quantity"
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
	if !IsNumeric(from.Type()) {
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
	// A view with a selection of its own is narrowed further.
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
	if !IsNumeric(v.Type()) || v.Type() != a.Type() {
		return nil, 0, invalid("array %s has elements of type %s, which are not numbers", a.Path(), a.Type())
	}
	// The result has 8 bytes for each element, which must not overflow an int.
	if v.Selection().Len() > math.MaxInt/8 {
		return nil, 0, fmt.Errorf("%w: %s at once", zarr.ErrLimit, quantity.Count(v.Selection().Len(), "elements"))
	}
	return v, int(v.Selection().Len()), nil
}

// WriteFloats packs numbers as the attributes of an array describe, and stores them. A
// stored number is (value - add_offset) / scale_factor, rounded to the nearest integer
// if elements are integers. NaN becomes the missing value. src holds the selected
// elements in C order.
//
// WriteFloats stores nothing if a number does not fit the type of the elements, if a
// number would be stored as the missing value, or if an integer array has no missing
// value for a NaN. Then the error wraps [zarr.ErrInvalidArgument].
func WriteFloats(ctx context.Context, to zarr.Elements, sel selection.Selection, src []float64) error {
	v, n, err := numbers(to, sel)
	if err != nil {
		return err
	}
	if len(src) != n {
		return invalid("%s for a selection of %s", quantity.Count(len(src), "numbers"), quantity.Count(n, "elements"))
	}
	p, err := PackingOf(ctx, v.Array())
	if err != nil {
		return err
	}
	// Pack everything first, so that an unsuitable number stores nothing.
	data := make([]byte, n*v.Type().Size())
	if err := p.Pack(data, src); err != nil {
		return fmt.Errorf("array %s: %w", v.Array().Path(), err)
	}
	return v.Array().WriteBytes(ctx, v.Selection(), data)
}

// Pack packs the numbers in src into the elements in dst, as [WriteFloats] describes.
// It panics if dst is shorter than src. After an error the contents of dst are
// undefined.
func (p *Packing) Pack(dst []byte, src []float64) error {
	put, err := putNumber(p.stored)
	if err != nil {
		return err
	}
	size := p.stored.Size()
	for i, value := range src {
		elem := dst[i*size:][:size:size]
		if math.IsNaN(value) {
			if err = p.putMissing(elem); err != nil {
				return fmt.Errorf("number %d: %w", i, err)
			}
			continue
		}
		number := value
		if p.scaled {
			number = (value - p.offset) / p.scale
		}
		// A number that equals the missing value would be lost.
		switch {
		case !put(elem, number):
			return invalid("number %d: %v is stored as %v, which %s does not have", i, value, number, p.stored)
		case p.IsMissing(elem):
			return invalid("number %d: %v would be stored as the missing value %s", i, value, p.stored.AppendText(nil, elem))
		}
	}
	return nil
}

// putMissing sets an element to the missing value.
func (p *Packing) putMissing(elem []byte) error {
	switch {
	case p.filled != nil:
		copy(elem, p.filled)
	case len(p.absent) > 0:
		copy(elem, p.absent[0])
	case p.isFloat():
		putFloat(p.stored)(elem, math.NaN())
	default:
		return invalid("NaN has no missing value to be stored as; set the attribute _FillValue")
	}
	return nil
}

// putNumber returns a function that sets an element of a numeric type to a number. It
// rounds to the nearest number of the type, and ties to even. The function returns
// false if the number is out of range.
func putNumber(t dtype.Type) (func(elem []byte, number float64) bool, error) {
	bits := 8 * t.Size()
	var least, limit float64
	switch t.Kind() {
	case dtype.KindFloat:
		put, number := putFloat(t), numberOf(t)
		return func(elem []byte, n float64) bool {
			put(elem, n)
			return !math.IsInf(number(elem), 0) || math.IsInf(n, 0)
		}, nil
	case dtype.KindInt:
		least, limit = -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1)
	case dtype.KindUint:
		least, limit = 0, math.Ldexp(1, bits)
	default:
		return nil, invalid("elements of type %s are not numbers", t)
	}
	signed := t.Kind() == dtype.KindInt
	return func(elem []byte, n float64) bool {
		n = math.RoundToEven(n)
		// The limits are powers of two, which float64 holds exactly.
		if !(n >= least && n < limit) {
			return false
		}
		whole := uint64(n)
		if signed {
			whole = uint64(int64(n))
		}
		byteorder.Store(elem, whole)
		return true
	}, nil
}

// Select returns the elements of an array that a text selects, as [selection.Parser]
// describes: by index as "0:10, ..., 3" or "time=0:10", and by coordinate values as
// "time=2024-12-25..2025-01-01, latitude=52.5". [Lookup] describes how values match
// elements. If the text is malformed or does not fit the array, the error wraps
// [zarr.ErrInvalidArgument] or [selection.ErrInvalid].
func Select(ctx context.Context, a *zarr.Array, text string) (*zarr.View, error) {
	names := a.DimensionNames()
	if names == nil {
		names = make([]string, a.Rank())
	}
	find := func(dimension string, v selection.Values) (selection.Item, error) {
		item, err := Lookup(ctx, a, dimension, v)
		if term := fmt.Sprintf("%s=%s", dimension, v); err != nil && term != strings.TrimSpace(text) {
			err = fmt.Errorf("%s: %w", term, err) // names the item among several
		}
		return item, err
	}
	sel, err := selection.Parser{Names: names, Lookup: find}.Parse(text)
	if err != nil {
		return nil, err
	}
	return a.View(sel)
}
