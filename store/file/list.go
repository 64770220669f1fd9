package file

import (
	"context"
	"iter"
	"path"
	"strings"
	"time"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// List implements [store.Lister]. Sizes are -1: telling them would cost a look at every file.
// A directory without keys, which only other programs leave, is listed too. A deep listing follows a symbolic link
// to a directory, but one below another is an error, because few of them make endlessly many keys.
func (s *Store) List(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for item, err := range vfs.Walk(ctx, s.fs, dirOf(dir), deep, hidden) {
			if err != nil {
				yield(store.Entry{}, fail("listing", dir.String(), err))
				return
			}
			if !yield(store.Entry{Name: dir.Rel(store.Path{}.Key(item.Name)), Dir: item.Dir, Size: -1}, nil) {
				return
			}
		}
	}
}

// hidden reports whether name is no key: the driver's own, or one that [store.ParseKey] refuses.
func hidden(name string) bool {
	key, err := store.ParseKey(name)
	if err != nil {
		return true
	}
	_, err = nameOf(key)
	return err != nil
}

// RemoveTemporary removes the files that writes which were killed have left behind, and returns how many.
// Only files older than age go: younger ones may belong to a write that is under way.
func (s *Store) RemoveTemporary(ctx context.Context, age time.Duration) (n int, err error) {
	if err := s.writable(ctx); err != nil {
		return 0, fail("cleaning", ".", err)
	}
	latest := time.Now().Add(-age).UnixNano()
	skip := func(name string) bool {
		if strings.HasPrefix(path.Base(name), temporary) {
			return false
		}
		return hidden(name)
	}
	for item, err := range vfs.Walk(ctx, s.fs, ".", true, skip) {
		if err != nil {
			return n, fail("cleaning", ".", err)
		}
		if !strings.HasPrefix(path.Base(item.Name), temporary) {
			continue
		}
		st, err := s.fs.Stat(item.Name)
		if err == nil && st.Mtime <= latest && s.fs.Remove(item.Name) == nil {
			n++
			s.prune(path.Dir(item.Name))
		}
	}
	return n, nil
}
