// SPDX-License-Identifier: Apache-2.0

// Package archive tells the stores of zip archives apart from others. What package
// zipstore offers its users is less: they know which stores they have made.
package archive

import "varve.dev/zarr/store"

// Archive is what the drivers of package zipstore have besides the powers of a store.
type Archive interface {
	// IsNew reports whether the archive is being written.
	IsNew() bool
	// Notes returns what [Notes] does.
	Notes() []string
}

// of returns the archive that s is.
func of(s store.Store) (Archive, bool) {
	a, is := store.Driver(s).(Archive)
	return a, is
}

// IsZip reports whether s is an archive, an existing or a new one.
func IsZip(s store.Store) bool {
	_, is := of(s)
	return is
}

// IsNew reports whether s is an archive that is being written.
func IsNew(s store.Store) bool {
	a, is := of(s)
	return is && a.IsNew()
}

// Notes returns remarks, one sentence each, about parts of an existing archive that other
// programs might read differently. It returns nil for other stores.
func Notes(s store.Store) []string {
	if a, is := of(s); is {
		return a.Notes()
	}
	return nil
}
