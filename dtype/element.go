package dtype

import (
	"reflect"
	"strings"
)

// Element is the constraint of Go types that have a data type. It names exact types: a type made of one,
// as a time.Duration is of an int64, would lose its meaning in the array, and a [Float16] would pass for a uint16.
type Element interface {
	bool |
		int8 | int16 | int32 | int64 |
		uint8 | uint16 | uint32 | uint64 |
		Float16 | BFloat16 | float32 | float64 |
		complex64 | complex128
}

// Of returns the data type whose elements in memory are the values of T.
func Of[T Element]() Type {
	// Go and the specification have the same names for the same types.
	t, _ := byName(strings.ToLower(reflect.TypeFor[T]().Name()))
	return t
}
