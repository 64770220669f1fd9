// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin && !freebsd && !windows

package vfs

// Room tells nothing on this platform.
func Room(string) (free int64, plain, ok bool) { return 0, false, false }
