//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package vfs

import (
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// removeDir goes through the parent, because os.Root.Remove would remove a file or a link of that name too.
func removeDir(r *os.Root, name string) error {
	parent, err := r.Open(path.Dir(name))
	if err != nil {
		return err
	}
	defer parent.Close()
	if err := unix.Unlinkat(int(parent.Fd()), path.Base(name), unix.AT_REMOVEDIR); err != nil {
		return &fs.PathError{Op: "rmdirat", Path: name, Err: err}
	}
	return nil
}
