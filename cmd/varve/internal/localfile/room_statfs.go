// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package localfile

import (
	"math"
	"math/bits"
	"path/filepath"
	"syscall"
)

// FreeBytes returns the free bytes in the file system of a directory, which need not
// exist yet. It returns false if the number is unknown.
func FreeBytes(dir string) (int64, bool) {
	var s syscall.Statfs_t
	err := syscall.Statfs(dir, &s)
	// A missing directory will be in the file system of the nearest existing one.
	for err == syscall.ENOENT && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		err = syscall.Statfs(dir, &s)
	}
	if err != nil {
		return 0, false
	}
	high, low := bits.Mul64(uint64(s.Bavail), uint64(s.Bsize))
	return int64(low), high == 0 && low <= math.MaxInt64
}
