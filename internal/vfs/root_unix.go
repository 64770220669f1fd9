// SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package vfs

import (
	"io/fs"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// remove removes the file, symbolic link or empty directory at name. With onlyDir it
// removes only directories.
func (r *Root) remove(name string, onlyDir bool) error {
	parent, err := r.openParent(path.Dir(name))
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	// With onlyDir, skip the call that removes files.
	err = unix.EISDIR
	if !onlyDir {
		err = unlink(parent, path.Base(name), 0)
	}
	if err == unix.EISDIR || err == unix.EPERM { // a directory: EPERM in POSIX, EISDIR on Linux
		// EPERM may also protect a file. Then the second call fails with ENOTDIR, and the
		// first error is the true one.
		if dirErr := unlink(parent, path.Base(name), unix.AT_REMOVEDIR); onlyDir || dirErr != unix.ENOTDIR {
			err = dirErr
		}
	}
	if err != nil {
		return &fs.PathError{Op: "unlinkat", Path: name, Err: err}
	}
	return nil
}

func unlink(dir int, base string, flags int) error {
	_, err := retried(func() (int, error) { return 0, unix.Unlinkat(dir, base, flags) })
	return err
}

// direct fails with [ErrLinked] if dir, or a directory above it, is a symbolic link.
func (r *Root) direct(dir string) error {
	fd, err := r.openParent(dir)
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

// openParent opens a directory without following any link. It opens one segment at a
// time, relative to the one above, so a link that a concurrent program puts in the place
// of a directory is refused too.
func (r *Root) openParent(dir string) (int, error) {
	// Fast path: one system call for all segments.
	if fd, ok := r.fast.openDirect(dir); ok {
		return fd, nil
	}
	root, err := r.plain()
	if err != nil {
		return 0, err
	}
	top, err := root.Open(".")
	if err != nil {
		return 0, err
	}
	defer top.Close()
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	open := func(at int, seg string) (int, error) {
		return retried(func() (int, error) { return unix.Openat(at, seg, flags, 0) })
	}
	fd, err := open(int(top.Fd()), ".")
	if dir == "." || err != nil {
		return fd, err
	}
	seen := "."
	for seg := range strings.SplitSeq(dir, "/") {
		// No name leads out of the tree.
		if seg == ".." {
			unix.Close(fd)
			return 0, &fs.PathError{Op: "openat", Path: dir, Err: unix.EXDEV}
		}
		seen = path.Join(seen, seg)
		next, err := open(fd, seg)
		if err != nil && isLink(fd, seg) {
			err = ErrLinked
		}
		unix.Close(fd)
		if err != nil {
			return 0, &fs.PathError{Op: "openat", Path: seen, Err: err}
		}
		fd = next
	}
	return fd, nil
}

// isLink reports whether a name in a directory is a symbolic link.
func isLink(dir int, base string) bool {
	var t unix.Stat_t
	err := unix.Fstatat(dir, base, &t, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && uint32(t.Mode)&unix.S_IFMT == unix.S_IFLNK
}
