//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package vfs

import "runtime"

// Boot identifies the running kernel. Nothing tells it here.
func Boot() string { return "" }

// Local implements [FS]. The locks of Windows hold for all machines, since servers keep
// them.
func (r *Root) Local() bool { return runtime.GOOS == "windows" }
