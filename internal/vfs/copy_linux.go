// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// copyMost is how many bytes one system call copies at most.
const copyMost = 1 << 30

// copyRange lets the kernel copy bytes of src to dst, and returns how many it copied.
// File systems that can share data between files (Btrfs, XFS, NFS) do not even copy them.
// The kernel may refuse: the call or the file system may not support it, or a sandbox
// forbids it. The rest is left to the caller.
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
				if err != nil || m == 0 {
					return
				}
				done += int64(m)
			}
		})
	})
	return done
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
