// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"testing"

	"varve.dev/zarr/internal/test/fixture"
)

// TestCrash stops every kind of change at every operation of the store in every way. The
// array has its elements; the same call completes the work; and after a vacuum nothing is
// left that the document does not describe.
func TestCrash(t *testing.T) {
	fixture.Sequential(t)
	for name, c := range changes {
		for fate, end := range fates {
			t.Run(name+"/"+fate, func(t *testing.T) {
				t.Parallel()
				at := 0
				for c.crashAt(t, inMemory(), at, end) {
					at++
				}
				t.Logf("%d operations", at)
				if at < c.steps {
					t.Errorf("only %d operations", at)
				}
			})
		}
	}
}
