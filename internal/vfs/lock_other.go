//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package vfs

import (
	"errors"
	"os"
)

// openLockable opens what is to be locked.
func openLockable(r *os.Root, name string) (f *os.File, target string, err error) {
	f, err = r.Open(name)
	return f, name, err
}

// lock fails: the platform has no locks that end with the process.
func lock(*os.File) error { return errors.ErrUnsupported }
