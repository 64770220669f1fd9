// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin || freebsd

package vfs

import (
	"math"
	"math/bits"
	"os"

	"golang.org/x/sys/unix"
)

// Room returns the bytes that this program may still write to the file system of a
// directory. plain is set if every written byte takes one of them, because the file
// system neither compresses files nor shares bytes between copies. ok is false if the
// file system does not tell.
func Room(dir string) (free int64, plain, ok bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil || s.Blocks == 0 {
		return 0, false, false // some network file systems report no blocks
	}
	blocks := uint64(max(0, int64(s.Bavail)))
	if os.Geteuid() == 0 { // which may use what is reserved
		blocks = max(blocks, s.Bfree)
	}
	high, low := bits.Mul64(blocks, uint64(s.Bsize))
	if high != 0 || low > math.MaxInt64 {
		low = math.MaxInt64
	}
	return int64(low), isPlain(&s), true
}
