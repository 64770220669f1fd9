// SPDX-License-Identifier: Apache-2.0

//go:build darwin || freebsd || netbsd

package vfs

import "syscall"

func identify(s *Stat, sys any) {
	if t, ok := sys.(*syscall.Stat_t); ok {
		s.Dev, s.Ino, s.Ctime = uint64(t.Dev), uint64(t.Ino), t.Ctimespec.Nano()
	}
}
