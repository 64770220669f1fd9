// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"cmp"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// copyMost is the largest number of bytes that one system call copies.
const copyMost = 1 << 30

// copyRange asks the kernel to copy bytes of src to dst, and returns how many it copied.
// On Btrfs, XFS and NFS, the files may then share the bytes on disk. The kernel may
// refuse: an old kernel, a file system without support, a sandbox. The caller copies the
// rest.
func copyRange(dst *os.File, src File, off, n int64) (done int64) {
	to, err := dst.SyscallConn()
	if err != nil {
		return 0
	}
	_ = descriptor(src, func(from int) {
		_ = to.Control(func(fd uintptr) {
			for done < n {
				m, err := retried(func() (int, error) {
					at := off + done
					return unix.CopyFileRange(from, &at, int(fd), nil, int(min(n-done, copyMost)), 0)
				})
				// After an error or an early end, the caller copies the rest and finds
				// the cause.
				if err != nil || m == 0 {
					return
				}
				done += int64(m)
			}
		})
	})
	return done
}

// share makes dst share the bytes of src, as Btrfs and XFS can.
func share(dst *os.File, src File) error {
	to, err := dst.SyscallConn()
	if err != nil {
		return err
	}
	err = errors.ErrUnsupported
	closed := descriptor(src, func(from int) {
		err = cmp.Or(to.Control(func(fd uintptr) {
			_, err = retried(func() (int, error) { return 0, unix.IoctlFileClone(int(fd), from) })
		}), err)
	})
	return cmp.Or(closed, failed("ficlone", dst.Name(), err))
}

// descriptor calls use with the file descriptor of an open file, if it has one.
func descriptor(f File, use func(fd int)) error {
	switch f := f.(type) {
	case rawFile:
		use(int(f))
	case osFile:
		c, err := f.SyscallConn()
		if err != nil {
			return err
		}
		return c.Control(func(fd uintptr) { use(int(fd)) })
	}
	return nil
}
