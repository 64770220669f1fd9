// Package dtype describes the data types of array elements: their names in metadata, their layout in memory,
// and their fill values as JSON. It does no I/O.
//
// An element in memory is [Type.Size] bytes in the byte order of the host; strings and byte strings of any length are
// their bytes. Elements are equal when their bytes are: -0.0 is not 0.0, and a NaN equals a NaN of the same payload.
package dtype

import (
	"errors"
	"unique"
)

var (
	// ErrUnsupported says that a data type is not one of this package's, though it may be a legal one.
	// The array can be described, not read.
	ErrUnsupported = errors.New("dtype: data type not supported")
	// ErrInvalid says that the name of a data type, or a value of one, is malformed or out of range.
	// The message says what is expected.
	ErrInvalid = errors.New("dtype: invalid")
)

// Kind is the family of a data type.
type Kind uint8

// The kinds of data types.
const (
	Invalid Kind = iota
	Bool
	Int
	Uint
	Float
	Complex
	Raw
	String     // text of any length, as UTF-8
	Bytes      // bytes of any length
	UTF32      // text of a fixed number of code points, zeros at the end
	Terminated // bytes of a fixed number, zeros at the end
	Datetime   // a moment, counted from 1970 in a unit of time
	Timedelta  // a duration in a unit of time
	Struct     // fields of other types, one behind the other
)

// String returns the name of the kind in lower case.
func (k Kind) String() string {
	names := [...]string{
		"invalid", "bool", "int", "uint", "float", "complex", "raw",
		"string", "bytes", "utf32", "terminated", "datetime", "timedelta", "struct",
	}
	if int(k) < len(names) {
		return names[k]
	}
	return names[Invalid]
}

// Type is a data type. Types are immutable and comparable with ==; the zero Type is no type.
type Type struct {
	name   string
	kind   Kind
	size   int // bytes an element, 0 where they differ
	unit   int // bytes of the numbers that an element is made of, 0 where they differ
	bits   int // of an integer
	format *floatFormat
	step   Step                 // of moments and durations
	fields unique.Handle[field] // the first one of a struct
}

// named has the types that go by a name alone (zarr-specs v3 core, "Data types"; zarr-extensions, "data-types").
var named = append([]Type{
	{name: "bool", kind: Bool, size: 1, unit: 1},
	integer("int8", Int, 8),
	integer("int16", Int, 16),
	integer("int32", Int, 32),
	integer("int64", Int, 64),
	integer("uint8", Uint, 8),
	integer("uint16", Uint, 16),
	integer("uint32", Uint, 32),
	integer("uint64", Uint, 64),
	float(float16Format),
	float(float32Format),
	float(float64Format),
	complexOf("complex64", float32Format),
	complexOf("complex128", float64Format),
	{name: "string", kind: String, unit: 1},
	{name: "bytes", kind: Bytes, unit: 1},
	integer("int2", Int, 2),
	integer("int4", Int, 4),
	integer("uint2", Uint, 2),
	integer("uint4", Uint, 4),
	float(bfloat16Format),
	complexOf("complex_bfloat16", bfloat16Format),
	complexOf("complex_float16", float16Format),
	complexOf("complex_float32", float32Format),
	complexOf("complex_float64", float64Format),
}, smallTypes()...)

func integer(name string, k Kind, bits int) Type {
	n := max(1, bits/8)
	return Type{name: name, kind: k, size: n, unit: n, bits: bits}
}

func float(f *floatFormat) Type {
	return Type{name: f.name, kind: Float, size: f.bytes, unit: f.bytes, format: f}
}

func complexOf(name string, f *floatFormat) Type {
	return Type{name: name, kind: Complex, size: 2 * f.bytes, unit: f.bytes, format: f}
}

// smallTypes returns the types of floats of up to 8 bits, and of complex numbers of these.
func smallTypes() (list []Type) {
	for _, f := range smallFormats {
		list = append(list, float(f))
		if f.special != lastNaN { // of which nobody has complex numbers
			list = append(list, complexOf("complex_"+f.name, f))
		}
	}
	return list
}

// All returns every data type that goes by a name alone, without configuration, but for the raw ones, which are without number.
func All() []Type { return append([]Type(nil), named...) }

// Name returns the name as metadata has it: "float32", "r24". It is "" for the zero Type.
func (t Type) Name() string { return t.name }

// Kind returns the family of t, [Invalid] for the zero Type.
func (t Type) Kind() Kind { return t.kind }

// Size returns the bytes of an element in memory, and 0 where elements differ in length: see [Type.Variable].
func (t Type) Size() int { return t.size }

// Variable reports whether elements are of any length: those of the kinds [String] and [Bytes].
func (t Type) Variable() bool { return t.kind == String || t.kind == Bytes }

// Unit returns the bytes of the numbers that an element is made of, which is what byte order applies to:
// 8 for complex128, 4 for the code points of fixed text, 1 for bool and raw types, and 0 for a struct whose fields differ.
func (t Type) Unit() int { return t.unit }

// Bits returns how many bits the numbers that an element is made of have: 4 for int4, 6 for float6_e2m3fn. Bits of the
// [Type.Unit] beyond them carry no meaning: signs fill them in integers, and zeros in floats. It is 0 for types that are no numbers.
func (t Type) Bits() int {
	if t.format != nil {
		return t.format.bits
	}
	return t.bits
}

// IsZero reports whether t is no type.
func (t Type) IsZero() bool { return t.kind == Invalid }

// String returns the name, with what distinguishes the type from others of that name: "numpy.datetime64[10us]",
// "fixed_length_utf32[12]" with its bytes, "struct{x: int32, y: float64}". It is "invalid" for the zero Type.
func (t Type) String() string {
	switch t.kind {
	case Invalid:
		return t.kind.String()
	case Datetime, Timedelta:
		return t.name + "[" + t.step.String() + "]"
	case Struct:
		return t.structString()
	}
	return t.name + t.lengthString()
}
