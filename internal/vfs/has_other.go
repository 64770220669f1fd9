//go:build !linux

package vfs

import "os"

// isFile reports whether a regular file, or a link to one, is at a path of this machine.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
