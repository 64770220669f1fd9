// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package vfs

import "syscall"

// nonblock keeps an open from waiting for the other end of a named pipe.
const nonblock = syscall.O_NONBLOCK
