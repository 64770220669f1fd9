// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"context"
	"path"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// publishIf is publish under a condition.
func (s *files) publishIf(
	ctx context.Context, name string, c content, cond store.Condition, d store.Durability,
) (o outcome, err error) {
	if err := s.writable(ctx); err != nil {
		return o, err
	}
	// This check finds most conflicts before anything is written. moveIf repeats it under
	// the lock.
	if err := s.check(name, cond); err != nil {
		return o, err
	}
	tmp, st, err := s.prepare(name, c, d)
	if err != nil {
		return o, err
	}
	real := beside(tmp, name)
	o.dir = path.Dir(real)
	o.Version, err = s.moveIf(ctx, tmp, real, st, cond)
	return o, err
}

// moveIf is step 6 under a condition, for the temporary file tmp with status st. If it
// does not move the file, it removes it.
func (s *files) moveIf(
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
func (s *files) check(name string, cond store.Condition) error {
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

// removeIf removes a file if a condition holds. It returns the directory to sync.
func (s *files) removeIf(ctx context.Context, name string, cond store.Condition) (dir string, err error) {
	if err := s.writable(ctx); err != nil {
		return "", err
	}
	real := name
	err = s.exclusively(ctx, path.Dir(name), func() error {
		// PutIf takes the same lock, so it cannot replace the value between this check
		// and the removal.
		if err := s.check(name, cond); err != nil {
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
