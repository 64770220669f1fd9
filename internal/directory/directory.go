// SPDX-License-Identifier: Apache-2.0

// Package directory tells directories of a store apart that may have several names.
package directory

import "varve.dev/zarr/store"

// Above returns the identities of dir and of all directories above it, after links are
// resolved, up to the top of the store. Directories that do not exist have the zero
// identity. If the store has no directories of files, the result is empty.
func Above(s store.Store, dir store.Path) (ids []store.Identity, err error) {
	d, ok := store.Driver(s).(store.Directories)
	if !ok {
		return nil, nil
	}
	// Resolve links first: the parents that count are those of the target.
	for dir, err = d.Resolve(dir); err == nil; dir = dir.Parent() {
		var id store.Identity
		id, err = d.Identify(dir)
		ids = append(ids, id)
		if dir.IsRoot() {
			break
		}
	}
	return ids, err
}

// Same reports whether two paths name one directory: the paths are equal, or their
// identities are the same.
func Same(s store.Store, a, b store.Path) (bool, error) {
	if a == b {
		return true, nil
	}
	d := store.DirectoriesOf(s)
	x, err := d.Identify(a)
	if err != nil || x.IsZero() {
		return false, err
	}
	y, err := d.Identify(b)
	return err == nil && x.Same(y), err
}
