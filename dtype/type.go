// Package dtype describes the data types of array elements: their names in metadata, their layout in memory,
// and their fill values as JSON. It does no I/O.
//
// An element in memory is [Type.Size] bytes in the byte order of the host. Elements are equal when their bytes are:
// -0.0 is not 0.0, and a NaN equals a NaN of the same payload.
package dtype

import "errors"

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
)

// String returns the name of the kind in lower case.
func (k Kind) String() string {
	names := [...]string{"invalid", "bool", "int", "uint", "float", "complex", "raw"}
	if int(k) < len(names) {
		return names[k]
	}
	return names[Invalid]
}

// Type is a data type. Types are immutable and comparable with ==; the zero Type is no type.
type Type struct {
	name string
	kind Kind
	size int // bytes an element
	unit int // bytes of the numbers that an element is made of
}

// named has the types that go by a fixed name (zarr-specs v3 core, "Data types").
var named = [...]Type{
	{"bool", Bool, 1, 1},
	{"int8", Int, 1, 1},
	{"int16", Int, 2, 2},
	{"int32", Int, 4, 4},
	{"int64", Int, 8, 8},
	{"uint8", Uint, 1, 1},
	{"uint16", Uint, 2, 2},
	{"uint32", Uint, 4, 4},
	{"uint64", Uint, 8, 8},
	{"float16", Float, 2, 2},
	{"float32", Float, 4, 4},
	{"float64", Float, 8, 8},
	{"complex64", Complex, 8, 4},
	{"complex128", Complex, 16, 8},
}

// All returns every data type that has a fixed name, so all but the raw ones, which are without number.
func All() []Type { return append([]Type(nil), named[:]...) }

// Name returns the name as metadata has it: "float32", "r24". It is "" for the zero Type.
func (t Type) Name() string { return t.name }

// Kind returns the family of t, [Invalid] for the zero Type.
func (t Type) Kind() Kind { return t.kind }

// Size returns the bytes of an element in memory.
func (t Type) Size() int { return t.size }

// Unit returns the bytes of the numbers that an element is made of, which is what byte order applies to:
// 8 for complex128, 1 for bool and raw types.
func (t Type) Unit() int { return t.unit }

// IsZero reports whether t is no type.
func (t Type) IsZero() bool { return t.kind == Invalid }

// String returns the name, "invalid" for the zero Type.
func (t Type) String() string {
	if t.IsZero() {
		return t.kind.String()
	}
	return t.name
}
