//go:build unix

package vfs

import "golang.org/x/sys/unix"

// mostInterrupts is how often in a row a call is made again that a signal interrupts.
// Go's own signals come every 10 ms at most, so a call that fails more often never gets
// to its end: some file systems in user space are so.
const mostInterrupts = 1000

// retried makes a call again while a signal interrupts it.
func retried(call func() (int, error)) (n int, err error) {
	for range mostInterrupts {
		if n, err = call(); err != unix.EINTR {
			return n, err
		}
	}
	return n, err
}
