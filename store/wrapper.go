// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"strings"
)

// Wrapper is a [Store] that has the values of another store under the same keys and adds
// behaviour, such as counting or waiting. Its type has the methods of every power that it
// can pass on. It has a power only if the store below has it.
type Wrapper interface {
	Store
	// Unwrap returns the store below.
	Unwrap() Store
}

// As returns s as the power P, as in As[Lister](s), and reports whether s has that power.
// The type of s must have the methods and, if s is a [Wrapper], so must the store below.
// A plain type assertion ignores the store below.
func As[P any](s Store) (power P, ok bool) {
	p, ok := s.(P)
	if !ok {
		return power, false
	}
	// A wrapper has the methods of all powers, even of those that the store below lacks.
	if w, wraps := s.(Wrapper); wraps {
		if _, ok := As[P](w.Unwrap()); !ok {
			return power, false
		}
	}
	return p, true
}

// Driver returns the store below all wrappers, or s if it is not a [Wrapper].
func Driver(s Store) Store {
	for {
		w, ok := s.(Wrapper)
		if !ok {
			return s
		}
		s = w.Unwrap()
	}
}

// unsupported returns an [ErrUnsupported] that names the store and the power.
func unsupported(s Store, power string) error { return cannot(Driver(s), "store", power) }

// cannot returns an [ErrUnsupported]. It names the type by its package, as in "the zip
// store", because users of a program need not know Go types.
func cannot(what any, kind, power string) error {
	name, _, _ := strings.Cut(strings.TrimLeft(fmt.Sprintf("%T", what), "*"), ".")
	name = strings.TrimSuffix(name, "store") // package httpstore is "the http store"
	return fmt.Errorf("%w: the %s %s cannot %s", ErrUnsupported, name, kind, power)
}
