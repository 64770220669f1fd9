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
		return nil, fail("locking", name, err)
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

// exclusively calls act while it holds the publish lock of dir.
func (s *Store) exclusively(ctx context.Context, dir string, act func() error) error {
	unlock, err := s.wait(ctx, func() (func() error, error) { return s.fs.TryLock(dir) })
	if err != nil {
		return err
	}
	defer unlock()
	return act()
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
