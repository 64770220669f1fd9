// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"cmp"
	"context"
	"path"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// Gather implements [store.Gatherer] for any source. If that is a file store too, it is
// [Store.Assemble] of the files of that one: on Linux the kernel copies their bytes, and
// file systems such as Btrfs and XFS share them. From other stores, it reads and writes
// piece by piece.
func (s *Store) Gather(
	ctx context.Context, key store.Key, from store.Store, parts []store.Part, d store.Durability,
) (store.Version, error) {
	name, st, err := s.gather(ctx, key, from, parts, d)
	if err == nil && d != store.Flush {
		err = s.syncDir(path.Dir(name))
	}
	if err != nil {
		return store.Version{}, fail("gathering", key.String(), err)
	}
	return s.versionOf(name, st), nil
}

// Gather implements [store.GatheringBatch].
func (b *batch) Gather(ctx context.Context, key store.Key, from store.Store, parts []store.Part) error {
	name, _, err := b.s.gather(ctx, key, from, parts, b.d)
	if err != nil {
		return fail("gathering", key.String(), err)
	}
	b.touch(path.Dir(name))
	return nil
}

// gather is Gather without the sync of the directory. It returns the name of the file and
// its status before the rename.
func (s *Store) gather(
	ctx context.Context, key store.Key, from store.Store, parts []store.Part, d store.Durability,
) (string, vfs.Stat, error) {
	if other, ok := store.Driver(from).(*Store); ok {
		return s.assemble(ctx, key, other, parts, d)
	}
	name, err := nameOf(key)
	if err != nil {
		return "", vfs.Stat{}, err
	}
	size, err := store.AssembledSize(parts)
	if err != nil {
		return "", vfs.Stat{}, err
	}
	return s.publish(ctx, name, func(f vfs.File) error {
		return cmp.Or(store.WriteParts(ctx, f, from, parts), hasSize(f, size))
	}, d)
}
