// SPDX-License-Identifier: Apache-2.0

// Package dtype describes the data types of array elements: their names in metadata,
// their layout in memory, and their fill values in JSON. It does no I/O.
//
// [Parse] returns the [Type] for a name and a configuration in metadata, [FromNumPy] that
// for a NumPy type string, and [Of] that for a Go type.
//
// An element in memory has [Type.Size] bytes, in the byte order of the host. An element
// of variable length, text or a byte string, is just its bytes. Elements are equal if
// their bytes are: -0.0 differs from 0.0, and a NaN equals a NaN with the same payload.
package dtype

import (
	"errors"
	"unique"

	"varve.dev/zarr/internal/sentinel"
)

var (
	// ErrUnsupported means that this package does not support a data type, which may
	// still be a legal one. An array of that type can be described but not read.
	ErrUnsupported = sentinel.New("data type not supported", sentinel.ErrUnsupported)
	// ErrInvalid means that the name of a data type, or a value, is malformed or out of
	// range. The message states what is expected.
	ErrInvalid = errors.New("invalid data type or fill value")
)

// Kind is the family of a data type.
type Kind uint8

// The kinds of data types.
const (
	KindInvalid Kind = iota
	KindBool
	KindInt
	KindUint
	KindFloat
	KindComplex
	KindRaw
	KindString     // text of any length, in UTF-8
	KindBytes      // bytes of any length
	KindUTF32      // text of a fixed number of code points, padded with zeros
	KindTerminated // a fixed number of bytes, padded with zeros
	KindDatetime   // a moment, counted from 1970 in a unit of time
	KindTimedelta  // a duration in a unit of time
	KindStruct     // fields of other types, packed
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
	return names[KindInvalid]
}

// Type is a data type. Types are immutable and can be compared with ==. The zero Type is
// invalid.
type Type struct {
	name   string
	kind   Kind
	size   int // bytes per element; 0 if they differ or the length varies
	unit   int // bytes per number of an element; 0 for a struct with different ones
	bits   int // of an integer
	format *floatFormat
	step   Step                 // of moments and durations
	fields unique.Handle[field] // the first one of a struct
}

// The data types of Go's own types. Types of other sizes, units or fields are made by
// [Parse], [DatetimeOf], [TimedeltaOf], [FixedUTF32], [NullTerminated], [RawBytes] and
// [StructOf]; [Of] gives that of a type parameter.
var (
	Bool       = Of[bool]()
	Int8       = Of[int8]()
	Int16      = Of[int16]()
	Int32      = Of[int32]()
	Int64      = Of[int64]()
	Uint8      = Of[uint8]()
	Uint16     = Of[uint16]()
	Uint32     = Of[uint32]()
	Uint64     = Of[uint64]()
	Float32    = Of[float32]()
	Float64    = Of[float64]()
	Complex64  = Of[complex64]()
	Complex128 = Of[complex128]()
	String     = Of[string]() // text of any length
	Bytes      = Of[[]byte]() // bytes of any length
)

// named lists the types that need no configuration (zarr-specs v3 core, "Data types";
// zarr-extensions, "data-types").
var named = append([]Type{
	{name: "bool", kind: KindBool, size: 1, unit: 1},
	integer("int8", KindInt, 8),
	integer("int16", KindInt, 16),
	integer("int32", KindInt, 32),
	integer("int64", KindInt, 64),
	integer("uint8", KindUint, 8),
	integer("uint16", KindUint, 16),
	integer("uint32", KindUint, 32),
	integer("uint64", KindUint, 64),
	float(float16Format),
	float(float32Format),
	float(float64Format),
	complexOf("complex64", float32Format),
	complexOf("complex128", float64Format),
	{name: "string", kind: KindString, unit: 1},
	{name: "bytes", kind: KindBytes, unit: 1},
	integer("int2", KindInt, 2),
	integer("int4", KindInt, 4),
	integer("uint2", KindUint, 2),
	integer("uint4", KindUint, 4),
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
	return Type{name: f.name, kind: KindFloat, size: f.bytes, unit: f.bytes, format: f}
}

func complexOf(name string, f *floatFormat) Type {
	return Type{name: name, kind: KindComplex, size: 2 * f.bytes, unit: f.bytes, format: f}
}

// smallTypes returns the types of floats of up to 8 bits, and of complex numbers of
// these.
func smallTypes() (list []Type) {
	for _, f := range smallFormats {
		list = append(list, float(f))
		// No program has complex numbers of float8_e4m3fn.
		if f.special != lastNaN {
			list = append(list, complexOf("complex_"+f.name, f))
		}
	}
	return list
}

// All returns every data type that needs no configuration, except the raw types, of which
// there is one for every size.
func All() []Type { return append([]Type(nil), named...) }

// Name returns the name in metadata, such as "float32" or "r24". It is "" for the zero
// Type.
func (t Type) Name() string { return t.name }

// Kind returns the family of t. It is [KindInvalid] for the zero Type.
func (t Type) Kind() Kind { return t.kind }

// Size returns the number of bytes of an element in memory, or 0 if elements have
// variable length; see [Type.Variable].
func (t Type) Size() int { return t.size }

// Variable reports whether elements have variable length, as those of kind [KindString]
// and [KindBytes] do.
func (t Type) Variable() bool { return t.kind == KindString || t.kind == KindBytes }

// Unit returns the number of bytes of the numbers in an element, to which the byte order
// applies. It is 8 for complex128, 4 for the code points of fixed-length text, 1 for bool
// and raw types, and 0 for a struct whose fields differ.
func (t Type) Unit() int { return t.unit }

// Bits returns the number of bits of the numbers in an element: 4 for int4, 6 for
// float6_e2m3fn. Other bits of a [Type.Unit] are unused; they repeat the sign of an
// integer and are 0 in a float. Bits returns 0 for types that are not numbers.
func (t Type) Bits() int {
	if t.format != nil {
		return t.format.bits
	}
	return t.bits
}

// IsZero reports whether t is the zero Type.
func (t Type) IsZero() bool { return t.kind == KindInvalid }

// String returns the name with what distinguishes the type from others of that name:
// "numpy.datetime64[10us]", "fixed_length_utf32[12]" with its size in bytes, "struct{x:
// int32, y: float64}". It is "invalid" for the zero Type.
func (t Type) String() string {
	switch t.kind {
	case KindInvalid:
		return t.kind.String()
	case KindDatetime, KindTimedelta:
		return t.name + "[" + t.step.String() + "]"
	case KindStruct:
		return t.structString()
	}
	return t.name + t.lengthString()
}
