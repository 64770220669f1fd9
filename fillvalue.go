// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"fmt"
	"math"
	"strings"
	"time"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strided"
)

// FillValue is the value of elements that were never written, in the spelling of
// metadata. The fill value of one array can be used for another ([Spec]). The zero
// FillValue is zero, "" or NaT, depending on the data type.
type FillValue struct {
	json string
	from source
}

// source is the Go type that a fill value comes from, if its spelling does not tell: a
// JSON string is text for text types, and base64 for byte strings.
type source byte

const (
	fromJSON  source = iota
	fromText         // a string
	fromBytes        // a []byte
)

// FillJSON returns the fill value with the given spelling in metadata, such as 0, "NaN",
// [0, 1], or null. Creating an array fails if its data type has no such fill value.
func FillJSON(text string) FillValue { return FillValue{json: strings.TrimSpace(text)} }

// FillOf returns v as a fill value, such as FillOf(math.NaN()), FillOf(int16(-1)) or
// FillOf("none"). Creating an array fails if its data type has no such fill value. A
// number may have another type than the array. For null-terminated bytes and for bytes of
// variable length, a string is its bytes, not base64. A moment or a duration is refused,
// except for the zero [time.Time], which is NaT: its spelling depends on the unit of the
// array. [FillOfStruct] takes structs.
func FillOf[T dtype.Element](v T) FillValue {
	switch v := any(v).(type) {
	case time.Time:
		if !v.IsZero() {
			return FillValue{json: v.String()} // not JSON, so every data type refuses it
		}
	case time.Duration:
		return FillValue{json: v.String()}
	case float64:
		if math.Float64bits(v) == math.Float64bits(math.NaN()) { // Go's has a payload
			return FillValue{json: `"NaN"`}
		}
	}
	t := dtype.Of[T]()
	e, err := element.From(t, strided.NewHeap(nil), []T{v})
	if err != nil {
		return FillValue{json: fmt.Sprint(v)} // text that is not UTF-8
	}
	elem := e.Data
	if t.Variable() {
		elem = e.Heap.Bytes(elem)
	}
	f := fillValueOf(t, elem, false)
	switch t.Kind() {
	case dtype.KindString:
		f.from = fromText
	case dtype.KindBytes:
		f.from = fromBytes
	}
	return f
}

// FillOfStruct returns v as the fill value of an array of structs of type t. Fields are
// matched as in [ReadStructs]. The error wraps [ErrInvalidArgument] and names the field
// that does not fit.
func FillOfStruct[T any](t dtype.Type, v T) (FillValue, error) {
	elem := make([]byte, t.Size())
	l, err := element.LayoutOf[T](t)
	if err == nil {
		if _, err = l.Store(elem, element.MemoryOf([]T{v})); err == nil {
			err = t.Check(elem)
		}
		if err != nil {
			err = fault.Argument("%v", err)
		}
	}
	if err != nil {
		return FillValue{}, fmt.Errorf("zarr: fill value: %w", err)
	}
	return fillValueOf(t, elem, false), nil
}

// JSON returns the fill value in the spelling of metadata, or "" for the zero FillValue.
func (f FillValue) JSON() string { return f.json }

// MarshalJSON implements [json.Marshaler].
func (f FillValue) MarshalJSON() ([]byte, error) { return []byte(f.json), nil }

// UnmarshalJSON implements [json.Unmarshaler].
func (f *FillValue) UnmarshalJSON(raw []byte) error {
	*f = FillValue{json: string(raw)}
	return nil
}

// Element returns the fill value as an element of a data type: [dtype.Type.Size] bytes in
// host byte order, or all bytes of an element of variable length. The zero FillValue and
// null are the default of the type. The error wraps [dtype.ErrInvalid] if the type has no
// such value.
func (f FillValue) Element(t dtype.Type) ([]byte, error) {
	if f.json == "" || f.json == "null" {
		return t.Default(), nil
	}
	elem, other, err := f.ofBytes(t)
	if !other {
		elem, err = t.ParseFill([]byte(f.json))
	}
	return elem, err
}

// ofBytes returns the element for a string or a []byte, if metadata spells it otherwise
// for this data type: text of byte strings, and bytes of raw types such as r24.
func (f FillValue) ofBytes(t dtype.Type) (elem []byte, other bool, err error) {
	bytes := t.Kind() == dtype.KindBytes || t.Kind() == dtype.KindTerminated
	switch {
	case f.from == fromText && bytes:
		elem, err = dtype.String.ParseFill([]byte(f.json))
	case f.from == fromText && (t.Kind() == dtype.KindRaw || t.Kind() == dtype.KindStruct):
		return nil, true, fmt.Errorf("%w: fill value %.60s of %s is text", dtype.ErrInvalid, f.json, t)
	case f.from == fromBytes && t.Kind() == dtype.KindRaw:
		elem, err = dtype.Bytes.ParseFill([]byte(f.json))
	default:
		return nil, false, nil
	}
	n, size := len(elem), t.Size()
	if t.Kind() == dtype.KindBytes || err != nil {
		return elem, true, err
	}
	if n > size || t.Kind() == dtype.KindRaw && n < size {
		return nil, true, fmt.Errorf("%w: fill value %.60s of %s has %s", dtype.ErrInvalid, f.json, t, quantity.Count(n, "bytes"))
	}
	return append(elem, make([]byte, size-n)...), true, nil
}

// fillValueOf returns the fill value of an array with an element and a document.
func fillValueOf(t dtype.Type, elem []byte, null bool) FillValue {
	if null {
		return FillValue{json: "null"}
	}
	text, err := t.FormatFill(elem)
	if err != nil {
		return FillValue{} // an array that is open has a valid one
	}
	return FillValue{json: string(text)}
}
