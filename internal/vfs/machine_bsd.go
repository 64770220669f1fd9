//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package vfs

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Boot identifies the running kernel: all programs that have it see each other's locks.
// It is "" where nothing tells.
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

// Local implements [FS]. It cannot tell here.
func (r *Root) Local() bool { return false }
