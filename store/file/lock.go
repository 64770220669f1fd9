package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"sync"
	"time"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// PutIf implements [store.ConditionalWriter]. It takes the publish lock of the key's directory, looks at the file,
// and writes as [Store.Put] does. A version is device, file number, change and modification time, and size; where the
// file system keeps no such times, a value that another program rewrites with equal length may go unnoticed.
func (s *Store) PutIf(
	ctx context.Context, key store.Key, value []byte, cond store.Condition, d store.Durability,
) (store.Version, error) {
	v, err := s.putIf(ctx, key, value, cond, d)
	if err != nil {
		return store.Version{}, fail("writing", key.String(), err)
	}
	return v, nil
}

func (s *Store) putIf(
	ctx context.Context, key store.Key, value []byte, cond store.Condition, d store.Durability,
) (store.Version, error) {
	name, err := nameOf(key)
	if err == nil {
		err = s.writable(ctx)
	}
	if err != nil {
		return store.Version{}, err
	}
	unlock, err := s.lockToPublish(ctx, path.Dir(name), cond)
	if err != nil {
		return store.Version{}, err
	}
	defer unlock()
	st, err := s.fs.Stat(name)
	exists := err == nil && !st.Mode.IsDir()
	if err != nil && !vfs.Missing(err) {
		return store.Version{}, tooLong(err)
	}
	if !cond.Holds(describe(st).Version, exists) {
		return store.Version{}, store.ErrConflict
	}
	return s.put(ctx, key, value, d)
}

// lockToPublish takes the lock of dir itself. A directory that is missing is made for a value that has to be absent,
// and otherwise settles that the condition does not hold.
func (s *Store) lockToPublish(ctx context.Context, dir string, cond store.Condition) (func() error, error) {
	return s.wait(ctx, func() (unlock func() error, err error) {
		for range createTries {
			unlock, err = s.fs.TryLock(dir)
			switch {
			case vfs.Missing(err) && !cond.Absent():
				return nil, store.ErrConflict
			case !errors.Is(err, fs.ErrNotExist):
				return unlock, tooLong(err)
			}
			if err := s.makeDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, tooLong(err)
			}
		}
		return nil, err
	})
}

// Lock implements [store.Locker]. It locks the file "__varve.lock" in dir, which has to exist, and removes it in the end,
// and dir with it where nothing else is there; one that a killed process left behind is used again. Waiting ends with ctx.
func (s *Store) Lock(ctx context.Context, dir store.Path) (unlock func() error, err error) {
	name := path.Join(dirOf(dir), lockName)
	var release func() error
	err = s.writable(ctx)
	if err == nil {
		release, err = s.wait(ctx, func() (func() error, error) { return s.tryLock(name) })
	}
	if err != nil {
		return nil, fail("locking", dir.String(), err)
	}
	return sync.OnceValue(func() error {
		// Removed while it is held: who waits for this file finds it replaced and takes the new one.
		err := errors.Join(s.fs.Remove(name), release())
		s.prune(dirOf(dir))
		return err
	}), nil
}

func (s *Store) tryLock(name string) (func() error, error) {
	f, err := s.fs.Create(name)
	switch {
	case err == nil:
		err = f.Close()
	case errors.Is(err, fs.ErrExist):
		err = nil
	}
	if err != nil {
		return nil, err
	}
	unlock, err := s.fs.TryLock(name)
	if vfs.Missing(err) {
		err = vfs.ErrLocked // its holder has just let go
	}
	return unlock, err
}

// How long a lock is waited for between two tries.
const (
	shortestWait = 50 * time.Microsecond
	longestWait  = 20 * time.Millisecond
)

// wait calls try until it says something else than [vfs.ErrLocked], less and less often.
func (s *Store) wait(ctx context.Context, try func() (func() error, error)) (unlock func() error, err error) {
	for pause := shortestWait; ; pause = min(2*pause, longestWait) {
		unlock, err = try()
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return nil, fmt.Errorf("%w: no locks on this platform or file system", store.ErrUnsupported)
		case !errors.Is(err, vfs.ErrLocked):
			return unlock, err
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
