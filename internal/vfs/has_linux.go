package vfs

import "golang.org/x/sys/unix"

// isFile reports whether a regular file, or a link to one, is at a path of this machine.
// It is [os.Stat] without a description of what is there, and without an error where
// nothing is.
func isFile(path string) bool {
	var t unix.Stat_t
	_, err := retried(func() (int, error) { return 0, unix.Stat(path, &t) })
	return err == nil && t.Mode&unix.S_IFMT == unix.S_IFREG
}
