// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package vfs

import "runtime"

// Boot identifies the running kernel. It is unknown on this platform.
func Boot() string { return "" }

// Local implements [FS]. On Windows, servers keep the locks, so they hold for all
// machines.
func (r *Root) Local() bool { return runtime.GOOS == "windows" }
