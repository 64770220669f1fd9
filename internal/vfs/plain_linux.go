// SPDX-License-Identifier: Apache-2.0

package vfs

import "golang.org/x/sys/unix"

// isPlain reports whether a file system is known to store every byte that is written.
func isPlain(s *unix.Statfs_t) bool {
	switch int64(s.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.TMPFS_MAGIC: // the former is also that of ext2 and ext3
		return true
	}
	return false
}
