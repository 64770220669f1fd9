// SPDX-License-Identifier: Apache-2.0

//go:build unix

package vfs

import (
	"golang.org/x/sys/unix"
)

// mostInterrupts limits how often an interrupted call is repeated. Signals of the Go
// runtime come at most every 10 ms, so only a call that never completes is interrupted
// more often. Some file systems in user space interrupt every call.
const mostInterrupts = 1000

// retried repeats a call while a signal interrupts it.
func retried(call func() (int, error)) (n int, err error) {
	for range mostInterrupts {
		if n, err = call(); err != unix.EINTR {
			return n, err
		}
	}
	return n, err
}

// nonblock keeps an open from waiting for the other end of a named pipe.
const nonblock = unix.O_NONBLOCK
