//go:build !unix

package vfs

const nonblock = 0
