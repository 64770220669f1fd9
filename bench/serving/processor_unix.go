// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// processor returns the processor time of this process in seconds.
func processor() float64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
}
