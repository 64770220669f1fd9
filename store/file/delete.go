package file

import (
	"context"
	"path"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// Delete implements [store.Deleter]. It removes the directories that have become empty, and is durable when it returns;
// a batch makes many deletions durable at the price of few.
func (s *Store) Delete(ctx context.Context, key store.Key) error {
	dir, err := s.remove(ctx, key)
	if err == nil && dir != "" {
		err = s.syncDir(dir)
	}
	if err != nil {
		return fail("deleting", key.String(), err)
	}
	return nil
}

// remove removes the file at key and returns the directory that has to be synced for that, "" where there was no file.
func (s *Store) remove(ctx context.Context, key store.Key) (dir string, err error) {
	if err := s.writable(ctx); err != nil {
		return "", err
	}
	name, err := nameOf(key)
	if err != nil {
		return "", err
	}
	err = s.fs.Remove(name)
	switch {
	case err == nil:
		return s.prune(path.Dir(name)), nil
	case vfs.Missing(err):
		return "", nil
	}
	if st, seen := s.fs.Stat(name); seen == nil && st.Mode.IsDir() {
		return "", nil
	}
	return "", tooLong(err)
}

// prune removes dir and the directories above it as long as they are empty, and returns the first that stays.
// A symbolic link to a directory stays.
// A write that has made one of them just now makes it again.
func (s *Store) prune(dir string) string {
	for dir != "." && s.fs.RemoveDir(dir) == nil {
		dir = path.Dir(dir)
	}
	return dir
}
