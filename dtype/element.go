// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"reflect"
	"time"
)

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
