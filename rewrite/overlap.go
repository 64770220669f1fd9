package rewrite

import (
	"reflect"
	"strings"

	"varve.dev/zarr/store"
)

// relation is how two places lie to one another.
type relation int

const (
	apart  relation = iota
	same            // one place
	inside          // the second in the first
	around          // the first in the second
)

// overlap tells how the place b of a store lies to the place a of perhaps another, as far
// as stores say where they are.
func overlap(s store.Store, a store.Path, t store.Store, b store.Path) relation {
	x, y := a.String(), b.String()
	if !identical(s, t) {
		first, second := store.PlaceOf(s), store.PlaceOf(t)
		if first == "" || second == "" {
			return apart
		}
		x, y = join(first, x), join(second, y)
	}
	switch {
	case x == y:
		return same
	case below(x, y):
		return inside
	case below(y, x):
		return around
	}
	return apart
}

// identical reports whether two stores are one below what they are wrapped in. Of two
// that cannot be compared it is said, to be on the safe side, if they are of one kind.
func identical(s, t store.Store) bool {
	s, t = store.Driver(s), store.Driver(t)
	if reflect.TypeOf(s) != reflect.TypeOf(t) {
		return false
	}
	return !reflect.ValueOf(s).Comparable() || s == t
}

// join returns the place of a node in a store.
func join(place, path string) string {
	return strings.TrimRight(strings.TrimRight(place, "/")+"/"+path, "/")
}

// below reports whether y lies below x.
func below(x, y string) bool { return x == "" || strings.HasPrefix(y, x+"/") }
