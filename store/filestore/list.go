// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"context"
	"iter"
	"strings"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// List implements [store.Lister]. Sizes are -1, because a size would cost a system call
// for each file. It also yields empty directories, which only other programs leave. A
// deep listing follows symbolic links to directories. A link below another link is an
// error, because a few such links make more keys than can be listed.
func (s *Store) List(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for item, err := range vfs.Walk(ctx, s.fs, dirOf(dir), deep, hidden) {
			if err != nil {
				yield(store.Entry{}, fail("listing", dir.String(), err))
				return
			}
			if !yield(store.Entry{Name: below(dir, item.Name), Dir: item.Dir, Size: -1}, nil) {
				return
			}
		}
	}
}

// below returns a name below dir relative to dir.
func below(dir store.Path, name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, dir.String()), "/")
}

// hidden reports whether name is not a key, because the driver reserves it or
// [store.ParseKey] refuses it.
func hidden(name string) bool {
	key, err := store.ParseKey(name)
	if err != nil {
		return true
	}
	_, err = nameOf(key)
	return err != nil
}
