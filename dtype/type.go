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
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unique"

	"varve.dev/zarr/internal/quantity"
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
// [StructOf]; [Of] gives that of a type parameter, such as Of[Float16]().
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

// Element is the constraint for Go types that have a data type: that of their underlying
// type, so that a Celsius defined as a float32 is a float32. [Float16] and [BFloat16] are
// data types of their own, and a [time.Duration] is a duration. A string is an element of
// any text type, and []byte one of any byte string type. A [time.Time] is a moment, with
// the zero Time for [NaT].
//
// Other data types have no Go type of their own. Small integers are read as int8 and
// uint8. Small floats are read as bytes or converted to float32 ([Type.Float32s]). Raw
// elements are read as []byte, and structs as Go structs by the tags of their fields.
type Element interface {
	~bool |
		~int8 | ~int16 | ~int32 | ~int64 |
		~uint8 | ~uint16 | ~uint32 | ~uint64 | // Float16 and BFloat16, too
		~float32 | ~float64 |
		~complex64 | ~complex128 |
		~string | ~[]byte | time.Time
}

// Of returns the data type for values of T. If no type has the same layout in memory, it
// is the closest one: "string", "bytes", and moments and durations in nanoseconds.
func Of[T Element]() Type {
	name := reflect.TypeFor[T]().Kind().String() // Go and the specification have the same names
	var zero T
	switch any(zero).(type) {
	case Float16:
		name = "float16"
	case BFloat16:
		name = "bfloat16"
	case time.Time:
		return timed("numpy.datetime64", Step{"ns", 1})
	case time.Duration:
		return timed("numpy.timedelta64", Step{"ns", 1})
	}
	if name == "slice" {
		name = "bytes"
	}
	t, _ := byName(name)
	return t
}

// maxRawSize is the largest raw element in bytes. The specification has no limit, but a
// fill value must fit into a document.
const maxRawSize = maxFixedSize

func byName(name string) (Type, error) {
	for _, t := range named {
		if t.name == name {
			return t, nil
		}
	}
	if digits, ok := strings.CutPrefix(name, "r"); ok && isDigits(digits) {
		return parseRaw(digits)
	}
	return Type{}, fmt.Errorf("%w: %s", ErrUnsupported, excerpt(name))
}

// parseRaw returns the raw type with the given number of bits, in decimal.
func parseRaw(digits string) (Type, error) {
	bits, err := strconv.ParseUint(digits, 10, 64)
	switch {
	case digits[0] == '0' || err == nil && bits%8 != 0:
		return Type{}, fmt.Errorf("%w: data type %s: raw types have a positive multiple of 8 bits, as \"r16\"", ErrInvalid, excerpt("r"+digits))
	case err != nil || bits > 8*maxRawSize:
		return Type{}, fmt.Errorf("%w: %s has more than %s", ErrUnsupported, excerpt("r"+digits), quantity.Count(8*maxRawSize, "bits"))
	}
	return raw(int(bits / 8)), nil
}

// raw returns the raw type of size bytes.
func raw(size int) Type {
	return Type{name: "r" + strconv.Itoa(8*size), kind: KindRaw, size: size, unit: 1}
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// trim removes JSON white space at both ends.
func trim(s string) string { return strings.Trim(s, " \t\r\n") }

// unwrap returns the text between left and right. It returns false if either is missing.
func unwrap(s, left, right string) (inner string, ok bool) {
	s, begins := strings.CutPrefix(s, left)
	s, ends := strings.CutSuffix(s, right)
	return s, begins && ends
}

// excerpt quotes the beginning of s for a message. A hostile document may have megabytes
// of it.
func excerpt(s string) string {
	var text string
	if len(s) <= 60 && strings.HasPrefix(s, `"`) && json.Unmarshal([]byte(s), &text) == nil {
		return fmt.Sprintf("'%q'", text) // without a backslash before its quotes
	}
	if len(s) > 60 {
		return fmt.Sprintf("%q…", s[:50])
	}
	return fmt.Sprintf("%q", s)
}

// FixedUTF32 returns the type of text of at most n code points, padded with zeros
// (zarr-extensions, "fixed_length_utf32"). It returns an error that wraps [ErrInvalid] if
// n is below 1, and [ErrUnsupported] if an element takes more than 1 MiB.
func FixedUTF32(n int) (Type, error) {
	if n > maxFixedSize/4 {
		return Type{}, tooLong("fixed_length_utf32")
	}
	return fixed(Type{name: "fixed_length_utf32", kind: KindUTF32, size: 4 * n, unit: 4})
}

// NullTerminated returns the type of byte strings of at most n bytes, padded with zeros,
// which is "S4" in NumPy for 4 bytes. It returns an error that wraps [ErrInvalid] if n is
// below 1, and [ErrUnsupported] if n exceeds 1 MiB.
func NullTerminated(n int) (Type, error) {
	return fixed(Type{name: "null_terminated_bytes", kind: KindTerminated, size: n, unit: 1})
}

// RawBytes returns the type of n bytes without meaning, which is "V4" in NumPy for 4
// bytes. The core specification has the same elements under the name "r32"; see [Parse].
// RawBytes returns an error that wraps [ErrInvalid] if n is below 1, and [ErrUnsupported]
// if n exceeds 1 MiB.
func RawBytes(n int) (Type, error) {
	return fixed(Type{name: "raw_bytes", kind: KindRaw, size: n, unit: 1})
}

func fixed(t Type) (Type, error) {
	switch {
	case t.size < 1:
		return Type{}, fmt.Errorf("%w: %s of %s", ErrInvalid, t.name, quantity.Count(t.size, "bytes"))
	case t.size > maxFixedSize:
		return Type{}, tooLong(t.name)
	}
	return t, nil
}

func tooLong(name string) error {
	return fmt.Errorf("%w: %s of more than %s", ErrUnsupported, name, quantity.Count(maxFixedSize, "bytes"))
}

// hasLength reports whether the configuration of t is its length in bytes.
func (t Type) hasLength() bool {
	return t.kind == KindUTF32 || t.kind == KindTerminated || t.name == "raw_bytes"
}

func (t Type) lengthString() string {
	if !t.hasLength() {
		return ""
	}
	return "[" + strconv.Itoa(t.size) + "]"
}
