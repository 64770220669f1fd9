package filestore

import (
	"context"
	"iter"
	"strings"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// List implements [store.Lister]. Sizes are -1: telling them would cost a look at every
// file. A directory without keys, which only other programs leave, is listed too. A deep
// listing follows a symbolic link to a directory, but one below another is an error,
// because few of them make endlessly many keys.
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

// below returns a name, as a walk through dir yields it, relative to dir.
func below(dir store.Path, name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, dir.String()), "/")
}

// hidden reports whether name is no key: the driver's own, or one that [store.ParseKey]
// refuses.
func hidden(name string) bool {
	key, err := store.ParseKey(name)
	if err != nil {
		return true
	}
	_, err = nameOf(key)
	return err != nil
}
