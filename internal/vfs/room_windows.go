// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"math"

	"golang.org/x/sys/windows"
)

// Room returns the bytes that this program may still write to the file system of a
// directory. plain is false, because files may be compressed. ok is false if the file
// system does not tell.
func Room(dir string) (free int64, plain, ok bool) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, false, false
	}
	var n uint64
	if err := windows.GetDiskFreeSpaceEx(name, &n, nil, nil); err != nil {
		return 0, false, false
	}
	return int64(min(n, math.MaxInt64)), false, true
}
