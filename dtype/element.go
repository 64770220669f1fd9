package dtype

import (
	"reflect"
	"strings"
	"time"
)

// Element is the constraint of Go types that have a data type. It names exact types: a type made of one
// would lose its meaning in the array, and a [Float16] would pass for a uint16. A string is an element of text of any kind, []byte
// one of bytes of any kind, time.Time a moment, with the zero Time for [NaT], and time.Duration a duration.
//
// Types that are not here have no values of Go: small integers are read as int8 and uint8, small floats as their bytes or, converted,
// as float32 ([Type.Float32s]), raw ones as []byte, structs as structs of Go by the tags of their fields.
type Element interface {
	bool |
		int8 | int16 | int32 | int64 |
		uint8 | uint16 | uint32 | uint64 |
		Float16 | BFloat16 | float32 | float64 |
		complex64 | complex128 |
		string | []byte | time.Time | time.Duration
}

// Of returns the data type of the values of T: that whose elements in memory they are, and of others the one that comes closest,
// "string", "bytes", and moments and durations in nanoseconds. Other types are made by [Parse] from their name, and by [DatetimeOf],
// [TimedeltaOf], [FixedUTF32], [NullTerminated], [RawBytes] and [StructOf].
func Of[T Element]() Type {
	var zero T
	switch any(zero).(type) {
	case []byte:
		t, _ := byName("bytes")
		return t
	case time.Time:
		return timed("numpy.datetime64", Step{"ns", 1})
	case time.Duration:
		return timed("numpy.timedelta64", Step{"ns", 1})
	}
	// Go and the specification have the same names for the same types.
	t, _ := byName(strings.ToLower(reflect.TypeFor[T]().Name()))
	return t
}
