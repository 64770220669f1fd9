// SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// openLock opens the file to lock, and reports whether it made the file.
//
// flock locks any open file, even one open for reading. A user who can only read a file
// or directory could thus lock it and block all writers. So only users who may write in
// the directory get permission to open its lock file.
func (r *Root) openLock(name string) (f *os.File, made bool, err error) {
	dir, err := r.openDir(path.Dir(name))
	if err != nil {
		return nil, false, err
	}
	defer dir.Close()
	// A symbolic link could lead the lock to another file. A named pipe could block the
	// open.
	const flags = unix.O_RDWR | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	at, base := int(dir.Fd()), path.Base(name)
	var d unix.Stat_t
	if err := unix.Fstat(at, &d); err != nil {
		return nil, false, err
	}
	mode := lockMode(uint32(d.Mode))
	// Try to make the file first. Only a new file needs permissions.
	fd, err := retried(func() (int, error) { return unix.Openat(at, base, flags|unix.O_CREAT|unix.O_EXCL, mode) })
	made = err == nil
	if err == unix.EEXIST {
		fd, err = retried(func() (int, error) { return unix.Openat(at, base, flags, 0) })
		if err == unix.ENOENT { // the holder released it between the two calls
			return nil, false, fmt.Errorf("%w: %s", ErrLocked, name)
		}
	}
	if err != nil {
		return nil, false, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	// The umask may have removed permissions.
	if made {
		permit(fd, &d, mode)
	}
	return os.NewFile(uintptr(fd), name), made, nil
}

// lockMode returns the permissions of a lock file: read and write for each class that may
// write in its directory.
func lockMode(dir uint32) uint32 {
	write := dir & 0o222
	return write | write<<1
}

// permit gives a new lock file the permissions mode, regardless of the umask, and the
// group of the directory if the group may write. If that fails, the file still works for
// its owner.
func permit(fd int, dir *unix.Stat_t, mode uint32) {
	var f unix.Stat_t
	if unix.Fstat(fd, &f) != nil {
		return
	}
	if mode&0o020 != 0 && f.Gid != dir.Gid {
		_ = unix.Fchown(fd, -1, int(dir.Gid))
	}
	if uint32(f.Mode)&0o777 != mode {
		_ = unix.Fchmod(fd, mode)
	}
}

func lock(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	closed := conn.Control(func(fd uintptr) {
		_, err = retried(func() (int, error) { return 0, unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB) })
	})
	switch {
	case closed != nil:
		return closed
	case err == unix.EWOULDBLOCK:
		return ErrLocked
	case err == unix.ENOLCK || errors.Is(err, errors.ErrUnsupported): // ENOSYS, ENOTSUP, EOPNOTSUPP
		return lacksLocks{err}
	// Repeated EINTR is an error and not ErrLocked: the lock may be free.
	case err != nil:
		return &fs.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
	return nil
}

// lacksLocks is the [errors.ErrUnsupported] of a file system without locks, such as some
// network mounts.
type lacksLocks struct{ error }

func (l lacksLocks) Unwrap() error        { return l.error }
func (l lacksLocks) Is(target error) bool { return target == errors.ErrUnsupported }
