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
// both; [Store.Clone] does.
func (s *Store) CopyFrom(
	ctx context.Context, key store.Key, from store.Store, source store.Key, d store.Durability,
) (int64, store.Version, error) {
	name, st, err := s.copyFrom(ctx, key, from, source, d)
	if err == nil && d != store.Flush {
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
	return s.publish(ctx, name, copied(ctx, old, was), d)
}

// copied is the content of the file old, which has status was.
func copied(ctx context.Context, old vfs.File, was vfs.Stat) content {
	return func(f vfs.File) error {
		if err := copyRange(ctx, f, old, was, 0, was.Size); err != nil {
			return err
		}
		return isCopy(f, old, was)
	}
}

// isCopy returns an error if the new file f is not a copy of the file old, because
// another program has rewritten or cut old since it had status was.
func isCopy(f, old vfs.File, was vfs.Stat) error {
	return errors.Join(unchanged(old, was), hasSize(f, was.Size))
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
