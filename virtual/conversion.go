// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/byteorder"
)

// converted returns the values of another coordinate in the units and the type of this
// one.
func (c *coordinate) converted(o *coordinate) ([]byte, error) {
	if o.text == c.text && o.units == c.units && o.typ == c.typ {
		return o.values, nil
	}
	if err := c.convertible(o); err != nil {
		return nil, err
	}
	size, from := c.typ.Size(), o.typ.Size()
	out := make([]byte, len(o.values)/from*size)
	for i := range len(o.values) / from {
		if err := c.convert(o, out[i*size:][:size], o.values[i*from:][:from]); err != nil {
			return nil, fmt.Errorf("%s cannot be expressed as %s: element %d: %w", o, c, i, err)
		}
	}
	return out, nil
}

// String returns what the numbers count and how they are stored, for messages.
func (c *coordinate) String() string {
	switch {
	case c.text == "":
		return fmt.Sprint(c.typ)
	case c.isTime && c.units.Calendar() != calendar.Standard:
		return fmt.Sprintf("%q (%s) of %s", c.text, c.units.Calendar(), c.typ)
	}
	return fmt.Sprintf("%q of %s", c.text, c.typ)
}

// isEqual reports whether values in the units and the type of the coordinate are its own.
// NaN has several patterns of bits, and so has 0.
func (c *coordinate) isEqual(values []byte) bool {
	if !isFloat(c.typ) || bytes.Equal(values, c.values) {
		return bytes.Equal(values, c.values)
	}
	size := c.typ.Size()
	same := len(values) == len(c.values)
	for i := 0; same && i < len(values); i += size {
		x, y := floatOf(values[i:i+size]), floatOf(c.values[i:i+size])
		same = x == y || math.IsNaN(x) && math.IsNaN(y)
	}
	return same
}

// convertible returns an error if the numbers of two coordinates cannot be converted.
func (c *coordinate) convertible(o *coordinate) error {
	switch {
	case !c.isSameUnit(o.times) && (!c.isTime || !o.isTime):
		return fmt.Errorf("units %q, and those of the files before are %q", o.text, c.text)
	case !o.units.CanBe(c.units):
		return fmt.Errorf("the calendar %s, and that of the files before is %s", o.units.Calendar(), c.units.Calendar())
	case c.packed || o.packed:
		// The scale of one file would apply to the numbers of another.
		return fmt.Errorf("%s after %s, and the numbers have a scale_factor, an add_offset or _Unsigned", o, c)
	}
	return nil
}

// convert converts one element.
func (c *coordinate) convert(o *coordinate, dst, src []byte) error {
	nan := o.typ.Kind() == dtype.KindFloat && math.IsNaN(floatOf(src))
	switch gap := isGap(o.missing, src); {
	case o.typ == c.typ && (gap || nan):
		copy(dst, src)
		return nil
	case nan && c.typ.Kind() == dtype.KindFloat:
		setFloat(dst, floatOf(src))
		return nil
	case gap:
		// Its bits may be an ordinary number in the other type.
		return errors.New("it stands for no value")
	}
	var err error
	if c.isTime && o.isTime && (o.text != c.text || o.units != c.units) {
		err = c.retime(o, dst, src)
	} else {
		err = c.retype(o, dst, src)
	}
	if err == nil && isGap(c.missing, dst) {
		err = errors.New("the number would stand for no value")
	}
	return err
}

// isGap reports whether an element is one of those that stand for no value.
func isGap(missing [][]byte, elem []byte) bool {
	return slices.ContainsFunc(missing, func(m []byte) bool { return bytes.Equal(m, elem) })
}

// retype converts a number to the type of the coordinate.
func (c *coordinate) retype(o *coordinate, dst, src []byte) error {
	v, f, err := o.number(src)
	if err != nil {
		return err
	}
	whole := o.typ.Kind() != dtype.KindFloat || f == math.Trunc(f) && math.Abs(f) < 1<<63
	if o.typ.Kind() == dtype.KindFloat && whole {
		v = int64(f)
	}
	fits := false
	if c.typ.Kind() == dtype.KindFloat {
		setFloat(dst, f)
		got := floatOf(dst)
		fits = got == f && (o.typ.Kind() == dtype.KindFloat || math.Abs(got) < 1<<63 && int64(got) == v)
	} else {
		fits = whole && setInteger(dst, v, c.typ.Kind() == dtype.KindUint)
	}
	if !fits {
		return fmt.Errorf("%s does not fit the type %s", o.typ.AppendText(nil, src), c.typ)
	}
	return nil
}

