// SPDX-License-Identifier: Apache-2.0

package export

import (
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store/memstore"
)

// TestMemory reads blocks that are not longer than the memory permits.
func TestMemory(t *testing.T) {
	const memory = 1 << 20
	for _, chunks := range [][]grid.Cut{grid.Chunks(1, 4096), grid.Chunks(64, 64), grid.Chunks(4096, 4096), grid.Chunks(4096, 1)} {
		spec := zarr.Spec{Shape: []int64{4096, 4096}, Type: dtype.Int16, Chunks: chunks, Attributes: map[string]any{"scale_factor": 0.5}}
		a, err := zarr.At(memstore.New(), "").CreateArray(t.Context(), spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		v, err := a.View(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, decoded := range []bool{false, true} {
			s, err := Of(t.Context(), v, decoded)
			if err != nil {
				t.Fatal(err)
			}
			s.Memory = memory
			n, longest := 0, 0
			err = s.Blocks(t.Context(), func(e Values) error {
				n, longest = n+e.Len(), max(longest, e.Len())
				return nil
			})
			if err != nil || n != 1<<24 || longest*2 > memory {
				t.Errorf("%v, decoded %t: %d elements, blocks of up to %d: %v", chunks, decoded, n, longest, err)
			}
		}
	}
}
