// SPDX-License-Identifier: Apache-2.0

//go:build unix

package vfs

import "golang.org/x/sys/unix"

// mostInterrupts is how often in a row an interrupted call is repeated. Signals of the Go
// runtime come at most every 10 ms, so a call that is interrupted more often never
// completes. Some file systems in user space behave so.
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
