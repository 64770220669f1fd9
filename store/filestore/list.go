// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"context"
	"iter"
	"path"
	"strings"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// List implements [store.Lister]. Sizes are -1, because a size would cost a system call
// for each file. It also yields empty directories, which only other programs leave. A
// deep listing follows symbolic links to directories. A link below another link is an
// error, because a few such links make more keys than can be listed. Links that are
// broken, absolute, or lead out of the store or to a directory above cannot be used.
func (s *Store) List(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	return s.list(ctx, dir, deep, func(vfs.Item, *store.Entry) error { return nil })
}

// ListVersions implements [store.VersionLister]. It makes one system call for each file.
func (s *Store) ListVersions(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	return s.list(ctx, dir, deep, describeEntry)
}

// list yields the entries below dir after add has added to them. It omits those for which
// add returns an error of a missing file.
func (s *Store) list(
	ctx context.Context, dir store.Path, deep bool, add func(vfs.Item, *store.Entry) error,
) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for item, err := range vfs.Walk(ctx, s.fs, dirOf(dir), deep, fate) {
			e := store.Entry{Name: below(dir, item.Name), Dir: item.Dir, Size: -1, Unusable: item.Odd}
			if err == nil && item.Odd == "" {
				if err = add(item, &e); vfs.Missing(err) {
					continue
				}
			}
			if err != nil {
				yield(store.Entry{}, fail("listing", dir.String(), err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// describeEntry adds size and version to the entry of a value. The error is
// [fs.ErrNotExist] if the value was deleted since it was listed.
func describeEntry(item vfs.Item, e *store.Entry) error {
	if item.Dir {
		return nil
	}
	st, err := item.Stat()
	if err == nil {
		err = checkRegular(st) // a directory may have replaced the file
	}
	if err == nil {
		info := describe(st)
		e.Size, e.Version, e.Modified, e.FileTime = info.Size, info.Version, info.Modified, info.FileTime
	}
	return err
}

// below returns a name below dir relative to dir.
func below(dir store.Path, name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, dir.String()), "/")
}

// fate hides the files that the driver needs for itself. A directory with such a name is
// not its own, nor is a file that only begins like a temporary one: they are not hidden,
// but the store cannot use them.
func fate(name string, dir bool) vfs.Fate {
	switch base := path.Base(name); {
	case !isOwn(name):
		if _, err := nameOf(store.MustKey(name)); err != nil {
			return vfs.Refuse // Windows has such names, and does not open them by these
		}
		return vfs.Take
	case dir && base != own.Writers && own.IsFile(base), !dir && strings.HasPrefix(base, own.Temporary) && !own.IsTemporary(base):
		return vfs.Refuse
	}
	return vfs.Hide
}
