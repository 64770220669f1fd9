//go:build !linux && !openbsd && !dragonfly && !darwin && !freebsd && !netbsd

package vfs

// identify adds nothing: size and modification time have to do.
func identify(*Stat, any) {}
