// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"testing"

	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
)

// TestCrashConditional interrupts every change at every operation on a store that has
// conditional writes but no locks: the writer crashes before or after the operation, or
// loses its answer. Readers opened before and afterwards see the old array or the new
// one, whole, and no change that has failed for good. The next writer can grow the
// array.
func TestCrashConditional(t *testing.T) {
	fixture.Sequential(t)
	points := interruptAll(t, crashCases, inMemory, stride)
	t.Logf("%d points", points)
	if points < least(2600) {
		t.Errorf("only %d points were tried", points)
	}
}

// inMemory returns an object store without locks.
func inMemory() stepping.ObjectStore {
	return stepping.Conditional(memtest.New(), stepping.Hooks{})
}
