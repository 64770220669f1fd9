// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Boot identifies the running kernel, or is "" if that is unknown. Programs with the same
// value see each other's locks, even in different containers.
func Boot() string {
	if known := boot.Load(); known != nil {
		return *known
	}
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	id := strings.TrimSpace(string(text))
	boot.Store(&id)
	return id
}

// boot is the result of [Boot] once it is known. A process does not outlive its kernel.
var boot atomic.Pointer[string]

// localSystems are the file systems that only one kernel mounts at a time: ext, XFS,
// Btrfs, ZFS, F2FS, bcachefs, tmpfs, overlays, FAT and NTFS.
var localSystems = []uint32{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, 0x2fc12fc1, unix.F2FS_SUPER_MAGIC, 0xca451a4e,
	unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC, 0x5346544e, 0x7366746e,
}

// Local implements [FS].
func (r *Root) Local() bool {
	var t unix.Statfs_t
	err := r.fast.conn.Control(func(fd uintptr) {
		if unix.Fstatfs(int(fd), &t) != nil {
			// An unknown type counts as a network file system.
			t.Type = 0
		}
	})
	return err == nil && slices.Contains(localSystems, uint32(t.Type))
}

// isPlain reports whether a file system is known to store every byte that is written.
func isPlain(s *unix.Statfs_t) bool {
	switch int64(s.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.TMPFS_MAGIC: // the former is also that of ext2 and ext3
		return true
	}
	return false
}
