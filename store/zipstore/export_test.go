// SPDX-License-Identifier: Apache-2.0

package zipstore

import (
	"context"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// Archive is the store of Create.
type Archive = writer

// Store is the store of Open.
type Store = reader

// On begins an archive in fsys. Ending the archive closes fsys.
func On(fsys vfs.FS, name string) (*Archive, error) {
	return begin(&writer{fs: fsys, name: name})
}

// OpenArchive is [Open].
func OpenArchive(ctx context.Context, s store.Store, key store.Key, opt *Options) (*Store, error) {
	z, err := Open(ctx, s, key, opt)
	if err != nil {
		return nil, err
	}
	return z.(*Store), nil
}

// CreateArchive is [Create].
func CreateArchive(name string) (*Archive, error) {
	a, err := Create(name)
	if err != nil {
		return nil, err
	}
	return a.(*Archive), nil
}
