// SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package vfs

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Boot identifies the running kernel, or is "" if that is unknown. Programs with the same
// value see each other's locks.
func Boot() string {
	if id, err := unix.Sysctl("kern.bootsessionuuid"); err == nil {
		return id
	}
	since, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return ""
	}
	return fmt.Sprint(since.Sec, ".", since.Usec)
}

// Local implements [FS]. This platform does not report it.
func (r *Root) Local() bool { return false }
