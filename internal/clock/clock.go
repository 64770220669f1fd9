// SPDX-License-Identifier: Apache-2.0

// Package clock measures the processor time of a thread, for benchmarks on busy machines.
package clock

import (
	"runtime"
	"time"
)

// start is the origin of the wall clock.
var start = time.Now()

// Beside runs f and g alternately for about the given duration, and returns the shortest
// time of each: processor time where the system reports it, wall time elsewhere. It runs
// short functions many times in a row.
func Beside(f, g func(), long time.Duration) (ft, gt time.Duration) {
	runtime.LockOSThread() // the clock is that of one thread
	defer runtime.UnlockOSThread()
	const least = 200 * time.Microsecond // long compared with a reading of the clock
	n, m := repeats(f, least), repeats(g, least)
	ft, gt = time.Hour, time.Hour
	for end := time.Now().Add(long); ; {
		ft = min(ft, times(f, n))
		gt = min(gt, times(g, m))
		if time.Now().After(end) {
			return ft / time.Duration(n), gt / time.Duration(m)
		}
	}
}

// repeats returns how many runs of f take about least.
func repeats(f func(), least time.Duration) int {
	n := 1
	for times(f, n) < least {
		n *= 2
	}
	return n
}

// times returns how long n runs of f take.
func times(f func(), n int) time.Duration {
	begin := Thread()
	for range n {
		f()
	}
	return Thread() - begin
}
