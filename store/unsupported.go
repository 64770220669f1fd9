package store

import (
	"fmt"
	"strings"
)

// unsupported names the store and the power it lacks.
func unsupported(s Store, power string) error { return cannot(Driver(s), "store", power) }

// cannot names what lacks a power by its package, as in "the zip store": who reads the
// message of a program need not know the types that it is made of.
func cannot(what any, kind, power string) error {
	name, _, _ := strings.Cut(strings.TrimLeft(fmt.Sprintf("%T", what), "*"), ".")
	name = strings.TrimSuffix(name, "store") // httpstore is the http store
	return fmt.Errorf("%w: the %s %s cannot %s", ErrUnsupported, name, kind, power)
}
