// Package clock takes the time of a thread, for benchmarks on machines where other
// programs run, too.
package clock

import (
	"runtime"
	"time"
)

// start is what the time of day counts from.
var start = time.Now()

// Beside runs f and g by turns for about as long as is said, and returns the least time
// that each took: of the processor where the system tells that, else of day. Short ones
// run many times in a row.
func Beside(f, g func(), long time.Duration) (ft, gt time.Duration) {
	runtime.LockOSThread() // whose time is taken
	defer runtime.UnlockOSThread()
	const least = 200 * time.Microsecond // beside which looking at the clock takes no time
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

// repeats returns how often f has to run to take about as long as least.
func repeats(f func(), least time.Duration) int {
	n := 1
	for times(f, n) < least {
		n *= 2
	}
	return n
}

// times returns how long n runs of f take.
func times(f func(), n int) time.Duration {
	begin := now()
	for range n {
		f()
	}
	return now() - begin
}
