// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"context"
	"path"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// Splice implements [store.Splicer]. It takes the steps of [Store.PutIf] and fills the
// temporary file from the old file. On Linux the kernel copies the old bytes, and file
// systems such as Btrfs and XFS share them.
func (s *Store) Splice(
	ctx context.Context, key store.Key, from store.Version, fragments []store.Fragment, d store.Durability,
) (store.Version, error) {
	v, dir, err := s.splice(ctx, key, from, fragments, d)
	if err == nil && d != store.Flush {
		err = s.syncDir(dir)
	}
	if err != nil {
		return store.Version{}, fail("splicing", key.String(), err)
	}
	return v, nil
}

// splice is Splice without the sync. It returns the directory to sync.
func (s *Store) splice(
	ctx context.Context, key store.Key, from store.Version, fragments []store.Fragment, d store.Durability,
) (v store.Version, dir string, err error) {
	if err := s.writable(ctx); err != nil {
		return store.Version{}, "", err
	}
	tmp, st, err := s.prepareSplice(ctx, key, from, fragments, d)
	if err != nil {
		return store.Version{}, "", err
	}
	name := beside(tmp, key.String())
	v, err = s.moveIf(ctx, tmp, name, st, store.IfVersion(from))
	return v, path.Dir(name), err
}

// prepareSplice takes steps 1 to 5 with the fragments, which are parts of one source.
func (s *Store) prepareSplice(
	ctx context.Context, key store.Key, from store.Version, fragments []store.Fragment, d store.Durability,
) (tmp string, st vfs.Stat, err error) {
	if from.IsZero() { // a part would permit any version
		return "", vfs.Stat{}, conflict(key)
	}
	a := assembly{ctx: ctx, s: s}
	defer a.close()
	if err := a.enter(key, from); err != nil {
		return "", vfs.Stat{}, err
	}
	size, err := store.SplicedSize(a.was.Size, fragments)
	if err != nil {
		return "", vfs.Stat{}, err
	}
	return s.prepare(key.String(), a.content(store.PartsOf(key, from, fragments), size), d)
}
