// SPDX-License-Identifier: Apache-2.0

package store

import "time"

// Traits describe the place where a store keeps its values. Zero fields are not known.
type Traits struct {
	// Place is a URL without credentials. The URL of a key is the place, a slash and the
	// key. Two stores with the same place have the same values.
	Place string
	// Requests is how many requests the callers of the store may have begun at the same
	// time, in a store that limits its own requests in flight, such as one of a service
	// that throttles. The store decides how many of them it sends.
	Requests int
	// WriteInterval is the shortest time between two changes of one key, such as in a
	// service that refuses a second one within a second.
	WriteInterval time.Duration
}

// Describer is a store that describes its place.
type Describer interface {
	// Traits is cheap, and always gives the same answer.
	Traits() Traits
	// CheckKey returns an error that wraps [ErrInvalidKey] if no value can be stored
	// under the key, because of its name. It asks nobody.
	CheckKey(key Key) error
}

// TraitsOf returns the traits of s. They are zero if s is not a [Describer].
func TraitsOf(s Store) Traits {
	if d, ok := As[Describer](s); ok {
		return d.Traits()
	}
	return Traits{}
}

// CheckKey returns the error with which storing a value under the key would fail because
// of its name, if that is known without trying. A copy calls it for all names
// before it stores the first value. It returns nil if s is not a [Describer].
func CheckKey(s Store, key Key) error {
	if d, ok := Driver(s).(Describer); ok { // a wrapper has nothing to add
		return d.CheckKey(key)
	}
	return nil
}
