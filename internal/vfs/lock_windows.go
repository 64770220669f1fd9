// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// openLock opens the file to lock, and makes it if it is missing.
func (r *Root) openLock(name string) (f *os.File, made bool, err error) {
	err = r.usePlain(func(root *os.Root) error {
		f, err = root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		return err
	})
	return f, false, err // every file system on Windows has locks
}

// lockedAt is the upper half of the offset of the locked byte. Windows locks are
// mandatory, so the byte lies far beyond the content, and waiting programs can still read
// the description of the holder.
const lockedAt = 1 << 30

func lock(f *os.File) error {
	flags := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY)
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: lockedAt})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLocked
	}
	return err
}
