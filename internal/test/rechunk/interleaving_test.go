// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"testing"

	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
)

// TestInterleavings enumerates the orders of the operations of a rechunk and of other
// writers, with up to two interrupts. What a writer was told is written stays written.
func TestInterleavings(t *testing.T) {
	fixture.Sequential(t)
	enumerate(t, scenes)
}

// inMemory returns an empty object store without locks.
func inMemory() stepping.ObjectStore {
	return stepping.Conditional(memtest.New(), stepping.Hooks{})
}

// enumerate plays scenes in every order with up to two interrupts.
func enumerate(t *testing.T, scenes map[string]scene) {
	for name, s := range scenes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := stepping.Explore(func(choose func(n int) int) bool {
				s.play(t, inMemory(), 2, choose)
				return !t.Failed()
			})
			t.Logf("%d runs", runs)
		})
	}
}
