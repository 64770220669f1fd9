// SPDX-License-Identifier: Apache-2.0

package blosc

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns how long the thread has run, which says more than the time of day
// where other programs run, too.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
