// SPDX-License-Identifier: Apache-2.0

// Package missing reads and writes the attributes that mark an element as a missing
// value.
package missing

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/strictjson"
)

// The names of the attributes (CF conventions, section 2.5.1).
const (
	FillValue = "_FillValue"
	Value     = "missing_value"
)

// quietNaN has the bits of the NaN that NumPy and metadata documents call "NaN".
const quietNaN = 0x7ff8000000000000

// Coded reports whether xarray reads the attribute [FillValue] of arrays of type t in
// format 3. If an array of another type has the attribute, xarray refuses the whole
// group.
func Coded(t dtype.Type) bool {
	switch t.Kind() {
	case dtype.KindBool, dtype.KindInt, dtype.KindUint, dtype.KindFloat:
		return true
	case dtype.KindComplex:
		return t == dtype.Complex64 || t == dtype.Complex128
	}
	return false
}

// Unsigned is the attribute that states whether integers are unsigned (NetCDF user
// guide).
const Unsigned = "_Unsigned"

// Spelled returns the type of the number in the attribute [FillValue] of format 3. This
// is the type of the array, made signed if the attribute [Unsigned] is "false"; unsigned
// is nil if there is none. xarray 2026.9 converts the number to the signed type, and
// refuses a group in which it is too large.
func Spelled(t dtype.Type, unsigned []byte) dtype.Type {
	if string(unsigned) != `"false"` {
		return t
	}
	switch t {
	case dtype.Uint8:
		return dtype.Int8
	case dtype.Uint16:
		return dtype.Int16
	case dtype.Uint32:
		return dtype.Int32
	case dtype.Uint64:
		return dtype.Int64
	}
	return t
}

// ParseSpelled is [Parse] for a value that may be written as an element of t or of the
// type that [Spelled] returns.
func ParseSpelled(t dtype.Type, unsigned, raw []byte) ([]byte, error) {
	elem, err := Parse(t, raw)
	// Both have the same bytes, so -1 is read as 255 of a uint8.
	if s := Spelled(t, unsigned); err != nil && s != t {
		return Parse(s, raw)
	}
	return elem, err
}

// IsText reports whether elements are text. xarray reads their attribute [Value] in both
// formats.
func IsText(t dtype.Type) bool { return t.Kind() == dtype.KindUTF32 || t == dtype.String }

// Format returns the attribute [FillValue] of format 3 for an element of a type that is
// [Coded]. A float is written as the eight little-endian bytes of a float64 in base64,
// and a complex number as a list of two of these. Integers and booleans are plain JSON.
func Format(t dtype.Type, elem []byte) ([]byte, error) {
	switch t.Kind() {
	case dtype.KindFloat:
		return encode(t, elem)
	case dtype.KindComplex:
		part := complexPart(t)
		re, err := encode(part, elem[:part.Size()])
		if err != nil {
			return nil, err
		}
		im, err := encode(part, elem[part.Size():])
		return fmt.Appendf(nil, "[%s,%s]", re, im), err
	}
	return t.FormatFill(elem)
}

// complexPart returns the type of the parts of a complex type of NumPy.
func complexPart(t dtype.Type) dtype.Type {
	if t == dtype.Complex64 {
		return dtype.Float32
	}
	return dtype.Float64
}

// encode returns a float as text in base64.
func encode(t dtype.Type, elem []byte) ([]byte, error) {
	v, err := Number(t, elem)
	if err != nil {
		return nil, err
	}
	bits := math.Float64bits(v)
	if math.IsNaN(v) {
		// xarray writes every NaN in this form.
		bits = quietNaN
	}
	return strconv.AppendQuote(nil, base64.StdEncoding.EncodeToString(binary.LittleEndian.AppendUint64(nil, bits))), nil
}

// Number returns the value of an element of a float type.
func Number(t dtype.Type, elem []byte) (float64, error) {
	switch t { // the text of a narrow float is the shortest, which is another float64
	case dtype.Of[dtype.Float16]():
		return float64(dtype.Float16(binary.NativeEndian.Uint16(elem)).Float32()), nil
	case dtype.Of[dtype.BFloat16]():
		return float64(dtype.BFloat16(binary.NativeEndian.Uint16(elem)).Float32()), nil
	case dtype.Float32:
		return float64(math.Float32frombits(binary.NativeEndian.Uint32(elem))), nil
	case dtype.Float64:
		return math.Float64frombits(binary.NativeEndian.Uint64(elem)), nil
	}
	return strconv.ParseFloat(string(t.AppendText(nil, elem)), 64)
}

