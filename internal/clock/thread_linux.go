// SPDX-License-Identifier: Apache-2.0

package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Thread returns the processor time of the thread that calls it. Other programs of the
// machine do not add to it.
func Thread() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return time.Since(start) // the kernel has no such clock
	}
	return time.Duration(t.Nano())
}
