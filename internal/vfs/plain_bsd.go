// SPDX-License-Identifier: Apache-2.0

//go:build darwin || freebsd

package vfs

import "golang.org/x/sys/unix"

// isPlain reports whether a file system is known to store every byte that is written.
func isPlain(s *unix.Statfs_t) bool {
	return unix.ByteSliceToString(s.Fstypename[:]) == "ufs"
}
