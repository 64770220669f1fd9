package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/calendar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
)

// decoding is what the CF conventions make of stored numbers: another type, by way of one function.
type decoding struct {
	typ    dtype.Type // of what is made
	number func(elem []byte) float64
	put    func(dst, elem []byte, value float64)
	word   func(elem []byte, value float64) string // in place of put, where what is made is text
	shown  func(made []byte) string                // how people see it; nil is as any of its type
	absent [][]byte                                // elements that stand for no value

	isFloat bool // what is stored is floats
}

// decodeFlag gives a command the flag --decode.
func decodeFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("decode", false, "make of stored numbers what CF attributes say: scale_factor, add_offset, _FillValue, missing_value; times and durations")
}

// decodingOf returns what the attributes of an array say of its numbers, nil where they say nothing (CF conventions, sections 2.5.1,
// 4.4 and 8.1; xarray). In format 2 the fill value stands for no value, as xarray has it. Scaled numbers become float64, times
// moments, or text where the calendar has other days than there were, and lengths of time durations.
func decodingOf(a *zarr.Array) (*decoding, error) {
	t := a.Type()
	if !isNumeric(t) {
		return nil, nil
	}
	d := &decoding{number: numberOf(t), isFloat: t.Kind() == dtype.Float}
	if err := d.findAbsent(a); err != nil {
		return nil, err
	}
	if axis, ok := timesOf(a); ok {
		return d.moments(t, axis)
	}
	scale, scaled, err := numberAttribute(a, "scale_factor")
	if err != nil {
		return nil, err
	}
	offset, moved, err := numberAttribute(a, "add_offset")
	if !scaled {
		scale = 1
	}
	if unit, ok := timeUnits[attribute(a, "units")]; ok && err == nil {
		return d.durations(t, unit, func(x float64) float64 { return float64(x*scale) + offset }, scaled || moved)
	}
	if err != nil || !scaled && !moved && d.absent == nil {
		return nil, err
	}
	d.typ = dtype.Of[float64]()
	d.put = func(dst, _ []byte, value float64) {
		bits := math.Float64bits(float64(value*scale) + offset)
		if math.IsNaN(value) {
			bits = quietNaN
		}
		binary.NativeEndian.PutUint64(dst, bits)
	}
	return d, nil
}

// quietNaN is the NaN that metadata and NumPy mean by that name.
const quietNaN = 0x7ff8000000000000

// moments makes times of numbers. Those that are none, or lie beyond the years that can be written, are not a time.
// datetime64 has no 30th of February, so times of calendars with such days become text.
func (d *decoding) moments(t dtype.Type, axis timeAxis) (*decoding, error) {
	if !axis.isReal() {
		return d.dates(t, axis), nil
	}
	var err error
	unit := "us"
	switch {
	case axis.Length() < time.Microsecond:
		unit = "ns"
	case t.Kind() != dtype.Float && axis.Length()%time.Second == 0:
		unit = "s"
	}
	if d.typ, err = dtype.DatetimeOf(unit, 1); err != nil {
		return nil, err
	}
	d.put = func(dst, elem []byte, value float64) {
		n := int64(dtype.NaT)
		if !math.IsNaN(value) {
			if text, ok := axis.in(calendar.ProlepticGregorian, string(t.AppendText(nil, elem))); ok {
				if moment, err := d.typ.ParseText(text); err == nil {
					n = int64(binary.NativeEndian.Uint64(moment))
				}
			}
		}
		binary.NativeEndian.PutUint64(dst, uint64(n))
	}
	return d, nil
}

// dates makes text of times, as ISO 8601 writes them in their own calendar.
func (d *decoding) dates(t dtype.Type, axis timeAxis) *decoding {
	d.typ = dtype.Of[string]()
	d.shown = func(made []byte) string { return string(made) }
	d.word = func(elem []byte, value float64) string {
		if !math.IsNaN(value) {
			if at, err := axis.instant(string(t.AppendText(nil, elem))); err == nil {
				return axis.text(axis.Calendar(), at)
			}
		}
		return "NaT"
	}
	return d
}

// decode fills dst with what the elements of src stand for.
func (d *decoding) decode(dst *elements, src elements) {
	n := src.len()
	dst.typ = d.typ
	dst.grow(n)
	for i := range n {
		elem := src.at(i)
		value := d.number(elem)
		if d.isAbsent(elem, value) {
			value = math.NaN()
		}
		if d.word != nil {
			dst.words[i] = []byte(d.word(elem, value))
		} else {
			d.put(dst.at(i), elem, value)
		}
	}
}

