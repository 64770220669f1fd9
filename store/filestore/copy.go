// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"context"
	"errors"
	"net/url"
	"path"
	"path/filepath"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// CopyFrom implements [store.Copier] for sources that are file stores too. On Linux the
// kernel copies the bytes, and file systems such as Btrfs and XFS share them. It makes no
// hard links, because other programs may change a file in place, and would then change
// both.
func (s *Store) CopyFrom(
	ctx context.Context, key store.Key, from store.Store, source store.Key, d store.Durability,
) (int64, store.Version, error) {
	name, st, err := s.copyFrom(ctx, key, from, source, d)
	if err == nil && d == store.Sync {
		err = s.syncDir(path.Dir(name))
	}
	if err != nil {
		return 0, store.Version{}, fail("copying to", key.String(), err)
	}
	return st.Size, s.versionOf(name, st), nil
}

// copyFrom is CopyFrom without the sync of the directory. It returns the name of the file
// and its status before the rename.
func (s *Store) copyFrom(
	ctx context.Context, key store.Key, from store.Store, source store.Key, d store.Durability,
) (string, vfs.Stat, error) {
	other, ok := store.Driver(from).(*Store)
	if !ok {
		return "", vfs.Stat{}, store.ErrUnsupported
	}
	name, err := nameOf(key)
	if err != nil {
		return "", vfs.Stat{}, err
	}
	old, was, err := other.open(ctx, source)
	if err != nil {
		return "", vfs.Stat{}, err
	}
	defer old.Close()
	name, st, err := s.publish(ctx, name, func(f vfs.File) error {
		if err := writeFragments(ctx, f, old, []store.Fragment{{N: was.Size}}); err != nil {
			return err
		}
		// Another program may have rewritten or cut the source during the copy.
		return errors.Join(unchanged(old, was), hasSize(f, was.Size))
	}, d)
	return name, st, err
}

// CopyFrom implements [store.CopyingBatch].
func (b *batch) CopyFrom(ctx context.Context, key store.Key, from store.Store, source store.Key) (int64, error) {
	name, st, err := b.s.copyFrom(ctx, key, from, source, b.d)
	if err != nil {
		return 0, fail("copying to", key.String(), err)
	}
	b.touch(path.Dir(name))
	return st.Size, nil
}

// Place implements [store.Placer]. It resolves symbolic links in the directory's path.
func (s *Store) Place() string {
	if s.dir == "" {
		return ""
	}
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}
	return u.String()
}
