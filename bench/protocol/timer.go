// SPDX-License-Identifier: Apache-2.0

package protocol

import "time"

// Timer measures the work of a program written in Go.
type Timer struct {
	begin time.Time
	cpu   float64
}

// Start starts the measurement.
func Start() Timer { return Timer{time.Now(), processor()} }

// Stop returns the seconds since Start, and the processor time in seconds.
func (t Timer) Stop() (seconds, cpu float64) {
	return time.Since(t.begin).Seconds(), processor() - t.cpu
}

// Repeat calls a function until [Least] seconds have passed, at least once, and returns
// the mean of both times.
func Repeat(f func() error) (seconds, cpu float64, err error) {
	t := Start()
	for n := 1.0; ; n++ {
		if err := f(); err != nil {
			return 0, 0, err
		}
		if seconds, cpu = t.Stop(); seconds >= Least {
			return seconds / n, cpu / n, nil
		}
	}
}
