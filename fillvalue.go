package zarr

import (
	"strings"

	"varve.dev/zarr/dtype"
)

// FillValue is the value of elements that were never written, spelled as in metadata. The
// one of an array can be given to another array ([Spec]). The zero FillValue is zero, "",
// or NaT, whichever the data type has.
type FillValue struct{ json string }

// FillJSON returns the fill value that is spelled so in metadata: 0, "NaN", [0, 1], or
// null. A text that is no fill value of the data type is refused when it is used.
func FillJSON(text string) FillValue { return FillValue{strings.TrimSpace(text)} }

// JSON returns the fill value as metadata spells it, "" for the zero FillValue.
func (f FillValue) JSON() string { return f.json }

// IsNull reports whether the fill value is null, as that of an array of format 2 may be.
// Elements that were never written read as zero then.
func (f FillValue) IsNull() bool { return f.json == "null" }

// Element returns the fill value as an element of a data type: [dtype.Type.Size] bytes in
// host byte order, or all bytes of a type of any length. The zero FillValue and null are
// the default of the type. The error wraps [dtype.ErrInvalid] if the type has no such
// value.
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
