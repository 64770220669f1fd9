// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// used returns the peak memory of a finished process in bytes, and its processor time in
// seconds.
func used(state *os.ProcessState) (peak int64, cpu float64) {
	if u, ok := state.SysUsage().(*syscall.Rusage); ok {
		peak = int64(u.Maxrss) << 10
		if runtime.GOOS == "darwin" {
			peak = int64(u.Maxrss)
		}
	}
	return peak, state.UserTime().Seconds() + state.SystemTime().Seconds()
}
