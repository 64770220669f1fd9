// Package racing tells tests whether the race detector watches them.
//
// Under it, what one goroutine does takes ten times as long and shows nothing, and pools
// drop what they are given now and then, so that counts of allocations say nothing. Tests
// of either kind run without it.
package racing

import "testing"

// Skip skips a test that has nothing to find, or nothing to count, under the race
// detector.
func Skip(t testing.TB) {
	t.Helper()
	if Detector {
		t.Skip("runs without the race detector")
	}
}
