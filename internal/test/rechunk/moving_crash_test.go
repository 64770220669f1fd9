// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"testing"
	"varve.dev/zarr/internal/test/fixture"
)

// TestMoveCrash stops a removal and an insertion at every operation in every way. The
// array has its elements before or after. As long as the claim is there, the same request
// completes the work, and planes are moved once.
func TestMoveCrash(t *testing.T) {
	fixture.Sequential(t)
	for name, c := range moves {
		for fate, end := range fates {
			t.Run(name+"/"+fate, func(t *testing.T) {
				t.Parallel()
				at := 0
				for moveCrashAt(t, inMemory(), c, at, end) {
					at++
				}
				t.Logf("%d operations", at)
				if at < 30 {
					t.Errorf("only %d operations", at)
				}
			})
		}
	}
}

// TestMoveInterleavings enumerates the orders of the operations of a removal or an
// insertion and of other writers, with up to two interrupts. What was appended stays. A
// value that was written is at the plane that had the place when it was written.
func TestMoveInterleavings(t *testing.T) {
	fixture.Sequential(t)
	enumerate(t, moveScenes())
}
