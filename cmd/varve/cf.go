package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
)

// decoding is what the CF conventions make of stored numbers: another type, by way of one function.
type decoding struct {
	typ    dtype.Type // of what is made
	number func(elem []byte) float64
	put    func(dst, elem []byte, value float64)
	absent [][]byte // elements that stand for no value
}

// decodeFlag gives a command the flag --decode.
func decodeFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("decode", false, "make of stored numbers what CF attributes say: scale_factor, add_offset, _FillValue, missing_value; times")
}

// decodingOf returns what the attributes of an array say of its numbers, nil where they say nothing (CF conventions, sections 2.5.1,
// 4.4 and 8.1; xarray). In format 2 the fill value stands for no value, as xarray has it. Scaled numbers become float64, times
// moments in seconds or microseconds.
func decodingOf(a *zarr.Array) (*decoding, error) {
	t := a.Type()
	if !isNumeric(t) {
		return nil, nil
	}
	d := &decoding{number: numberOf(t)}
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
	if err != nil || !scaled && !moved && d.absent == nil {
		return nil, err
	}
	if !scaled {
		scale = 1
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
func (d *decoding) moments(t dtype.Type, axis timeAxis) (*decoding, error) {
	var err error
	unit := "us"
	if t.Kind() != dtype.Float && axis.Length()%time.Second == 0 {
		unit = "s"
	}
	if d.typ, err = dtype.DatetimeOf(unit, 1); err != nil {
		return nil, err
	}
	d.put = func(dst, elem []byte, value float64) {
		n := int64(dtype.NaT)
		if !math.IsNaN(value) {
			if text, ok := axis.at(string(t.AppendText(nil, elem))); ok {
				if moment, err := d.typ.ParseText(text); err == nil {
					n = int64(binary.NativeEndian.Uint64(moment))
				}
			}
		}
		binary.NativeEndian.PutUint64(dst, uint64(n))
	}
	return d, nil
}

// decode fills dst with what the elements of src stand for.
func (d *decoding) decode(dst *elements, src elements) {
	n := src.len()
	dst.typ = d.typ
	dst.grow(n)
	for i := range n {
		elem := src.at(i)
		value := d.number(elem)
		for _, absent := range d.absent {
			if bytes.Equal(elem, absent) {
				value = math.NaN()
			}
		}
		d.put(dst.at(i), elem, value)
	}
}

// findAbsent finds the elements that stand for no value.
func (d *decoding) findAbsent(a *zarr.Array) error {
	for _, name := range []string{"_FillValue", "missing_value"} {
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
			elem, err := parseAbsent(a.Type(), e)
			if err != nil {
				return badArgument("--decode: attribute %s: %w", name, err)
			}
			d.absent = append(d.absent, elem)
		}
	}
	if a.Format() == 2 {
		return d.addFill(a)
	}
	return nil
}

// addFill adds the fill value of an array of format 2, where that is not null.
func (d *decoding) addFill(a *zarr.Array) error {
	raw, err := a.Metadata().Marshal(metadata.Limits{})
	if err != nil {
		return err
	}
	fill, ok, err := metadata.Attribute(raw, "fill_value")
	if err != nil || !ok || string(bytes.TrimSpace(fill)) == "null" {
		return err
	}
	elem, err := a.Type().ParseFill(a.Metadata().FillValue)
	d.absent = append(d.absent, elem)
	return err
}

// parseAbsent reads a value as an element. That of floats may be eight bytes in base64, as xarray writes it in format 3.
func parseAbsent(t dtype.Type, v strictjson.Value) ([]byte, error) {
	if text, err := v.Str(); err == nil && t.Kind() == dtype.Float {
		if b, err := base64.StdEncoding.DecodeString(text); err == nil && len(b) == 8 {
			return t.ParseText(strconv.FormatFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)), 'g', -1, 64))
		}
	}
	return t.ParseFill(v.Raw())
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
	s, err := newSource(a, "", false)
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
