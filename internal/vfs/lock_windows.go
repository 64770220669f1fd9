package vfs

import (
	"errors"
	"os"
	"path"

	"golang.org/x/sys/windows"
)

// openLockable opens what is to be locked and returns the name it has.
// A directory cannot be locked here, so a file inside stands for it and stays there.
func openLockable(r *os.Root, name string) (f *os.File, target string, err error) {
	fi, err := r.Stat(name)
	if err != nil {
		return nil, "", err
	}
	if fi.IsDir() {
		name = path.Join(name, LockName)
	}
	f, err = r.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	return f, name, err
}

func lock(f *os.File) error {
	flags := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY)
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLocked
	}
	return err
}
