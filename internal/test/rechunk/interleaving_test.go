// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"testing"
	"varve.dev/zarr/internal/test/fixture"
)

// TestInterleavings enumerates the orders of the operations of a rechunk and of other
// writers, with up to two interrupts. What a writer was told is written stays written.
func TestInterleavings(t *testing.T) {
	fixture.Sequential(t)
	enumerate(t, scenes)
}
