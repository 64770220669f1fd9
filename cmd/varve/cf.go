package main

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/selection"
)

// decoding is what the CF conventions make of stored numbers: another type, by way of one
// function.
type decoding struct {
	packing
	typ   dtype.Type // of what is made
	put   func(dst, elem []byte, value float64)
	word  func(elem []byte, value float64) string // in place of put, where what is made is text
	shown func(made []byte) string                // how people see it; nil is as any of its type

	// Times are text where one of them is none of datetime64: see settle.
	says    func(elem []byte) bool // whether an element is a moment that datetime64 has
	instead *decoding              // what makes text
}

// decodeFlag gives a command the flag --decode.
func decodeFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("decode", false, "make of stored numbers what CF attributes say: scale_factor, add_offset, _FillValue, missing_value, _Unsigned; times and durations")
}

// decodingOf returns what the attributes of an array say of its numbers, which count what
// c says; nil where they say nothing (CF conventions, sections 2.5.1, 4.4 and 8.1;
// xarray). In format 2 the fill value stands for no value, as xarray has it. Scaled
// numbers become float64, others with a missing value floats as narrow as xarray makes
// them, times moments, or text where datetime64 has no such days, and lengths of time
// durations.
func decodingOf(a *zarr.Array, c counting) (*decoding, error) {
	if !isNumeric(a.Type()) {
		return nil, nil
	}
	p, err := packingAs(a, c)
	if err != nil {
		return nil, err
	}
	d := &decoding{packing: p}
	if attribute(a, "dtype") == "bool" {
		return d.booleans(), nil
	}
	if axis, ok := c.axis(); ok {
		return d.moments(axis)
	}
	if unit, ok := timeUnits[c.units]; ok {
		return d.durations(unit)
	}
	switch {
	case d.scaled || d.masked:
		d.floats()
	case d.stored != a.Type():
		d.typ = d.stored
		d.put = func(dst, elem []byte, _ float64) { copy(dst, elem) }
	default:
		return nil, nil
	}
	return d, nil
}

// booleans makes booleans of numbers: xarray stores them as int8, with an attribute that
// says so.
func (d *decoding) booleans() *decoding {
	d.absent, d.filled = nil, nil // no boolean is missing
	d.typ = dtype.Of[bool]()
	d.put = func(dst, _ []byte, value float64) {
		dst[0] = 0
		if d.value(value) != 0 {
			dst[0] = 1
		}
	}
	return d
}

// floats makes floating-point numbers of numbers.
func (d *decoding) floats() {
	d.typ = d.floatType()
	put := putFloat(d.typ)
	d.put = func(dst, _ []byte, value float64) { put(dst, d.value(value)) }
}

// floatType returns the type that xarray 2026.9 makes of numbers with a missing value:
// the narrowest that has all of them. Packed numbers become float64.
func (d *decoding) floatType() dtype.Type {
	switch t := d.stored; {
	case d.scaled:
	case t == dtype.Of[float32](), t == dtype.Of[dtype.Float16]():
		return t
	case !d.isFloat() && t.Size() <= 2:
		return dtype.Of[float32]()
	}
	return dtype.Of[float64]()
}

// putFloat returns what sets an element of a floating-point type. All NaNs become the
// same one.
func putFloat(t dtype.Type) func(dst []byte, value float64) {
	switch t {
	case dtype.Of[dtype.Float16]():
		return func(dst []byte, value float64) {
			binary.NativeEndian.PutUint16(dst, uint16(dtype.FromFloat32(float32(value))))
		}
	case dtype.Of[float32]():
		return func(dst []byte, value float64) {
			bits := math.Float32bits(float32(value))
			if math.IsNaN(value) {
				bits = quietNaN32
			}
			binary.NativeEndian.PutUint32(dst, bits)
		}
	}
	return func(dst []byte, value float64) {
		bits := math.Float64bits(value)
		if math.IsNaN(value) {
			bits = quietNaN
		}
		binary.NativeEndian.PutUint64(dst, bits)
	}
}

// The NaNs that metadata and NumPy mean by that name.
const (
	quietNaN   = 0x7ff8000000000000
	quietNaN32 = 0x7fc00000
)

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

// attributeValue returns a user attribute, the zero Value where there is none.
func attributeValue(a *zarr.Array, name string) (v strictjson.Value, err error) {
	raw, ok := attributeOf(a.Attributes(), name)
	if !ok {
		return v, nil
	}
	return strictjson.Parse(raw, strictjson.Limits{})
}

// attributeOf returns the JSON of an attribute of a document that was read. There may be
// millions of attributes, so they are not checked again, as [metadata.Attribute] would.
func attributeOf(object []byte, name string) (raw []byte, ok bool) {
	if len(object) == 0 {
		return nil, false
	}
	v, ok := strictjson.Parsed(object).Member(name)
	return v.Raw(), ok
}

// endsOfTime returns the first and the last element of an array that is a time
// coordinate, for people; nil for any other, and where they cannot be read.
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
