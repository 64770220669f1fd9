package store

import (
	"fmt"
	"strings"
)

// unsupported names the store and the power that it lacks.
func unsupported(s Store, power string) error { return cannot(Driver(s), "store", power) }

// cannot names the type without the power by its package, as in "the zip store": users of
// a program need not know Go types.
func cannot(what any, kind, power string) error {
	name, _, _ := strings.Cut(strings.TrimLeft(fmt.Sprintf("%T", what), "*"), ".")
	name = strings.TrimSuffix(name, "store") // package httpstore is "the http store"
	return fmt.Errorf("%w: the %s %s cannot %s", ErrUnsupported, name, kind, power)
}
