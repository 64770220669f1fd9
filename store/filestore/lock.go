// SPDX-License-Identifier: Apache-2.0

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

// Lock implements [store.Locker]. It locks the lock file in dir, which must exist, and
// writes a description of the holder into it. Unlocking removes the file, and dir if
// nothing else is in it. A lock file that a crashed process left behind is used again.
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

// mostNote is how many bytes of a lock file are read to learn the holder.
const mostNote = 4096

// holder returns the holder of a lock, from the content of the lock file.
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

// tryLock locks a file, and returns the function that removes it and releases the lock.
func (s *Store) tryLock(ctx context.Context, name string) (unlock func() error, err error) {
	f, err := s.fs.TryLock(name)
	if err != nil {
		return nil, err
	}
	note, err := json.Marshal(store.ThisProcess(store.LockingOf(ctx).Operation))
	if err == nil {
		_, _ = f.Write(append(note, '\n')) // a full disk is no reason to refuse a lock
	}
	return func() error {
		// Remove the file while it is locked. Writers that wait for this file then find
		// it replaced and lock the new one. If it were unlocked first, a second writer
		// could lock it, lose it to this removal, and a third could create and lock a new
		// file: two holders.
		_, err := s.unlink(name, always)
		// A network mount may fail once. A file that stays is used again.
		if err != nil && !vfs.Missing(err) {
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

// exclusively calls act while it holds the publish lock of dir.
func (s *Store) exclusively(ctx context.Context, dir string, act func() error) error {
	name := path.Join(dir, own.Publish)
	unlock, err := s.tryLock(ctx, name)
	if errors.Is(err, vfs.ErrLocked) { // rare, so the wait is set up only now
		locked := dir
		if dir == "." {
			locked = "" // the name of the top in package store
		}
		unlock, err = store.AwaitLock(ctx, locked, func(ctx context.Context) (func() error, error) { return s.wait(ctx, name) },
			func() store.Holder { return s.holder(name) })
	}
	if err != nil {
		return s.locks(err)
	}
	err = act()
	// The change has been made. If the lock file cannot be removed, it is used again, and
	// the lock itself has ended.
	_ = unlock()
	return err
}

// The pause between two tries to take a lock.
const (
	shortestWait = 50 * time.Microsecond
	longestWait  = 20 * time.Millisecond
)

// wait locks a file as soon as it is free. The pauses between tries get longer.
func (s *Store) wait(ctx context.Context, name string) (unlock func() error, err error) {
	for pause := shortestWait; ; pause = min(2*pause, longestWait) {
		unlock, err = s.tryLock(ctx, name)
		if !errors.Is(err, vfs.ErrLocked) {
			return unlock, s.locks(err)
		}
		select {
		// A random pause keeps waiting writers from trying in step.
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// locks turns the error of a lock into [store.ErrUnsupported] if there are no locks.
func (s *Store) locks(err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("%w: no locks on this platform or file system (%w)", store.ErrUnsupported, err)
	}
	return err
}
