// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"context"
	"path"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// PutIf implements [store.ConditionalWriter]. It takes the steps of [Store.Put].
// Between steps 5 and 6 it takes the publish lock of the key's directory and compares
// the version.
//
// A version consists of device, inode, change and modification time, and size. If the
// file system lacks such times, a rewrite of equal length by another program may go
// unnoticed.
func (s *Store) PutIf(
	ctx context.Context, key store.Key, value []byte, cond store.Condition, d store.Durability,
) (store.Version, error) {
	name, err := nameOf(key)
	var v store.Version
	if err == nil {
		name, v, err = s.publishIf(ctx, name, whole(value), cond, d)
	}
	// The lock is released by now, so other writers do not wait for this sync.
	if err == nil && d != store.Flush {
		err = s.syncDir(path.Dir(name))
	}
	if err != nil {
		return store.Version{}, fail("writing", key.String(), err)
	}
	return v, nil
}

// publishIf is publish under a condition. It returns the name without links, and the
// version.
func (s *Store) publishIf(
	ctx context.Context, name string, c content, cond store.Condition, d store.Durability,
) (real string, v store.Version, err error) {
	if err := s.writable(ctx); err != nil {
		return "", store.Version{}, err
	}
	// This check finds most conflicts before anything is written. moveIf repeats it under
	// the lock.
	if err := s.check(name, cond); err != nil {
		return "", store.Version{}, err
	}
	tmp, st, err := s.prepare(name, c, d)
	if err != nil {
		return "", store.Version{}, err
	}
	real = beside(tmp, name)
	v, err = s.moveIf(ctx, tmp, real, st, cond)
	return real, v, err
}

// moveIf is step 6 under a condition, for the temporary file tmp with status st. If it
// does not move the file, it removes it.
func (s *Store) moveIf(
	ctx context.Context, tmp, name string, st vfs.Stat, cond store.Condition,
) (v store.Version, err error) {
	// The temporary file is in the directory, so no concurrent deletion prunes the
	// directory. Otherwise two writers could hold locks in two directories of this name.
	err = s.exclusively(ctx, path.Dir(name), func() error {
		if err := s.check(name, cond); err != nil {
			return err
		}
		if err := s.move(ctx, tmp, name); err != nil {
			return err
		}
		v = s.versionOf(name, st)
		return nil
	})
	if err != nil {
		s.drop(tmp)
		return store.Version{}, err
	}
	return v, nil
}

// check returns [store.ErrConflict] if cond does not hold for the file at name.
func (s *Store) check(name string, cond store.Condition) error {
	st, err := s.fs.Stat(name)
	exists := err == nil && !st.Mode.IsDir()
	switch {
	case err != nil && !vfs.Missing(err):
		return tooLong(err)
	case !cond.Holds(describe(st).Version, exists):
		return store.ErrConflict
	}
	return nil
}

// DeleteIf implements [store.ConditionalDeleter], under the publish lock of the key's
// directory. The deletion is durable when it returns.
func (s *Store) DeleteIf(ctx context.Context, key store.Key, v store.Version) error {
	dir, err := s.removeIf(ctx, key, v)
	if err == nil {
		err = s.syncDir(dir)
	}
	if err != nil {
		return fail("deleting", key.String(), err)
	}
	return nil
}

// removeIf removes the file at key if it is of version v. It returns the directory to
// sync.
func (s *Store) removeIf(ctx context.Context, key store.Key, v store.Version) (dir string, err error) {
	if err := s.writable(ctx); err != nil {
		return "", err
	}
	name, err := nameOf(key)
	if err != nil {
		return "", err
	}
	real := name
	err = s.exclusively(ctx, path.Dir(name), func() error {
		// PutIf takes the same lock, so it cannot replace the value between this check
		// and the removal.
		if err := s.check(name, store.IfVersion(v)); err != nil {
			return err
		}
		real, err = s.unlink(name, s.isNode)
		return err
	})
	switch {
	case err == nil:
		return s.prune(path.Dir(real)), nil
	// The directory is missing, so the lock could not be taken.
	case vfs.Missing(err):
		return "", store.ErrConflict
	}
	return "", tooLong(err)
}
