//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package vfs

import (
	"io/fs"
	"os"
)

// removeDir looks first, because os.Root.Remove would remove a file or a link of that name too.
func removeDir(r *os.Root, name string) error {
	fi, err := r.Lstat(name)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		return &fs.PathError{Op: "rmdir", Path: name, Err: fs.ErrInvalid}
	}
	return r.Remove(name)
}
