// SPDX-License-Identifier: Apache-2.0

package store

// KeyChecker is a driver whose place does not hold every name.
type KeyChecker interface {
	// CheckKey returns an error that wraps [ErrInvalidKey] if no value can be stored
	// under the key, because of its name. It asks nobody.
	CheckKey(key Key) error
}

// CheckKey returns the error with which storing a value under the key would fail because
// of its name, as far as that is known without trying. A copy calls it for all names
// before it stores the first value. It returns nil if s is not a [KeyChecker].
func CheckKey(s Store, key Key) error {
	if c, ok := Driver(s).(KeyChecker); ok { // a wrapper has nothing to add
		return c.CheckKey(key)
	}
	return nil
}
