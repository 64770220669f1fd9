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

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// Lock implements [store.Locker]. It locks the lock file in the existing directory dir,
// and writes a description of the holder into it. It waits for the lock until ctx ends.
// Unlocking removes the file, and also dir if it is empty then. After a crash the file
// stays unlocked, and the next holder uses it again.
func (s *files) Lock(ctx context.Context, dir store.Path) (unlock func() error, err error) {
	name := path.Join(dirOf(dir), own.Lock)
	var release func() error
	if err = s.writable(ctx); err == nil {
		release, err = s.wait(ctx, name)
	}
	if err != nil {
		return nil, fail("locking", name, err)
	}
	// Stay registered as a writer while the lock is held. Otherwise each write of the
	// holder would make and remove the writer's file.
	s.begin()
	return sync.OnceValue(func() error {
		defer s.end(nil)
		err := release()
		// The holder may have deleted the node. Then only the lock file kept its
		// directory.
		s.prune(dirOf(dir))
		return err
	}), nil
}

// LockHolder implements [store.Locker].
func (s *files) LockHolder(dir store.Path) store.Holder {
	return s.holder(path.Join(dirOf(dir), own.Lock))
}

// mostNote is the number of bytes of a lock file that may describe the holder.
const mostNote = 4096

// holder returns the holder of a lock, from the content of the lock file.
func (s *files) holder(name string) (h store.Holder) {
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
	if json.Unmarshal(line, &h) != nil { // the holder is writing it, or its disk is full
		return store.Holder{}
	}
	return h
}

// tryLock locks a file, and returns the function that removes it and releases the lock.
func (s *files) tryLock(ctx context.Context, name string) (unlock func() error, err error) {
	f, err := s.fs.TryLock(name)
	if err != nil {
		return nil, err
	}
	note, err := json.Marshal(driver.ThisProcess(store.LockingOf(ctx).Operation))
	if err == nil {
		_, _ = f.Write(append(note, '\n')) // on a full disk the lock holds without a note
	}
	return func() error {
		// Remove the file while it is locked. A writer that has opened it then finds it
		// replaced, and opens the new one. If it were unlocked first, a second writer
		// could lock it before this removal, and a third could then create and lock a new
		// file. Both would be holders.
		_, err := s.unlink(name, permitAny)
		// The server of a network mount may fail once. If the file stays, the next holder
		// uses it again.
		if err != nil && !vfs.Missing(err) {
			_, err = s.unlink(name, permitAny)
		}
		return errors.Join(stayed(name, err), f.Close())
	}, nil
}

// stayed describes the error of removing a lock file.
func stayed(name string, err error) error {
	if err == nil || vfs.Missing(err) {
		return err
	}
	return fmt.Errorf("the lock is released, but its file %s could not be removed; the next writer uses it again: %w", name, err)
}

// exclusively calls act while it holds the publish lock of dir.
func (s *files) exclusively(ctx context.Context, dir string, act func() error) error {
	name := path.Join(dir, own.Publish)
	unlock, err := s.tryLock(ctx, name)
	if errors.Is(err, vfs.ErrLocked) { // rare, so the wait is prepared only now
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
	// unlock ends the lock even if it cannot remove the file. To return that error would
	// report a change that was made as failed.
	_ = unlock()
	return err
}

// The pauses between two attempts to take a lock.
const (
	shortestWait = 50 * time.Microsecond
	longestWait  = 20 * time.Millisecond
)

// wait locks a file once it is free. The pauses between attempts get longer.
func (s *files) wait(ctx context.Context, name string) (unlock func() error, err error) {
	for pause := shortestWait; ; pause = min(2*pause, longestWait) {
		unlock, err = s.tryLock(ctx, name)
		if !errors.Is(err, vfs.ErrLocked) {
			return unlock, s.locks(err)
		}
		select {
		// With random pauses, waiting writers do not all try at the same time.
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// locks converts an error of TryLock to [store.ErrUnsupported] if there are no locks.
func (s *files) locks(err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("%w: no locks on this platform or file system (%w)", store.ErrUnsupported, err)
	}
	return err
}
