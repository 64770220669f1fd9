// SPDX-License-Identifier: Apache-2.0

package input

import (
	"maps"
	"slices"
	"testing"

	"varve.dev/zarr/dtype"
)

// TestTypeNames parses the type of every common name.
func TestTypeNames(t *testing.T) {
	for _, name := range slices.Sorted(maps.Values(typeNames)) {
		if _, err := dtype.Parse(name, nil); err != nil {
			t.Error(err)
		}
	}
}
