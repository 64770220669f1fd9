// SPDX-License-Identifier: Apache-2.0

// Package racing lets tests detect the race detector.
//
// Under the detector, code runs ten times slower, and a single goroutine cannot have
// races. Pools also drop objects at random, so allocation counts are meaningless. Tests
// that are only about one of these are skipped. So are tests of several processes, and
// others that take long, where other tests run the same goroutines under the detector:
// processes share no memory, so only goroutines within each of them could have races.
package racing

import "testing"

// Skip skips a test that cannot find races or that counts allocations, under the race
// detector.
func Skip(t testing.TB) {
	t.Helper()
	if Detector {
		t.Skip("runs without the race detector")
	}
}
