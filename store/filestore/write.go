package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// Put implements [store.Writer]. Whenever the machine stops, the key has the old value or
// the new one:
//
//  1. Make the directories that are missing, and remember them as not durable yet. A symbolic link on the way is
//     followed where it is the name of a node, and refused within an array; the next steps use the names behind it.
//  2. Create "__tmp-<writer>-<number>" beside the target; a rename cannot cross file systems.
//  3. Write the value.
//  4. Give the file a modification time that no earlier write of this store has, so that versions differ
//     even where the file system's clock is slow and file numbers are used again.
//  5. With Sync, sync the file, so that the name never stands for bytes that are not there.
//  6. Rename the file to the target. From here on every reader sees the new value.
//  7. With Sync, sync the directory, and the one above each directory of step 1, so that the name is durable.
//
// A failure in steps 1 to 6 removes the temporary file and leaves the old value. A sync
// that fails may have thrown the bytes away and would succeed if it were repeated, so it
// is not: the store refuses to write from then on, with [store.ErrDurability]. With
// [store.Flush] a power cut may leave the name without its bytes.
func (s *Store) Put(ctx context.Context, key store.Key, value []byte, d store.Durability) (store.Version, error) {
	v, err := s.put(ctx, key, value, d)
	if err != nil {
		return store.Version{}, fail("writing", key.String(), err)
	}
	return v, nil
}

func (s *Store) put(ctx context.Context, key store.Key, value []byte, d store.Durability) (store.Version, error) {
	name, err := nameOf(key)
	if err != nil {
		return store.Version{}, err
	}
	real, st, err := s.publish(ctx, name, whole(value), d)
	if err != nil {
		return store.Version{}, err
	}
	if d == store.Sync {
		if err := s.syncDir(path.Dir(real)); err != nil {
			return store.Version{}, err
		}
	}
	return s.versionOf(real, st), nil
}

// versionOf returns the version of the file st, which was moved to name, or none where
// another is there already. The rename changed it, so it is looked at again.
func (s *Store) versionOf(name string, st vfs.Stat) store.Version {
	now, err := s.fs.Stat(name)
	if err != nil || !now.SameData(st) {
		return store.Version{}
	}
	return store.MakeVersion(now.Version())
}

// content is what becomes of an empty file.
type content func(f vfs.File) error

// whole is the content that is value.
func whole(value []byte) content {
	return func(f vfs.File) error {
		_, err := f.Write(value)
		return err
	}
}

// publish runs steps 1 to 6 and returns the name that the file has without links, and
// what it was before its rename.
func (s *Store) publish(
	ctx context.Context, name string, c content, d store.Durability,
) (real string, st vfs.Stat, err error) {
	if err := s.writable(ctx); err != nil {
		return "", vfs.Stat{}, err
	}
	tmp, st, err := s.prepare(name, c, d)
	if err != nil {
		return "", vfs.Stat{}, err
	}
	real = beside(tmp, name)
	if err := s.move(ctx, tmp, real); err != nil {
		s.drop(tmp)
		return "", vfs.Stat{}, err
	}
	return real, st, nil
}

// beside returns the name without links that the temporary file tmp is to be moved to so
// that it is found at name.
func beside(tmp, name string) string { return path.Join(path.Dir(tmp), path.Base(name)) }

// prepare runs steps 1 to 5 for name, and returns the temporary file and what it is. The
// file is in the key's directory, by the name that this has without links.
func (s *Store) prepare(name string, c content, d store.Durability) (tmp string, st vfs.Stat, err error) {
	f, tmp, err := s.createTemporary(path.Dir(name))
	if errors.Is(err, vfs.ErrLinked) { // few are
		f, tmp, err = s.createBehind(path.Dir(name))
	}
	if err != nil {
		return "", vfs.Stat{}, tooLong(err)
	}
	if st, err = s.fill(f, tmp, c, d); err != nil {
		s.drop(tmp)
		return "", vfs.Stat{}, err
	}
	return tmp, st, nil
}

// move is step 6, unless it is too late for it.
func (s *Store) move(ctx context.Context, tmp, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.fs.Rename(tmp, name); err != nil {
		return tooLong(err)
	}
	s.end(nil)
	return nil
}

// drop removes a temporary file, and the directories that it alone kept from being
// pruned. What cannot be removed is invisible, and the next opening for writing finds it.
func (s *Store) drop(tmp string) {
	real, err := s.unlink(tmp, always)
	if err == nil {
		s.prune(path.Dir(real))
	}
	s.end(err)
}

// createTries is how often a directory may vanish, because others prune it, before a
// write gives up.
const createTries = 100

// createBehind creates an empty temporary file in the directory that dir leads to by
// symbolic links.
func (s *Store) createBehind(dir string) (f vfs.File, name string, err error) {
	dir, err = s.direct(dir, "writes", s.mayWrite)
	if err != nil {
		return nil, "", err
	}
	return s.createTemporary(dir)
}

// createTemporary creates an empty temporary file in dir, which begins work unless it
// fails.
func (s *Store) createTemporary(dir string) (f vfs.File, name string, err error) {
	name = s.temporaryIn(dir)
	defer func() {
		if err != nil {
			s.end(nil)
		}
	}()
	for range createTries {
		if f, err = s.fs.Create(name); !errors.Is(err, fs.ErrNotExist) {
			return f, name, err
		}
		if err := s.makeDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, "", err
		}
	}
	return nil, "", err
}

// fill writes the temporary file, closes it and returns what it was in the end.
func (s *Store) fill(f vfs.File, tmp string, c content, d store.Durability) (st vfs.Stat, err error) {
	if err = c(f); err == nil {
		// Where the file system refuses the time, versions rest on what else it tells.
		_ = s.fs.Touch(tmp, s.now())
		st, err = f.Stat()
	}
	if err == nil && d == store.Sync {
		err = s.sync(f)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return st, err
}

// now returns the time in nanoseconds since 1970, later than all that were returned
// before.
func (s *Store) now() int64 {
	for {
		last := s.clock.Load()
		next := max(time.Now().UnixNano(), last+1)
		if s.clock.CompareAndSwap(last, next) {
			return next
		}
	}
}

// sync syncs f. After a failure nothing more is written.
func (s *Store) sync(f vfs.File) error {
	if err := f.Sync(); err != nil {
		err = fmt.Errorf("%w: %w", store.ErrDurability, err)
		s.broken.CompareAndSwap(nil, &err)
		return err
	}
	return nil
}
