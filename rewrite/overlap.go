// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"reflect"
	"strings"

	"varve.dev/zarr/store"
)

// relation is the relation of two places.
type relation int

const (
	apart  relation = iota
	same            // the same place
	inside          // the second is inside the first
	around          // the first is inside the second
)

// overlap returns the relation of place b of store t to place a of store s, if the stores
// know their places.
func overlap(s store.Store, a store.Path, t store.Store, b store.Path) relation {
	x, y := a.String(), b.String()
	// Different stores may have the same place, such as a directory that was opened
	// twice.
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

// identical reports whether two stores are the same below their wrappers. If they cannot
// be compared, stores of the same type count as identical, to be safe.
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

// below reports whether y is below x.
func below(x, y string) bool { return x == "" || strings.HasPrefix(y, x+"/") }
