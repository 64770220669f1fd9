// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

import "os"

// used returns the processor time of a finished process in seconds. Its memory is unknown
// here.
func used(state *os.ProcessState) (peak int64, cpu float64) {
	return 0, state.UserTime().Seconds() + state.SystemTime().Seconds()
}