// Parse returns the element for the JSON of an attribute. Floats and complex numbers may
// have the form of [Format] or that of fill values, because programs other than xarray
// write plain numbers.
func Parse(t dtype.Type, raw []byte) ([]byte, error) {
	v, err := strictjson.Parse(raw, strictjson.Limits{})
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case dtype.KindFloat:
		if elem, ok := decode(t, v); ok {
			return elem, nil
		}
	case dtype.KindComplex:
		if elem, ok := decodeComplex(t, v); ok {
			return elem, nil
		}
	case dtype.KindBool:
		if n, err := v.Float64(); err == nil { // like Python's bool: any number but 0 is true
			raw = strconv.AppendBool(nil, n != 0)
		}
	}
	return t.ParseFill(raw)
}

// List returns the values in the JSON of an attribute: the elements of a list except
// null, or a single value. If t is complex, a list is one complex number.
func List(t dtype.Type, raw []byte) [][]byte {
	v, err := strictjson.Parse(raw, strictjson.Limits{})
	switch {
	case err == nil && v.Kind() == strictjson.Null:
		return nil
	case err != nil || v.Kind() != strictjson.Array || t.Kind() == dtype.KindComplex:
		return [][]byte{raw}
	}
	var list [][]byte
	for _, e := range v.Elements() {
		if e.Kind() != strictjson.Null {
			list = append(list, e.Raw())
		}
	}
	return list
}

// decode undoes encode.
func decode(t dtype.Type, v strictjson.Value) (elem []byte, ok bool) {
	text, err := v.Str()
	if err != nil {
		return nil, false
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) != 8 {
		return nil, false
	}
	number := math.Float64frombits(binary.LittleEndian.Uint64(b))
	// FormatFloat writes "+Inf" and "-Inf", which no type parses: elements have "inf".
	text = strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(number, 'g', -1, 64), "+"))
	elem, err = t.ParseText(text)
	return elem, err == nil
}

func decodeComplex(t dtype.Type, v strictjson.Value) (elem []byte, ok bool) {
	if !Coded(t) || v.Kind() != strictjson.Array || v.Len() != 2 {
		return nil, false
	}
	for _, part := range v.Elements() {
		b, ok := decode(complexPart(t), part)
		if !ok {
			return nil, false
		}
		elem = append(elem, b...)
	}
	return elem, true
}

// Refused returns the reason why xarray refuses a group with an array of format 3 whose
// attribute [FillValue] is raw, or "" if it opens the group. wanted is an attribute for
// the same element that xarray accepts, or nil if there is none. unsigned is the
// attribute [Unsigned], or nil.
func Refused(t dtype.Type, unsigned, raw []byte) (reason string, wanted []byte) {
	v, err := strictjson.Parse(raw, strictjson.Limits{})
	if err != nil {
		return "", nil
	}
	switch k := t.Kind(); {
	case !Coded(t):
		return fmt.Sprintf("arrays of type %s can have no %s", t, FillValue), nil
	case k == dtype.KindFloat && !isBase64(v), k == dtype.KindComplex && !areBase64(v):
		reason = FillValue + " of floats is base64"
	case (k == dtype.KindInt || k == dtype.KindUint) && v.Kind() != strictjson.Number && v.Kind() != strictjson.Bool:
		reason = FillValue + " of integers is a number"
	case k == dtype.KindUint && Spelled(t, unsigned) != t && !isElement(Spelled(t, unsigned), raw):
		reason = FillValue + " has a sign, since _Unsigned is false"
	default:
		return "", nil
	}
	if list := List(t, raw); len(list) == 1 {
		raw = list[0]
	}
	if elem, err := ParseSpelled(t, unsigned, raw); err == nil {
		wanted, _ = Format(Spelled(t, unsigned), elem)
	}
	return reason, wanted
}

// isBase64 reports whether a value is a float as [Format] encodes it.
func isBase64(v strictjson.Value) bool {
	text, err := v.Str()
	if err != nil {
		return false
	}
	b, err := base64.StdEncoding.DecodeString(text)
	return err == nil && len(b) == 8
}

// areBase64 reports whether a value is a complex number as [Format] encodes it.
func areBase64(v strictjson.Value) bool {
	if v.Kind() != strictjson.Array || v.Len() != 2 {
		return false
	}
	for _, part := range v.Elements() {
		if !isBase64(part) {
			return false
		}
	}
	return true
}

// isElement reports whether raw is an element of a type.
func isElement(t dtype.Type, raw []byte) bool {
	_, err := Parse(t, raw)
	return err == nil
}
