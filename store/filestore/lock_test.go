// SPDX-License-Identifier: Apache-2.0

package filestore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// notLocked tries to lock at once, and reports what kept it from that.
func notLocked(t *testing.T, s store.Store) error {
	ctx := store.WithLocking(t.Context(), store.Locking{Timeout: -1})
	unlock, err := store.Lock(ctx, s, store.Path{})
	if err == nil {
		err = errors.Join(errors.New("it is not locked"), unlock())
	}
	return err
}

// TestLockFileRemovedWhileHeld checks that a lock is still held when its file is removed.
// If it were released first, a second writer could lock the file before its removal, and
// a third writer could then lock a new file.
func TestLockFileRemovedWhileHeld(t *testing.T) {
	for _, name := range []string{"__varve.lock", "__varve.publish"} {
		d, removed := vfs.NewDisk(), 0
		s := filestore.On(vfs.Hook(d, func(op vfs.Op) error {
			if op.Kind != "remove" || op.Name != name {
				return nil
			}
			removed++
			if f, err := d.TryLock(name); !errors.Is(err, vfs.ErrLocked) {
				t.Errorf("%s is removed when it is not locked any more: %v", name, err)
				f.Close()
			}
			return nil
		}), nil)
		unlock, err := s.Lock(t.Context(), store.Path{})
		if err == nil {
			_, err = s.Write(t.Context(), store.PutIf(store.MustKey("k"), nil, store.IfAbsent()), store.Flush)
		}
		if err := errors.Join(err, unlock()); err != nil || removed != 1 {
			t.Errorf("%s was removed %d times, %v", name, removed, err)
		}
	}
}

// TestLockHolder checks that the holder of a lock is reported: to a writer that does not
// wait, to one with a timeout, and to one that waits longer than a second.
func TestLockHolder(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir, nil), open(t, dir, nil)
	unlock, err := a.Lock(store.WithLocking(t.Context(), store.Locking{Operation: "append"}), store.Path{})
	if errors.Is(err, store.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	held := func(h store.Holder) {
		t.Helper()
		if h.PID != os.Getpid() || h.Operation != "append" || time.Since(h.Since) > time.Hour || !strings.Contains(h.String(), "append") {
			t.Errorf("the holder is %+v", h)
		}
	}
	for _, timeout := range []time.Duration{-1, 5 * time.Millisecond} {
		_, err := store.Lock(store.WithLocking(t.Context(), store.Locking{Timeout: timeout}), b, store.Path{})
		var locked *store.LockError
		if !errors.Is(err, store.ErrLocked) || !errors.As(err, &locked) || locked.Waited != max(timeout, 0) {
			t.Fatalf("error is %v", err)
		}
		held(locked.Holder)
	}
	ctx, cancel := context.WithCancel(t.Context())
	how := store.Locking{Waiting: func(w store.LockWait) { held(w.Holder); cancel() }}
	if _, err := store.Lock(store.WithLocking(ctx, how), b, store.Path{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want %v", err, context.Canceled)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
	if h := b.LockHolder(store.Path{}); h != (store.Holder{}) {
		t.Errorf("nobody holds it, and %+v is told", h)
	}
}

// TestDamagedLockFile takes a lock whose file has no valid description of a holder.
func TestDamagedLockFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	for _, text := range []string{"", "{", "[]\n", strings.Repeat("x", 1<<16), `{"pid":"x"}`} {
		write(t, filepath.Join(dir, "__varve.lock"), text)
		if h := s.LockHolder(store.Path{}); h != (store.Holder{}) || h.String() != "another program" {
			t.Errorf("%.9q: %v", text, h)
		}
	}
	unlock, err := s.Lock(t.Context(), store.Path{})
	if err == nil {
		err = unlock()
	}
	if err != nil && !errors.Is(err, store.ErrUnsupported) {
		t.Error(err)
	}
}

// TestPublishLockIsWaitedFor holds the lock of a conditional write. Another conditional
// write reports the wait, and fails after its timeout.
func TestPublishLockIsWaitedFor(t *testing.T) {
	d := vfs.NewDisk()
	lock, err := d.TryLock("__varve.publish")
	if err != nil {
		t.Fatal(err)
	}
	ctx := store.WithLocking(t.Context(), store.Locking{Timeout: time.Millisecond})
	_, err = filestore.On(d, nil).Write(ctx, store.PutIf(store.MustKey("k"), nil, store.IfAbsent()), store.Flush)
	if !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), "the store is locked by") {
		t.Errorf("error is %v, want %v", err, store.ErrLocked)
	}
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
}

// TestLockFileStays releases a lock whose file cannot be removed. The error says that
// nothing else went wrong.
func TestLockFileStays(t *testing.T) {
	s := filestore.On(vfs.Hook(vfs.NewDisk(), func(op vfs.Op) error {
		if op == (vfs.Op{Kind: "remove", Name: "__varve.lock"}) {
			return syscall.EIO
		}
		return nil
	}), nil)
	for range 2 { // it is used again
		unlock, err := s.Lock(t.Context(), store.Path{})
		if err != nil {
			t.Fatal(err)
		}
		if err := unlock(); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "its file __varve.lock could not be removed") {
			t.Errorf("error is %v", err)
		}
	}
}

// TestReaderCannotLock opens the directory for reading and locks it. This does not affect
// writers.
func TestReaderCannotLock(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("directories are not locked here")
	}
	dir := t.TempDir()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := lockFile(f); err != nil {
		t.Skip(err)
	}
	s := open(t, dir, nil)
	ctx := store.WithLocking(t.Context(), store.Locking{Timeout: -1})
	if _, err := s.Write(ctx, store.PutIf(store.MustKey("k"), nil, store.IfAbsent()), store.Flush); err != nil {
		t.Error(err)
	}
	unlock, err := store.Lock(ctx, s, store.Path{})
	if err == nil {
		err = errors.Join(notLockedIsFine(notLocked(t, s)), unlock())
	}
	if err != nil {
		t.Error(err)
	}
}

// notLockedIsFine returns err unless it is an error about a lock.
func notLockedIsFine(err error) error {
	if errors.Is(err, store.ErrLocked) {
		return nil
	}
	return err
}

// TestNoLocks writes to a file system without locks. Calls that need a lock return
// ErrUnsupported.
func TestNoLocks(t *testing.T) {
	for _, lacks := range []error{syscall.ENOSYS, syscall.EOPNOTSUPP, errors.ErrUnsupported} {
		s := filestore.On(vfs.Hook(vfs.NewDisk(), func(op vfs.Op) error {
			if op.Kind == "lock" {
				return lacks
			}
			return nil
		}), nil)
		put(t, s, "a/k", "v")
		_, err := s.Lock(t.Context(), store.Path{})
		_, putErr := s.Write(t.Context(), store.PutIf(store.MustKey("k"), nil, store.IfAbsent()), store.Flush)
		for _, err := range []error{err, putErr, errOf(s.Write(t.Context(), store.DeleteIf(store.MustKey("a/k"), present(t, s, "a/k")), store.Sync))} {
			if !errors.Is(err, store.ErrUnsupported) {
				t.Errorf("%v: error is %v, want %v", lacks, err, store.ErrUnsupported)
			}
		}
	}
}
