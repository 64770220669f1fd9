//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// openLockable opens what is to be locked and returns the name it has; here a directory is locked itself.
func openLockable(r *os.Root, name string) (f *os.File, target string, err error) {
	f, err = r.OpenFile(name, os.O_RDONLY|nonblock, 0)
	return f, name, err
}

func lock(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	closed := conn.Control(func(fd uintptr) { err = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB) })
	switch {
	case closed != nil:
		return closed
	case err == unix.EWOULDBLOCK || err == unix.EINTR:
		return ErrLocked
	}
	return err
}