// number returns an element as an integer and as a float. Of a float, the integer is 0.
func (c *coordinate) number(elem []byte) (int64, float64, error) {
	if c.typ.Kind() == dtype.KindFloat {
		return 0, floatOf(elem), nil
	}
	v := integerOf(elem, c.typ.Kind() == dtype.KindUint)
	if c.typ.Kind() == dtype.KindUint && v < 0 {
		return 0, 0, fmt.Errorf("%d is too large", uint64(v))
	}
	return v, float64(v), nil
}

// retime converts a time. A number that the type would round so that its time changes, by
// more than the last digits that it had before, is an error.
func (c *coordinate) retime(o *coordinate, dst, src []byte) error {
	v, f, err := o.number(src)
	if err != nil {
		return err
	}
	at, err := o.units.At(v)
	if o.typ.Kind() == dtype.KindFloat {
		at, err = o.units.AtFloat(f)
	}
	if err == nil {
		err = o.units.Agree(c.units, at)
	}
	if err != nil {
		return err
	}
	if c.typ.Kind() != dtype.KindFloat {
		n, err := c.units.Count(at)
		if err == nil && !setInteger(dst, n, c.typ.Kind() == dtype.KindUint) {
			err = fmt.Errorf("%d does not fit the type %s", n, c.typ)
		}
		return err
	}
	setFloat(dst, c.units.CountFloat(at))
	back, err := c.units.AtFloat(floatOf(dst))
	if err != nil {
		return err
	}
	same := false
	if o.typ.Kind() == dtype.KindFloat {
		again := make([]byte, len(src))
		setFloat(again, o.units.CountFloat(back))
		// Two conversions of units may each round the last digit.
		same = math.Abs(floatOf(again)-f) <= 4*spacing(f, len(src))
	} else if n, err := o.units.Count(back); err == nil {
		same = n == v
	}
	if !same {
		return fmt.Errorf("the type %s has too few digits for %s", c.typ, o.typ.AppendText(nil, src))
	}
	return nil
}

// spacing returns the distance between floats of a size in bytes around v.
func spacing(v float64, size int) float64 {
	digits := map[int]int{2: 10, 4: 23, 8: 52}[size]
	_, exponent := math.Frexp(v)
	return math.Ldexp(1, exponent-1-digits)
}

// disordered reports whether values do not continue in the order of those that are there:
// rising or falling from the last ones. A single one does not repeat.
func (c *coordinate) disordered(more []byte) bool {
	size := c.typ.Size()
	if len(c.values) < size || len(more) < size {
		return false
	}
	number := func(b []byte) float64 {
		if c.typ.Kind() == dtype.KindFloat {
			return floatOf(b[:size])
		}
		return float64(integerOf(b[:size], c.typ.Kind() == dtype.KindUint))
	}
	// Large integers are rounded. That is enough for a note about the order.
	last, next := number(c.values[len(c.values)-size:]), number(more)
	if len(c.values) < 2*size { // files of one time each: times rise
		return next == last || c.isTime && next < last
	}
	before := number(c.values[len(c.values)-2*size:])
	return last > before && next <= last || last < before && next >= last
}

// floatOf returns a float in host byte order.
func floatOf(b []byte) float64 {
	switch len(b) {
	case 2:
		return float64(dtype.Float16(binary.NativeEndian.Uint16(b)).Float32())
	case 4:
		return float64(math.Float32frombits(binary.NativeEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.NativeEndian.Uint64(b))
}

// setFloat stores a float.
func setFloat(b []byte, v float64) {
	switch len(b) {
	case 2:
		binary.NativeEndian.PutUint16(b, uint16(dtype.FromFloat32(float32(v))))
	case 4:
		binary.NativeEndian.PutUint32(b, math.Float32bits(float32(v)))
	default:
		binary.NativeEndian.PutUint64(b, math.Float64bits(v))
	}
}

// integerOf returns an integer in host byte order.
func integerOf(b []byte, unsigned bool) int64 {
	x, unused := byteorder.Load(b), 64-8*len(b)
	if unsigned {
		return int64(x)
	}
	return int64(x<<unused) >> unused // repeats the sign
}

// setInteger stores an integer, and reports whether it fits.
func setInteger(b []byte, v int64, unsigned bool) bool {
	byteorder.Store(b, uint64(v))
	return integerOf(b, unsigned) == v && (v >= 0 || !unsigned)
}
