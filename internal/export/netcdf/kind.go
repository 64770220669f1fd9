// SPDX-License-Identifier: Apache-2.0

package netcdf

import (
	"fmt"

	"varve.dev/zarr/dtype"
)

// kind is an external type of netCDF. The numbers are those of the classic formats.
type kind byte

const (
	kindByte kind = iota + 1
	kindChar
	kindShort
	kindInt
	kindFloat
	kindDouble
	kindUByte
	kindUShort
	kindUInt
	kindInt64
	kindUInt64
	kindString
)

// String returns the name that CDL has.
func (k kind) String() string {
	return [...]string{
		"", "byte", "char", "short", "int", "float", "double", "ubyte", "ushort", "uint", "int64", "uint64", "string",
	}[k]
}

// types are the data types with the elements of the kinds. A character is a byte.
var types = [...]dtype.Type{
	kindByte: dtype.Int8, kindChar: dtype.Uint8, kindShort: dtype.Int16, kindInt: dtype.Int32, kindFloat: dtype.Float32, kindDouble: dtype.Float64,
	kindUByte: dtype.Uint8, kindUShort: dtype.Uint16, kindUInt: dtype.Uint32, kindInt64: dtype.Int64, kindUInt64: dtype.Uint64,
}

// dataType returns the data type with the elements of a kind.
func (k kind) dataType() dtype.Type { return types[k] }

// size returns the bytes of an element, 0 for text of variable length.
func (k kind) size() int {
	if k == kindString {
		return 0
	}
	return k.dataType().Size()
}

// isNumber reports whether elements are numbers.
func (k kind) isNumber() bool { return k != kindChar && k != kindString }

// form is how the elements of a data type are stored.
type form struct {
	kind kind
	// length is the number of characters of fixed-length text, which get an axis of their
	// own; 0 for anything else.
	length int64
	// wider says that floats of 16 bits or fewer become longer ones.
	wider bool
	// narrower says that int64 becomes int, which has all elements.
	narrower bool
	// units count moments or durations.
	units string
	// label is the data type for xarray, which cannot see it in the file.
	label string
}

// formOf returns the form for a data type.
func formOf(t dtype.Type) (f form, err error) {
	for k, same := range types {
		if t == same && kind(k) != kindChar {
			return form{kind: kind(k)}, nil
		}
	}
	switch t.Kind() {
	case dtype.KindBool:
		return form{kind: kindByte, label: "bool"}, nil
	case dtype.KindFloat:
		var one [1]float32
		if t.Float32s(one[:], make([]byte, t.Size())) == 1 {
			return form{kind: kindFloat, wider: true}, nil
		}
	case dtype.KindString, dtype.KindUTF32:
		return form{kind: kindString}, nil
	case dtype.KindTerminated:
		if t.Size() == 1 {
			return form{kind: kindChar}, nil
		}
		return form{kind: kindChar, length: int64(t.Size())}, nil
	case dtype.KindDatetime, dtype.KindTimedelta:
		return timeForm(t)
	case dtype.KindComplex:
		return f, unfit("complex numbers: export the array as npy")
	case dtype.KindStruct:
		return f, unfit("structs: export its fields one by one (--select '{\"fields\": [\"NAME\"]}'), or the array as npy")
	}
	return f, unfit("elements of type %s: export the array as npy or raw, or convert its type", t)
}

// unitNames are the units of time that CF programs decode, by the units of NumPy.
var unitNames = map[string]string{
	"D": "days", "h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds",
}

// timeForm returns the form for moments and durations.
func timeForm(t dtype.Type) (form, error) {
	step := t.Step()
	name := unitNames[step.Unit]
	if name == "" || step.Factor != 1 {
		return form{}, unfit("elements of type %s: CF has no unit of that length", t)
	}
	if t.Kind() == dtype.KindTimedelta {
		return form{kind: kindInt64, units: name}, nil
	}
	return form{kind: kindInt64, units: fmt.Sprintf("%s since 1970-01-01 00:00:00", name)}, nil
}
