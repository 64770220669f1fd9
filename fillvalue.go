// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"fmt"
	"math"
	"strings"
	"time"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/strided"
)

// FillValue is the value of elements that were never written, in the spelling of
// metadata. The fill value of one array can be used for another ([Spec]). The zero
// FillValue is zero, "" or NaT, depending on the data type.
type FillValue struct{ json string }

// FillJSON returns the fill value with the given spelling in metadata, such as 0, "NaN",
// [0, 1], or null. Creating an array fails if its data type has no such fill value.
func FillJSON(text string) FillValue { return FillValue{strings.TrimSpace(text)} }

// FillOf returns v as a fill value, such as FillOf(math.NaN()), FillOf(int16(-1)) or
// FillOf("none"). Creating an array fails if its data type has no such fill value. A
// number may have another type than the array. A moment or a duration is refused, except
// for the zero [time.Time], which is NaT: its spelling depends on the unit of the array.
func FillOf[T dtype.Element](v T) FillValue {
	switch v := any(v).(type) {
	case time.Time:
		if !v.IsZero() {
			return FillValue{v.String()} // not JSON, so every data type refuses it
		}
	case time.Duration:
		return FillValue{v.String()}
	case float64:
		if math.Float64bits(v) == math.Float64bits(math.NaN()) { // Go's has a payload
			return FillValue{`"NaN"`}
		}
	}
	t := dtype.Of[T]()
	e, err := element.From(t, strided.NewHeap(nil), []T{v})
	if err != nil {
		return FillValue{fmt.Sprint(v)} // text that is not UTF-8
	}
	elem := e.Data
	if t.Variable() {
		elem = e.Heap.Bytes(elem)
	}
	return fillValueOf(t, elem, false)
}

// JSON returns the fill value in the spelling of metadata, or "" for the zero FillValue.
func (f FillValue) JSON() string { return f.json }

// IsNull reports whether the fill value is null, which format 2 permits. Elements that
// were never written then read as zero.
func (f FillValue) IsNull() bool { return f.json == "null" }

// MarshalJSON implements [json.Marshaler].
func (f FillValue) MarshalJSON() ([]byte, error) { return []byte(f.json), nil }

// UnmarshalJSON implements [json.Unmarshaler].
func (f *FillValue) UnmarshalJSON(raw []byte) error {
	f.json = string(raw)
	return nil
}

// IsZero reports whether no fill value is given.
func (f FillValue) IsZero() bool { return f.json == "" }

// Element returns the fill value as an element of a data type: [dtype.Type.Size] bytes in
// host byte order, or all bytes of an element of variable length. The zero FillValue and
// null are the default of the type. The error wraps [dtype.ErrInvalid] if the type has no
// such value.
func (f FillValue) Element(t dtype.Type) ([]byte, error) {
	if f.json == "" || f.IsNull() {
		return t.Default(), nil
	}
	return t.ParseFill([]byte(f.json))
}

// fillValueOf returns the fill value of an array with an element and a document.
func fillValueOf(t dtype.Type, elem []byte, null bool) FillValue {
	if null {
		return FillValue{"null"}
	}
	text, err := t.FormatFill(elem)
	if err != nil {
		return FillValue{} // an array that is open has a valid one
	}
	return FillValue{string(text)}
}
