// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package vfs

import "os"

// isFile reports whether a path of this machine is a regular file, or a link to one.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
