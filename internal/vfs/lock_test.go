// SPDX-License-Identifier: Apache-2.0

//go:build unix

package vfs

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestLockFileIsForWriters checks that only users who can write in a directory can open
// its lock file, and so lock it, whatever the umask.
func TestLockFileIsForWriters(t *testing.T) {
	r, top := openTree(t)
	defer syscall.Umask(syscall.Umask(0o077))
	for mode, want := range map[os.FileMode]os.FileMode{0o755: 0o600, 0o775: 0o660, 0o770: 0o660, 0o777: 0o666, 0o700: 0o600} {
		if err := os.Chmod(filepath.Join(top, "dir"), mode); err != nil {
			t.Fatal(err)
		}
		lock, err := r.TryLock("dir/lock")
		if err != nil {
			t.Skip(err)
		}
		fi, err := os.Stat(filepath.Join(top, "dir", "lock"))
		if err != nil || fi.Mode().Perm() != want {
			t.Errorf("in a directory of mode %v the lock file has %v, want %v (%v)", mode, fi.Mode().Perm(), want, err)
		}
		if err := r.Remove("dir/lock"); err != nil {
			t.Error(err)
		}
		if err := lock.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLockFileWithoutLocks checks that TryLock on a file system without locks leaves no
// new file, and does not remove an existing one.
func TestLockFileWithoutLocks(t *testing.T) {
	r, top := openTree(t)
	lacks := func(*os.File) error { return lacksLocks{syscall.ENOLCK} }
	for _, there := range []bool{false, true} {
		name := filepath.Join(top, "dir", "lock")
		if there {
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.tryLock("dir/lock", lacks); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("error is %v", err)
		}
		if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) == there {
			t.Errorf("it was there: %v; and now: %v", there, err)
		}
	}
}
