//go:build linux || darwin

package main

import (
	"path/filepath"
	"syscall"

	"varve.dev/zarr/internal/checked"
)

// freeBytes returns how much room the file system has for a directory, which need not be
// there yet.
func freeBytes(dir string) (int64, bool) {
	var s syscall.Statfs_t
	err := syscall.Statfs(dir, &s)
	for err == syscall.ENOENT && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		err = syscall.Statfs(dir, &s)
	}
	if err != nil {
		return 0, false
	}
	return checked.Mul(int64(s.Bavail), int64(s.Bsize))
}
