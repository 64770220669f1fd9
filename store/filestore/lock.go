package filestore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"sync"
	"time"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// Lock implements [store.Locker]. It locks the file "__varve.lock" in dir, which has to
// exist, and writes into it who holds it. In the end it removes the file, and dir with it
// where nothing else is there; one that a killed process left behind is used again.
// Waiting ends with ctx.
func (s *Store) Lock(ctx context.Context, dir store.Path) (unlock func() error, err error) {
	name := path.Join(dirOf(dir), own.Lock)
	var release func() error
	if err = s.writable(ctx); err == nil {
		release, err = s.wait(ctx, name)
	}
	if err != nil {
		return nil, fail("locking", name, err)
	}
	s.begin()
	return sync.OnceValue(func() error {
		defer s.end(nil)
		err := release()
		s.prune(dirOf(dir))
		return err
	}), nil
}

// LockHolder implements [store.HeldLocker].
func (s *Store) LockHolder(dir store.Path) store.Holder {
	return s.holder(path.Join(dirOf(dir), own.Lock))
}

// mostNote is how much of a lock file is read to learn who holds it.
const mostNote = 4096

// holder returns who holds a lock file, by what it says.
func (s *Store) holder(name string) (h store.Holder) {
	f, err := s.fs.Open(name)
	if err != nil {
		return h
	}
	defer f.Close()
	var note [mostNote]byte
	n, err := f.ReadAt(note[:], 0)
	if err != nil && err != io.EOF {
		return h
	}
	line, _, _ := bytes.Cut(note[:n], []byte("\n"))
	if json.Unmarshal(line, &h) != nil {
		return store.Holder{}
	}
	return h
}

// tryLock locks a file, and returns the function that removes it and lets go of the lock.
func (s *Store) tryLock(ctx context.Context, name string) (unlock func() error, err error) {
	f, err := s.fs.TryLock(name)
	if err != nil {
		return nil, err
	}
	note, err := json.Marshal(store.ThisProcess(store.LockingOf(ctx).Operation))
	if err == nil {
		_, _ = f.Write(append(note, '\n')) // a disk that is full is no reason to refuse a lock
	}
	return func() error {
		// Removed while it is held: whoever waits for this file finds it replaced and
		// takes the new one. Let go of first, it could be locked by one, and then be
		// removed below that one, so that another makes and locks a second file.
		_, err := s.unlink(name, always)
		if err != nil && !vfs.Missing(err) { // a network mount may fail once; a file that stays is used again
			_, err = s.unlink(name, always)
		}
		return errors.Join(stayed(name, err), f.Close())
	}, nil
}

// stayed returns the error of a lock file that could not be removed.
func stayed(name string, err error) error {
	if err == nil || vfs.Missing(err) {
		return err
	}
	return fmt.Errorf("only the lock file %s stayed, and the next writer uses it again: %w", name, err)
}

// exclusively calls act while it holds the publish lock of dir. That is the file
// "__varve.publish" in dir.
func (s *Store) exclusively(ctx context.Context, dir string, act func() error) error {
	name := path.Join(dir, own.Publish)
	unlock, err := s.tryLock(ctx, name)
	if errors.Is(err, vfs.ErrLocked) { // few are
		locked := dir
		if dir == "." {
			locked = "" // as package store names the top
		}
		unlock, err = store.AwaitLock(ctx, locked, func(ctx context.Context) (func() error, error) { return s.wait(ctx, name) },
			func() store.Holder { return s.holder(name) })
	}
	if err != nil {
		return s.locks(err)
	}
	err = act()
	// What was done is done. A lock file that cannot be removed is used again, and the
	// lock itself has ended.
	_ = unlock()
	return err
}

// How long a lock is waited for between two tries.
const (
	shortestWait = 50 * time.Microsecond
	longestWait  = 20 * time.Millisecond
)

// wait locks a file once nobody else holds it. It tries less and less often.
func (s *Store) wait(ctx context.Context, name string) (unlock func() error, err error) {
	for pause := shortestWait; ; pause = min(2*pause, longestWait) {
		unlock, err = s.tryLock(ctx, name)
		if !errors.Is(err, vfs.ErrLocked) {
			return unlock, s.locks(err)
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// locks returns the error of a lock, [store.ErrUnsupported] where there are no locks.
func (s *Store) locks(err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("%w: no locks on this platform or file system (%w)", store.ErrUnsupported, err)
	}
	return err
}
