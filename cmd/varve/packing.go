package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/strictjson"
)

// packing is how stored numbers stand for others (CF conventions, section 8.1; _Unsigned
// is of the NetCDF user guide).
type packing struct {
	stored        dtype.Type // as which the stored bytes are read: that of the array, but for its sign
	number        func(elem []byte) float64
	scale, offset float64
	scaled        bool // there is a scale or an offset
	mask
}

// packingOf returns how the numbers of an array are packed.
func packingOf(a *zarr.Array) (packing, error) { return packingAs(a, countingOf(a)) }

// packingAs returns how the numbers of an array are packed that count something.
func packingAs(a *zarr.Array, c counting) (p packing, err error) {
	p.stored = signOf(a)
	p.number = numberOf(p.stored)
	scale, scaled, err := numberAttribute(a, "scale_factor")
	if err != nil {
		return p, err
	}
	offset, moved, err := numberAttribute(a, "add_offset")
	if !scaled {
		scale = 1
	}
	p.scale, p.offset, p.scaled = scale, offset, scaled || moved
	if err == nil {
		p.mask = p.maskOf(a, c)
	}
	return p, err
}

// signs has the types of whole numbers that differ in nothing but the sign.
var signs = [][2]dtype.Type{
	{dtype.Of[int8](), dtype.Of[uint8]()}, {dtype.Of[int16](), dtype.Of[uint16]()},
	{dtype.Of[int32](), dtype.Of[uint32]()}, {dtype.Of[int64](), dtype.Of[uint64]()},
}

// signOf returns the type of an array, with or without a sign as the attribute _Unsigned
// says. Like xarray it knows the texts "true" and "false" alone.
func signOf(a *zarr.Array) dtype.Type {
	unsigned := attribute(a, "_Unsigned")
	for _, s := range signs {
		switch {
		case a.Type() == s[0] && unsigned == "true":
			return s[1]
		case a.Type() == s[1] && unsigned == "false":
			return s[0]
		}
	}
	return a.Type()
}

// isFloat reports whether what is stored is floats.
func (p packing) isFloat() bool { return p.stored.Kind() == dtype.Float }

// value returns what a stored number stands for.
func (p packing) value(number float64) float64 {
	if !p.scaled {
		return number
	}
	return float64(number*p.scale) + p.offset
}

// text returns what an element stands for, as exactly as it is known.
func (p packing) text(elem []byte) string {
	if !p.scaled {
		return string(p.stored.AppendText(nil, elem))
	}
	return strconv.FormatFloat(p.value(p.number(elem)), 'g', -1, 64)
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
		return 0, false, failure.BadArgument("attribute %s is no number", name)
	}
	value, err = strconv.ParseFloat(string(v.Raw()), 64)
	if err != nil {
		err = failure.BadArgument("attribute %s: %w", name, err)
	}
	return value, true, err
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

// encodeFirst says what makes the stored numbers of an array of values of another type,
// "" for nothing: astype alone would cut off what a scale keeps, count times in units of
// its own, and make some number of NaN.
func encodeFirst(from dtype.Type, a *zarr.Array) string {
	if a == nil || !isNumeric(a.Type()) {
		return ""
	}
	p, err := packingOf(a)
	if err != nil {
		return ""
	}
	var steps []string
	if k := from.Kind(); (k == dtype.Datetime || k == dtype.Timedelta) && attribute(a, "units") != "" {
		steps = append(steps, "count in "+phrase.Shorten(attribute(a, "units"), 60))
	}
	if p.scaled {
		steps = append(steps, fmt.Sprintf("subtract add_offset %v, divide by scale_factor %v, and round", p.offset, p.scale))
	}
	if from.Kind() == dtype.Float && !p.isFloat() && p.masked {
		steps = append(steps, "put the missing value in place of NaN")
	}
	if len(steps) == 0 {
		return ""
	}
	return "encode them first as the attributes of the array say (" + strings.Join(steps, "; ") + ")"
}