// findAbsent finds the elements that stand for no value. As in xarray, the fill value of an
// array of format 2 wins over the attribute _FillValue, unless it is null.
func (d *decoding) findAbsent(a *zarr.Array) error {
	names := []string{missing.FillValue, missing.Value}
	if doc := a.Metadata(); a.Format() == 2 && !doc.HasNullFill() {
		names = names[1:]
		d.absent = append(d.absent, a.FillValue())
	}
	for _, name := range names {
		v, err := attributeValue(a, name)
		if err != nil || v.IsZero() {
			continue
		}
		list := []strictjson.Value{v}
		if v.Kind() == strictjson.Array {
			list = nil
			for _, e := range v.Elements() {
				list = append(list, e)
			}
		}
		for _, e := range list {
			elem, err := missing.Parse(a.Type(), e.Raw())
			if err != nil {
				return badArgument("--decode: attribute %s: %w", name, err)
			}
			d.absent = append(d.absent, elem)
		}
	}
	return nil
}

// isAbsent reports whether an element, of the given value, stands for no value. Floats are
// compared by value, as xarray does it: -0.0 is absent where 0.0 is.
func (d *decoding) isAbsent(elem []byte, value float64) bool {
	for _, absent := range d.absent {
		if bytes.Equal(elem, absent) || d.isFloat && value == d.number(absent) {
			return true
		}
	}
	return false
}

// numberAttribute returns a user attribute that is a number, or a list of one.
func numberAttribute(a *zarr.Array, name string) (value float64, ok bool, err error) {
	v, err := attributeValue(a, name)
	if err != nil || v.IsZero() {
		return 0, false, err
	}
	if v.Kind() == strictjson.Array && v.Len() == 1 {
		for _, v = range v.Elements() {
			break
		}
	}
	if v.Kind() != strictjson.Number {
		return 0, false, badArgument("--decode: attribute %s is no number", name)
	}
	value, err = strconv.ParseFloat(string(v.Raw()), 64)
	if err != nil {
		err = badArgument("--decode: attribute %s: %w", name, err)
	}
	return value, true, err
}

// attributeValue returns a user attribute, the zero Value where there is none.
func attributeValue(a *zarr.Array, name string) (v strictjson.Value, err error) {
	raw, ok, err := metadata.Attribute(a.Attributes(), name)
	if err != nil || !ok {
		return v, err
	}
	return strictjson.Parse(raw, strictjson.Limits{})
}

// isNumeric reports whether elements are numbers of one part.
func isNumeric(t dtype.Type) bool {
	k := t.Kind()
	return k == dtype.Int || k == dtype.Uint || k == dtype.Float
}

// numberOf returns what makes float64 of elements of a numeric type.
func numberOf(t dtype.Type) func(elem []byte) float64 {
	switch t {
	case dtype.Of[int16]():
		return func(e []byte) float64 { return float64(int16(binary.NativeEndian.Uint16(e))) }
	case dtype.Of[uint16]():
		return func(e []byte) float64 { return float64(binary.NativeEndian.Uint16(e)) }
	case dtype.Of[int32]():
		return func(e []byte) float64 { return float64(int32(binary.NativeEndian.Uint32(e))) }
	case dtype.Of[int64]():
		return func(e []byte) float64 { return float64(int64(binary.NativeEndian.Uint64(e))) }
	case dtype.Of[float32]():
		return func(e []byte) float64 { return float64(math.Float32frombits(binary.NativeEndian.Uint32(e))) }
	case dtype.Of[float64]():
		return func(e []byte) float64 { return math.Float64frombits(binary.NativeEndian.Uint64(e)) }
	}
	var text []byte
	return func(elem []byte) float64 {
		text = t.AppendText(text[:0], elem)
		v, err := strconv.ParseFloat(string(text), 64)
		if err != nil && !math.IsInf(v, 0) {
			return math.NaN()
		}
		return v
	}
}

// endsOfTime returns the first and the last element of an array that is a time coordinate, for people; nil for any other, and where
// they cannot be read.
func endsOfTime(ctx context.Context, a *zarr.Array) []string {
	if a.Rank() != 1 || a.Shape()[0] == 0 {
		return nil
	}
	if _, counted := timesOf(a); !counted && a.Type().Kind() != dtype.Datetime {
		return nil
	}
	s, err := newSource(ctx, a, "", false)
	if err != nil {
		return nil
	}
	text, axis := s.text(), a.Grid().Axis(0)
	var texts []string
	for _, i := range []int64{0, a.Shape()[0] - 1} {
		chunk, _, _ := axis.Locate(i)
		cell, _ := axis.Cell(chunk)
		if cell.Encoded > mostTimes {
			return nil
		}
		e := elements{typ: a.Type()}
		e.grow(1)
		if err := e.read(ctx, a, selection.Box{{i, i + 1}}); err != nil {
			return nil
		}
		texts = append(texts, text(e.at(0)))
	}
	return texts
}
